"""What commands inherit that the user has named in `handrail.terminal.environment`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.commands.environment import Environ, known_environment, of_commands
from handrail.adapters.commands.process import Processes
from handrail.adapters.files.files import uri_of
from handrail.core.policy import environment
from handrail.core.policy.commands.script import Environment
from handrail.core.policy.shell import Run, RunResult
from handrail.core.results import key_names
from handrail.lsp import settings

HELD = {
    "PATH": os.environ["PATH"],
    "MYAPP_HOME": "/home",
    "MYAPP_API_KEY": "sk-1",
    "MYAPP_URL": "https://u:p@host",
    "MYAPP_PROXY": "https://u:p@host",
    "GITHUB_TOKEN": "ghp",
    "BASH_ENV": "/evil",
    "LD_PRELOAD": "/evil.so",
    "OTHER": "other",
}


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ((), set[str]()),
        (("MYAPP_HOME",), {"MYAPP_HOME"}),
        (("myapp_home",), {"MYAPP_HOME"}),
        (("MYAPP_*",), {"MYAPP_HOME"}),
        (("*_HOME", "OTH*R"), {"MYAPP_HOME", "OTHER"}),
        (("MYAPP_API_KEY", "GITHUB_TOKEN"), {"MYAPP_API_KEY", "GITHUB_TOKEN"}),
        (("*_API_KEY", "GITHUB_*", "BASH_*", "LD_PRE*"), set[str]()),
        (("MYAPP_URL", "MYAPP_PROXY"), {"MYAPP_URL", "MYAPP_PROXY"}),
        (("MYAPP", "OTHE", "MYAPP_HOM"), set[str]()),
    ],
)
def test_names_and_patterns(added: Sequence[str], expected: set[str]) -> None:
    assert environment.inherited_variables(HELD, added).keys() - {"PATH"} == expected


@pytest.mark.parametrize(
    "value",
    [
        "MYAPP_HOME",
        [1],
        ["*"],
        ["A*"],
        ["**_*"],
        ["MY APP"],
        ["A=B"],
        [""],
        ["X\n"],
        ["A" * 201],
        ["AB"] * 201,
        {},
    ],
)
def test_values_that_are_not_used(value: Any) -> None:
    said = environment.read(value)
    assert isinstance(said, str)
    found = settings.settle({"terminal.environment": value}, None, None)
    assert found.names(settings.TERMINAL_ENVIRONMENT) == ()
    assert len(found.problems) == 1


def test_a_workspace_cannot_name_any() -> None:
    scoped = {"terminal": {"environment": ["MYAPP_API_KEY"]}}
    found = settings.settle({}, {}, scoped)
    assert found.names(settings.TERMINAL_ENVIRONMENT) == ()
    found = settings.settle({}, scoped, {"terminal": {"environment": ["OTHER"]}})
    assert found.names(settings.TERMINAL_ENVIRONMENT) == ("MYAPP_API_KEY",)


async def printed(processes: Processes, folder: Path, line: str, **more: Any) -> str:
    ran = await processes.run(
        Run(line=line, folder=uri_of(folder), timeout_s=60, **more), asyncio.Event(), lambda text: None
    )
    assert isinstance(ran, RunResult)
    return ran.output


async def test_commands_get_what_the_user_names_at_the_moment(tmp_path: Path) -> None:
    environ = Environ(HELD)
    processes = Processes(environ)
    line = "echo $MYAPP_HOME-$OTHER"
    assert await printed(processes, tmp_path, line) == "-\n"
    environ.add(("OTHER", "MYAPP_*"))
    assert await printed(processes, tmp_path, line) == "/home-other\n"
    environ.add(("OTHER",))
    assert await printed(processes, tmp_path, line) == "-other\n"


async def test_a_name_in_full_stands_for_any_variable_but_one_with_the_key_of_a_model(tmp_path: Path) -> None:
    held = {
        **HELD,
        "MYAPP_API_KEY": "sk-0123456789",
        "NEAR": "key sk-0123456789",
        "GITHUB_TOKEN": "ghp-0123456789",
    }
    secrets = key_names.secrets(held)
    full = ("MYAPP_API_KEY", "NEAR", "GITHUB_TOKEN", "MYAPP_URL", "OTHER")
    line = "echo $MYAPP_API_KEY-$NEAR-$GITHUB_TOKEN-$MYAPP_URL-$OTHER"
    for names, model_keys, expected in (
        (full, (), "sk-0123456789-key sk-0123456789-ghp-0123456789-https://u:p@host-other"),
        (full, ("sk-0123456789",), "--ghp-0123456789-https://u:p@host-other"),
        (("MYAPP_*", "NEA*", "*_TOKEN", "OTH*"), ("sk-0123456789",), "----other"),
        (("NEA*", "github_token"), (), "--ghp-0123456789--"),
    ):
        environ = Environ(held)
        environ.add(names)
        more = {"secrets": secrets, "model_keys": model_keys}
        assert await printed(Processes(environ), tmp_path, line, **more) == f"{expected}\n"


@pytest.mark.parametrize(
    ("model_keys", "expected"),
    [
        ((), ()),
        (("sk-1",), ("MYAPP_API_KEY",)),
        (("other-0123456789",), ()),
        (("oth",), ()),  # a short key may occur in ordinary text
        (("other", "sk-1"), ("myapp_api_key", "OTHER")),
    ],
)
def test_which_names_in_full_stay_out(model_keys: tuple[str, ...], expected: tuple[str, ...]) -> None:
    names = ("MYAPP_HOME", expected[0] if expected else "MYAPP_API_KEY", "OTHER", "MISSING", "OTH*")
    assert Environ(HELD).add(names, model_keys) == expected


@pytest.mark.parametrize("kind", Environment)
def test_what_runs_unasked_gets_none(kind: Environment) -> None:
    environ = Environ({**HELD, "GREP_COLORS": "evil", "GIT_EXTERNAL_DIFF": "evil"})
    environ.add(("GREP_COLORS", "OTHER", "GIT_EXTERNAL_DIFF"))
    given = of_commands(environ)
    assert given["OTHER"] == "other"
    found = known_environment(given, kind, "/bin")
    assert not {"GREP_COLORS", "OTHER", "GIT_EXTERNAL_DIFF"} & found.keys()
