"""`handrail layer`: show what commands have left in layers, and take it over."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from handrail.adapters.state.config_file import ConfigError
from handrail.adapters.state.home import state_folder, workspace_folder
from handrail.adapters.state.layers import Did, KeptLayer, Taken, changes, kept_layers, take_over
from handrail.headless import terminal
from handrail.headless.show import visible

SHOWN = 50  # paths of a layer that a question shows


def layer(options: argparse.Namespace) -> int:
    """Run one of the actions; returns the exit code. Raises ConfigError."""
    found = kept_layers(workspace_folder(state_folder(), (options.workspace,)))
    if options.action == "list":
        return _list(found, options.workspace, as_json=options.json)
    chosen = next((each for each in found if each.id == options.id), None)
    if chosen is None:
        raise ConfigError(f"There is no layer {options.id!r}; `handrail layer list` shows those there are.")
    target = Path(os.path.abspath(options.to)) if options.to else chosen.folder
    try:
        return _copy(chosen, target, yes=options.yes, as_json=options.json)
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(target)
        raise ConfigError(f"{where}: {error.strerror}. What was copied before stays.") from error


def _list(found: Sequence[KeptLayer], workspace: Path, *, as_json: bool) -> int:
    held = {each.id: list(changes(each.lies_in)) for each in found}
    if as_json:
        print(json.dumps([_json(each, held[each.id]) for each in found]))
        return 0
    if not found:
        print(visible(f"No command has left anything in a layer of {workspace}."))
    for each in found:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.changed_at))
        print(visible(f"{each.id}\n  {_counted(held[each.id])} in {each.folder}, {when}"))
        print(visible(f"  take it over with: handrail layer copy {each.id} --workspace {workspace}"))
    return 0


def _json(each: KeptLayer, held: Sequence[Taken]) -> dict[str, object]:
    paths = [{"path": one.path, "change": one.did.value} for one in held]
    return {"id": each.id, "folder": str(each.folder), "liesIn": str(each.lies_in), "paths": paths}


def _counted(held: Sequence[Taken]) -> str:
    counts = Counter(each.did for each in held)
    return ", ".join(f"{counts[did]} {did.value}" for did in Did if counts[did])


def _copy(chosen: KeptLayer, target: Path, *, yes: bool, as_json: bool) -> int:
    if not yes and not _agreed(list(changes(chosen.lies_in)), target):
        print("Nothing was copied.")
        return 1
    done = list(take_over(chosen.lies_in, target))
    if as_json:
        print(json.dumps(_json(chosen, done) | {"folder": str(target)}))
        return 0
    for each in done:
        print(visible(f"{each.did.value:9} {each.path}" + (f": {each.why}" if each.why else "")))
    print(visible(f"{_counted(done) or 'nothing'} in {target}"))
    return 0


def _agreed(held: Sequence[Taken], target: Path) -> bool:
    for each in held[:SHOWN]:
        print(visible(f"{each.did.value:9} {each.path}"))
    if len(held) > SHOWN:
        print(f"... and {len(held) - SHOWN:,} more")
    if not terminal.can_ask():
        raise ConfigError(f"Nobody is here to ask whether that is to be done in {target}; --yes allows it.")
    return input(visible(f"Do that in {target}? [y/N] ")).strip().lower() in ("y", "yes")
