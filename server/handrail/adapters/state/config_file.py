"""
The user's settings for the terminal: `config.toml`, in the folder for this user's configuration.

Nested tables are read as one level of dotted names, with or without the prefix `handrail.`. One value is
changed at a time; `config_edit` leaves the rest of the file unchanged, including comments. The meaning of the
values is unknown here.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import platformdirs

from handrail.adapters.files import files, lock
from handrail.adapters.state import config_edit
from handrail.adapters.state.home import state_folder

LIMIT_BYTES = 1_000_000
MODE = 0o600

# What Python's reader says of TOML, and how we say it. What is not here is told by its place alone.
TOML_FAULTS = {
    "Invalid value": "a value was expected; text needs quotation marks",
    "Invalid statement": "a name was expected",
    "Invalid initial character for a key part": "a name was expected",
    "Expected '=' after a key in a key/value pair": "`=` was expected after the name",
    "Expected newline or end of document after a statement": "nothing may follow the value on its line",
    "Expected ']' at the end of a table declaration": "`]` was expected",
    "Expected ']]' at the end of an array declaration": "`]]` was expected",
    "Cannot overwrite a value": "this name already has a value",
    "Cannot declare": "this table already exists",
    "Cannot redefine namespace": "this table already exists",
    "Duplicate inline table key": "this name already has a value",
    "Illegal character": "the text before it has no closing quotation mark, or has a control character",
    "Unterminated string": "the closing quotation mark is missing",
    "Unescaped '\\' in a string": "a backslash must be written as `\\\\`, or the text put in single quotes",
    "Unclosed array": "`]` was expected",
    "Unclosed inline table": "`}` was expected",
    "Invalid date or datetime": "this is not a valid date",
}
AT = re.compile(r" \(at (line \d+, column \d+|end of document)\)$")  # Python has no other way to say where


class ConfigError(Exception):
    """Settings cannot be used; the text says why, and what to do."""


def config_file() -> Path:
    """Returns the path of the file, even if it does not exist; `XDG_CONFIG_HOME` decides on every system."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(given) if os.path.isabs(given) else platformdirs.user_config_path()
    return folder / "handrail" / "config.toml"


def read(file: Path) -> dict[str, object]:
    """The values of a file, by dotted name; none if there is no file. Raises ConfigError."""
    state = _read(file)
    return {} if state is None else _values(file, _text(file, state.raw))


def change(file: Path, name: str, value: object) -> None:
    """Give one setting another value, in the file that *file* leads to. Raises ConfigError."""
    real = Path(os.path.realpath(file))
    try:
        real.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with lock.hold(real, state_folder() / "handrail" / "locks"):
            state = _read(real)
            text = _text(file, state.raw) if state is not None else ""
            raw = _change(file, text, name, value).encode()
            if state is None:
                files.create(real, raw, MODE)
            elif not files.replace(real, raw, state):
                raise ConfigError(f"{file} has just been changed by another program. Try again.")
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror or error}.") from error


def _read(file: Path) -> files.FileState | None:
    try:
        return files.read(file, LIMIT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except files.TooLargeError as error:
        raise ConfigError(
            f"{file} has more than {LIMIT_BYTES:,} bytes, so it cannot be a settings file."
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {error.strerror or 'it is not a regular file'}."
        ) from error


def _text(file: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 (byte {error.start + 1}). Save it in UTF-8.") from error


def _values(file: Path, text: str) -> dict[str, object]:
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{file} is not valid TOML: {_why(error)}. Correct it with a text editor."
        ) from error
    values: dict[str, object] = {}
    for name, value in config_edit.flat(given):
        if name in values:
            raise ConfigError(f"{file} sets `{name}` twice: remove one of the two.")
        values[name] = value
    return values


def _why(error: ValueError | RecursionError) -> str:
    said = str(error)
    at = AT.search(said)
    if at is None:
        return "it is nested too deeply, or has a number with too many digits"
    why = next((ours for theirs, ours in TOML_FAULTS.items() if said.startswith(theirs)), "")
    where = "at its end" if at[1] == "end of document" else at[1]
    return f"{where}: {why}" if why else f"it cannot be read from {at[1]} on"


def _change(file: Path, text: str, name: str, value: object) -> str:
    """*text* with one more or another value, and nothing else changed."""
    from tomlkit.exceptions import TOMLKitError  # slow to import, and needed for nothing else

    wanted = {**_values(file, text), name: value}
    try:
        changed = config_edit.with_value(text, name, value)
        done = _values(file, changed) == wanted
    except (TOMLKitError, ConfigError, ValueError, TypeError, AttributeError):
        done = False
    if not done:
        raise ConfigError(f"`{name}` cannot be set without changing more of {file}: edit it by hand.")
    return changed
