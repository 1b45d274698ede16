"""`handrail config`: look at the user's `config.toml`, and change one value of it."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path

from handrail.adapters.models.providers import unknown_model
from handrail.adapters.state.config_file import ConfigError, change, config_file, read
from handrail.cli.settings import check, setting_named, value_of
from handrail.headless import client
from handrail.headless.terminal import visible
from handrail.lsp.settings import MODEL, SETTINGS
from handrail.lsp.settings.setting import Setting


def config(options: argparse.Namespace) -> int:
    """Run one of the actions; returns the exit code. Raises ConfigError."""
    file = config_file()
    match options.action:
        case "path":
            _print(str(file))
        case "get":
            setting = setting_named(options.name)
            value = read(file).get(setting.name, _default(setting))
            check(setting.name, value)
            _print(json.dumps(value) if options.json or not isinstance(value, str) else value)
        case "set":
            value = value_of(options.name, options.value)
            setting = setting_named(options.name)
            if setting is MODEL and (problem := unknown_model(str(value))):
                raise ConfigError(problem)
            change(file, setting.name, value)
        case _:
            return _list(file, as_json=options.json)
    return 0


def describe(file: Path) -> tuple[list[str], bool]:
    """Returns lines that show all settings and what is wrong with the file, and whether nothing is."""
    try:
        rows, wrong = _rows(file)
    except ConfigError as error:
        return [f"!! {visible(str(error))}"], False
    head = f"Settings in a terminal ({visible(str(file))}); an editor sends its own:"
    lines = [head, *(f"   {_line(row)}" for row in rows), *(f"!! {visible(each)}" for each in wrong)]
    return lines, not wrong


def _list(file: Path, *, as_json: bool) -> int:
    """Print all settings, and say what is wrong with the file; 1 if anything is."""
    rows, wrong = _rows(file)
    _print(json.dumps(rows, indent=2) if as_json else "\n".join(map(_line, rows)))
    for each in wrong:
        print(f"handrail: error: {file}: {visible(each)}", file=sys.stderr)
    return 1 if wrong else 0


def _rows(file: Path) -> tuple[list[dict[str, object]], list[str]]:
    """Returns all settings with their values, and what is wrong with the file. Raises ConfigError."""
    given, wrong = read(file), dict[str, str]()
    for name, value in given.items():
        try:
            check(name, value)
        except ConfigError as error:
            wrong[name] = str(error)
    rows = [
        {
            "name": each.name,
            "value": given.get(each.name, _default(each)),
            "isDefault": each.name not in given,
        }
        for each in SETTINGS
        if each.name not in wrong  # it may be a key
    ]
    return rows, list(wrong.values())


def _default(setting: Setting) -> object:
    """Returns what a setting is in a terminal if the user has not set it."""
    return client.SETTINGS.get(setting.name, setting.default)


def _line(row: dict[str, object]) -> str:
    note = "  (default)" if row["isDefault"] else ""
    return f"{row['name']} = {json.dumps(row['value'])}{note}"


def _print(text: str) -> None:
    """Write lines to standard output, if it is read; what its encoding does not have is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    with contextlib.suppress(BrokenPipeError):
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
