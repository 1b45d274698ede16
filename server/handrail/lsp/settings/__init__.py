"""
The settings in force, from what a client sends; `table` lists all settings.

A value of the wrong type is reported and skipped: a valid one of another source applies, or the default.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping

from handrail.core.policy.checks import Check
from handrail.core.policy.rules import Rule
from handrail.core.policy.tool_kind import RULE_GROUPS
from handrail.lsp.settings.setting import Scope, Setting, Value
from handrail.lsp.settings.table import *  # noqa: F403  # settings are asked for by name
from handrail.lsp.settings.table import SETTINGS
from handrail.lsp.wire import flat, half_pair
from handrail.values import dataclass, field

SECTION = "handrail"
LIKE = 0.6  # of difflib: worth to be named

KINDS: Mapping[type, str] = {bool: "true or false", int: "a whole number", str: "a string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in force, and the problems of the given values."""

    values: Mapping[str, Value] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def text(self, setting: Setting) -> str:
        """Returns the value of a string setting."""
        return str(self.values.get(setting.name, setting.default))

    def flag(self, setting: Setting) -> bool:
        """Returns the value of a boolean setting."""
        return self.values.get(setting.name, setting.default) is True

    def rules(self, setting: Setting) -> tuple[Rule, ...]:
        """The value of a setting that is a list of rules."""
        return tuple(each for each in self._list(setting) if isinstance(each, Rule))

    def names(self, setting: Setting) -> tuple[str, ...]:
        """The value of a setting that is a list of names."""
        return tuple(each for each in self._list(setting) if isinstance(each, str))

    def checks(self, setting: Setting) -> tuple[Check, ...]:
        """The value of a setting that is a list of checks."""
        return tuple(each for each in self._list(setting) if isinstance(each, Check))

    def _list(self, setting: Setting) -> tuple[Rule | str | Check, ...]:
        value = self.values.get(setting.name, setting.default)
        return value if isinstance(value, tuple) else ()

    def number(self, setting: Setting) -> int:
        """The value of a setting that is a whole number."""
        value = self.values.get(setting.name, setting.default)
        return value if isinstance(value, int) else 0


def settle(given: Mapping[str, object], pulled: object, scoped: object) -> Settings:
    """
    Work out the settings in force.

    Args:
        given: From `initializationOptions`, flat.
        pulled: The section as the client answers for the global scope.
        scoped: The section as it answers for a workspace folder; machine settings in it are ignored.
    """
    sources = (
        (given, frozenset(Scope)),
        (flat(pulled) if isinstance(pulled, Mapping) else {}, frozenset(Scope)),
        (flat(scoped) if isinstance(scoped, Mapping) else {}, frozenset({Scope.WINDOW})),
    )
    values: dict[str, Value] = {}
    wrong: list[tuple[Setting, Wrong]] = []
    ineffective: list[str] = []
    for source, scopes in sources:
        for setting in SETTINGS:
            value = source.get(setting.name)
            if value is None or setting.scope not in scopes:
                continue
            result = read(setting, value)
            if isinstance(result, Wrong):
                wrong.append((setting, result))
            else:
                values[setting.name] = result
                ineffective += [
                    f"The setting {SECTION}.{setting.name}: {each}" for each in ineffective_rules(result)
                ]
    problems = [_complaint(setting, each, values) for setting, each in wrong] + ineffective
    return Settings(values=values, problems=tuple(dict.fromkeys(problems)))


@dataclass(frozen=True, slots=True)
class Wrong:
    """The error of a value: a sentence without its subject, or a complete one about a list."""

    why: str


def read(setting: Setting, value: object) -> Value | Wrong:
    """The value of a setting, or what is wrong with it."""
    if setting.reads is not None:
        result = setting.reads(value)
        return Wrong(result) if isinstance(result, str) else result
    if type(value) is not type(setting.default) or not isinstance(value, str | bool | int):
        return Wrong(f"must be {KINDS[type(setting.default)]}, not {_as_json(value)}")
    if isinstance(value, str) and (half := half_pair(value)):
        return Wrong(f"must not contain {half}, as {value!a} does")
    if setting.bounds is not None and not setting.bounds[0] <= int(value) <= setting.bounds[1]:
        return Wrong(f"must be {setting.bounds[0]} to {setting.bounds[1]}, not {value}")
    if setting.choices and value not in setting.choices:
        return Wrong(f"must be one of {', '.join(setting.choices)}, not {_as_json(value)}")
    return value


def _as_json(value: object) -> str:
    """Returns a value as a settings file has it, so that people find it there."""
    text = json.dumps(value, ensure_ascii=False, default=str)  # TOML has dates
    return text if text.isprintable() else json.dumps(value, default=str)


def _complaint(setting: Setting, wrong: Wrong, values: Mapping[str, Value]) -> str:
    """Returns the message to the user about a value that is not used; *values* are those in force."""
    name = f"The setting {SECTION}.{setting.name}"
    if setting.reads is not None:
        return f"{name} is ignored: {wrong.why}."
    return f"{name} {wrong.why}. handrail uses {_as_json(values.get(setting.name, setting.default))}."


def ineffective_rules(value: Value) -> list[str]:
    """Returns a sentence for each rule of a setting that is for no tool that exists."""
    rules = enumerate(value if isinstance(value, tuple) else (), 1)
    hints = [(number, rule.tool, unknown_tool(rule.tool)) for number, rule in rules if isinstance(rule, Rule)]
    return [
        f"rule {number} has no effect, because no tool is named `{tool}`. {hint}"
        for number, tool, hint in hints
        if hint
    ]


def unknown_tool(tool: str) -> str:
    """Returns what may have been meant by the *tool* of a rule, and all names; empty if it exists."""
    from handrail.agent.tools import TOOLS  # noqa: PLC0415  # slow to import, and rarely needed

    if tool in (known := ["*", *RULE_GROUPS, *TOOLS]):
        return ""
    near = difflib.get_close_matches(tool, known, 1, LIKE)
    hint = f"Did you mean `{near[0]}`? " if near else ""
    return f"{hint}Tools are: {', '.join(sorted(known))}."
