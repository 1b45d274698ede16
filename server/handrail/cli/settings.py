"""
The settings of a terminal command: what its options say, over the user's `config.toml`, over the defaults.

Here a value that cannot be used is an error, and so is a name that is not known: a setting that was to
restrict what may run must not be passed over because it was misspelled.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from handrail import __version__
from handrail.adapters.state.config_edit import OWN
from handrail.adapters.state.config_file import ConfigError, read
from handrail.core.policy.environment import LOGIN
from handrail.core.results.key_names import KEY_NAME
from handrail.lsp import settings
from handrail.lsp.settings import APPROVALS, BASE_URL, LIKE, MODEL, SETTINGS, Wrong
from handrail.lsp.settings.setting import Setting
from handrail.ports import provider_of

OPTIONS: Mapping[str, str] = {
    "model": "--model",
    "baseUrl": "--base-url",
    "mode": "--mode",
}  # shorter than --set
OF_PROVIDER = frozenset((BASE_URL.name, settings.KEY_NAME.name))
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}
KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|gsk|xai|hf|gh[opsu]|glpat)[-_]|AIza|AKIA)(?=\S*\d)[\w-]{16,}"
)
NO_KEYS = (
    "Settings cannot hold keys, because others could read them there. Put the key in an environment variable "
    "such as OPENAI_API_KEY, or in the system's keyring (`keyring set handrail OPENAI_API_KEY`), and give "
    "its name in the setting `keyName`."
)
NEARLY = 0.8  # of difflib: most likely meant


def of_file(file: Path) -> dict[str, object]:
    """The settings in a file. Raises ConfigError, which names all that is wrong."""
    values, wrong = read(file), list[str]()
    for name, value in values.items():
        try:
            check(name, value)
        except ConfigError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigError("\n  ".join([f"{file} cannot be used:", *wrong]))
    return values


def in_force(file: Path, given: Sequence[tuple[str, str]], approved: Sequence[str] = ()) -> dict[str, object]:
    """
    The settings that a command sends to its server, by name.

    Args:
        file: The user's `config.toml`.
        given: Names and values of options, in their order; of one name the last counts.
        approved: What `--approve` was given; these rules come after all others.

    Raises:
        ConfigError: A name, a value or the file is wrong.
    """
    values = of_file(file)
    stated = values.get(MODEL.name)
    for name, text in given:
        if (
            setting_named(name) is MODEL
            and isinstance(stated, str)
            and provider_of(text) != provider_of(stated)
        ):
            # What the file says of its own model's provider: a key must not go to another one's address.
            values = {each: value for each, value in values.items() if each not in OF_PROVIDER}
    for name, text in given:
        values[setting_named(name).name] = value_of(name, text)
    rules = values.get(APPROVALS.name, [])
    if approved and isinstance(rules, list):
        values[APPROVALS.name] = [*rules, *map(rule_of, approved)]
    return values


def options_of(given: Iterable[tuple[str, str]], approved: Iterable[str]) -> tuple[str, ...]:
    """The options that say the same again."""
    words: list[str] = []
    for name, text in given:
        words += [OPTIONS[name], text] if name in OPTIONS else ["--set", f"{name}={text}"]
    return (*words, *(word for rule in approved for word in ("--approve", rule)))


def value_of(name: str, text: str) -> object:
    """A typed value: JSON or plain text; for a text setting, the text itself. Raises ConfigError."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if isinstance(setting_named(name).default, str) and not isinstance(value, str):
        value = text
    check(name, value)
    return value


def check(name: str, value: object) -> Setting:
    """The setting of that name, which takes that value. Raises ConfigError."""
    setting = setting_named(name)
    if any(KEY.search(text) or LOGIN.search(text) for text in _texts(value)):
        raise ConfigError(f"`{setting.name}` seems to contain a key or a password. {NO_KEYS}")
    found = settings.read(setting, value)
    if isinstance(found, Wrong):
        joined = ": " if setting.reads is not None else " "
        raise ConfigError(f"`{setting.name}`{joined}{found.why}.")
    if without_effect := settings.ineffective_rules(found):
        raise ConfigError(f"`{setting.name}`: {without_effect[0]}")
    return setting


def setting_named(name: str) -> Setting:
    """The setting of that name, with or without `handrail.` in front. Raises ConfigError, with near names."""
    plain = name.removeprefix(OWN)
    if plain in BY_NAME:
        return BY_NAME[plain]
    near = _near(plain)
    is_key = KEY_NAME.search(re.sub(r"(?<=[a-z])(?=[A-Z])|[.-]", "_", plain)) is not None
    if is_key and not any(_likeness(plain, each) >= NEARLY for name in near for each in _spellings(name)):
        raise ConfigError(f"`{plain}` is not a setting. {NO_KEYS}")
    hint = f" Did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else ""
    known = "`handrail config list` lists the settings; a newer handrail may have more."
    raise ConfigError(f"handrail {__version__} has no setting `{plain}`.{hint or ' ' + known}")


def rule_of(given: str) -> dict[str, str]:
    """The rule that `--approve TOOL[:PATTERN]` stands for. Raises ConfigError."""
    tool, _, pattern = given.partition(":")
    if hint := settings.unknown_tool(tool):
        raise ConfigError(
            f"--approve {given!r} does not name a tool. {hint} Write it like 'terminal:npm test' or "
            f"'edit:docs/**'."
        )
    return {"tool": tool, "match": pattern or "*", "verdict": "allow"}


def _near(name: str) -> list[str]:
    """Settings that may have been meant, the likeliest first."""
    alike = {each: max(_likeness(name, spelling) for spelling in _spellings(each)) for each in BY_NAME}
    near = sorted((each for each in alike if alike[each] >= LIKE), key=lambda each: -alike[each])
    return [each for each in near if alike[each] >= min(NEARLY, alike[near[0]])][:3]


def _spellings(name: str) -> tuple[str, str]:
    """A setting's name, and its last part alone."""
    return name, name.rpartition(".")[2]


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one.casefold(), other.casefold()).ratio()


def _texts(value: object) -> Iterable[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts(each)
        case dict():
            for each in value.values():
                yield from _texts(each)
