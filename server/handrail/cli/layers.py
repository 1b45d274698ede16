"""`handrail layer`: show what commands have left in layers, and take it over."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from handrail.adapters.state.config_file import ConfigError
from handrail.adapters.state.home import own_folder, state_folder
from handrail.adapters.state.layers import (
    KeptLayer,
    LayerAction,
    LayerChange,
    changes,
    kept_layers,
    take_over,
)
from handrail.headless import terminal

SHOWN = 50  # paths of a layer that a question shows
# The actions in words: before a layer is copied, and after.
BEFORE = {LayerAction.WRITTEN: "to write", LayerAction.REMOVED: "to remove", LayerAction.LEFT_OUT: "left out"}
AFTER = {action: action.value for action in LayerAction}


def layer(options: argparse.Namespace) -> int:
    """Run one of the actions; returns the exit code. Raises ConfigError."""
    try:
        return _layer(options)
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "A layer"
        stay = " Files copied so far stay." if options.action == "copy" else ""
        raise ConfigError(f"{_path(where)}: {error.strerror}.{stay}") from error


def _layer(options: argparse.Namespace) -> int:
    layers_ = kept_layers(own_folder(state_folder()))
    if options.action == "list":
        root = Path(os.path.realpath(options.workspace))
        listed = [each for each in layers_ if options.all or each.folder.is_relative_to(root)]
        return _list(listed, options)
    chosen = next((each for each in layers_ if each.id == options.id), None)
    if chosen is None:
        raise ConfigError(f"Layer {options.id!r} does not exist. `handrail layer list` shows the layers.")
    target = Path(os.path.realpath(options.to)) if options.to else chosen.folder
    done = [] if options.yes else list(changes(chosen.lies_in, target))
    if options.yes or any(each.action is not LayerAction.LEFT_OUT for each in done):
        if not options.yes and not _confirm(done, target):
            _ask("Nothing was copied.\n")
            return 1
        done = list(take_over(chosen.lies_in, target))
    if options.json:
        print(json.dumps(_json(chosen, done) | {"folder": str(target)}))
        return 0
    for each in done:
        print(_row(each, AFTER))
    print(_path(f"{_count(done, AFTER) or 'nothing to do'} in {target}"))
    return 0


def _list(layers: Sequence[KeptLayer], options: argparse.Namespace) -> int:
    held = {each.id: list(changes(each.lies_in, each.folder)) for each in layers}
    if options.json:
        print(json.dumps([_json(each, held[each.id]) for each in layers]))
        return 0
    if not layers:
        where = "" if options.all else f" of {options.workspace}"
        print(_path(f"There is nothing to copy: no layer{where} differs from its folder."))
    for each in layers:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.changed_at))
        print(_path(each.id))
        print(_path(f"  {_count(held[each.id], BEFORE)} in {each.folder}, {when}"))
        command = shlex.join(["handrail", "layer", "copy", each.id, "--workspace", str(options.workspace)])
        print(_path(f"  copy it with: {command}"))
    return 0


def _json(each: KeptLayer, held: Sequence[LayerChange]) -> dict[str, object]:
    paths = [{"path": one.path, "change": one.action.value} for one in held]
    return {"id": each.id, "folder": str(each.folder), "liesIn": str(each.lies_in), "paths": paths}


def _count(held: Sequence[LayerChange], words: Mapping[LayerAction, str]) -> str:
    counts = Counter(each.action for each in held)
    return ", ".join(f"{counts[action]} {words[action]}" for action in LayerAction if counts[action])


def _row(each: LayerChange, words: Mapping[LayerAction, str]) -> str:
    return _path(f"{words[each.action]:9} {each.path}" + (f": {each.why}" if each.why else ""))


def _path(text: str) -> str:
    """Text that names a path, in one row whatever is in it."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "surrogatepass").decode()
        for each in text
    )


def _confirm(held: Sequence[LayerChange], target: Path) -> bool:
    rows = [_row(each, BEFORE) for each in held[:SHOWN]]
    if len(held) > SHOWN:
        rows.append(f"... and {len(held) - SHOWN:,} more")
    _ask("".join(f"{row}\n" for row in rows))
    if not terminal.can_ask():
        raise ConfigError(
            f"Nothing was copied to {_path(str(target))}, because {terminal.CANNOT_ASK} "
            "To allow it, give --yes."
        )
    _ask(f"Copy these changes into {_path(str(target))}? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _ask(text: str) -> None:
    """Asks on standard error, since questions are not part of the output."""
    print(text, end="", file=sys.stderr, flush=True)
