"""
The environment of commands: without keys, and without variables that would change the meaning of a command.
"""

from __future__ import annotations

import os
from collections.abc import Collection, ItemsView, Iterator, Mapping, Sequence

from handrail.core.policy.commands import git
from handrail.core.policy.commands.script import Environment
from handrail.core.policy.environment import inherited_variables, names_in_full
from handrail.core.results.redact import MARK_OF_PLACE, SHORTEST_CHARS, value_of

SET: Mapping[str, str] = {
    "GIT_EDITOR": "true",  # no one is there to edit
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "TERM": "dumb",
    # A repository's own settings must not run a program when its state is only looked at.
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "gc.autoDetach",  # what is left behind is ended
    "GIT_CONFIG_VALUE_1": "false",
}
# What a command sees of the user's environment that is known to change nothing.
KEPT = frozenset({"HOME", "LANG", "LANGUAGE", "LOGNAME", "TZ", "USER", "SYSTEMROOT"})


class Environ(Mapping[str, str]):
    """An environment of which commands get more than others, by the names that the user has set."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.added: Collection[str] = ()

    def __getitem__(self, name: str) -> str:
        return self._environment[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._environment)

    def __len__(self) -> int:
        return len(self._environment)

    def add(self, names: Collection[str], model_keys: Sequence[str] = ()) -> tuple[str, ...]:
        """
        From now on, commands that are not known to be read-only get the variables *names* too.

        Returns the names in full that they do not get, because they hold one of *model_keys*.
        """
        self.added = tuple(names)
        held = {name.upper(): value for name, value in self._environment.items()}
        full = (name for name in self.added if "*" not in name)
        return tuple(name for name in full if _holds_key(held.get(name.upper(), ""), model_keys))


class CommandEnvironment(Mapping[str, str]):
    """The variables of an environment that commands currently get: the user may add names at any time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    @property
    def _added(self) -> Collection[str]:
        return self._environment.added if isinstance(self._environment, Environ) else ()

    def _current(self) -> dict[str, str]:
        kept = inherited_variables(self._environment, self._added)
        folders = kept.get("PATH", os.defpath).split(os.pathsep)
        # The folder that a command runs in may hold anything, by any name.
        kept["PATH"] = os.pathsep.join(folder for folder in folders if os.path.isabs(folder))
        return {**kept, **SET}

    def __getitem__(self, name: str) -> str:
        return self._current()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._current())

    def __len__(self) -> int:
        return len(self._current())

    def items(self) -> ItemsView[str, str]:
        """All at once, as they are at one moment."""
        return self._current().items()

    def without_keys(self, secrets: Sequence[str], model_keys: Sequence[str]) -> dict[str, str]:
        """
        Returns the variables that hold none of *secrets*, whatever they are called.

        One that the user has named in full may hold any of them but *model_keys*.
        """
        full = names_in_full(self._added)
        return {
            name: value
            for name, value in self._current().items()
            if not _holds_key(value, model_keys if name.upper() in full else secrets)
        }


def _holds_key(value: str, keys: Sequence[str]) -> bool:
    """Whether *value* has one of *keys* in it; a short one, which any text may have, must be all of it."""
    return any(
        value.strip() == value_of(key)
        or (len(value_of(key)) >= SHORTEST_CHARS and key.replace(MARK_OF_PLACE, "") in value)
        for key in keys
    )


def of_commands(environment: Mapping[str, str]) -> CommandEnvironment:
    """
    Returns the variables of *environment* that a command gets, with those that the user has added if it is an
    `Environ`.
    """
    return CommandEnvironment(environment)


def known_environment(environment: Mapping[str, str], kind: Environment, search_path: str) -> dict[str, str]:
    """
    Returns the variables for a command that is known to change nothing.

    Args:
        environment: That of other commands.
        search_path: PATH without the workspace.
    """
    kept = {name: value for name, value in environment.items() if name in KEPT or name.startswith("LC_")}
    kept |= {"NO_COLOR": "1", "PAGER": "cat", "TERM": "dumb"}
    kept["PATH"] = environment["PATH"] if kind is Environment.PATH else search_path
    return {**kept, **git.ENVIRONMENT} if kind is Environment.GIT else kept
