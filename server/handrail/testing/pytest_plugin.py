"""
Fixtures for tests of a language server or of an editor plugin.

Load them with `pytest_plugins = ["handrail.testing.pytest_plugin"]` in the top `conftest.py`, and define a
fixture `server_command` that returns the command of your server. docs/testing.md has examples.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from handrail.testing.editor import ScriptedEditor
from handrail.testing.processes import ServerProcess
from handrail.testing.profiles import PROFILES, VSCODE, ClientProfile

Session = tuple[ScriptedEditor, ServerProcess]
StartEditor = Callable[..., Coroutine[Any, Any, ScriptedEditor]]
SESSIONS = pytest.StashKey[list[Session]]()
NAMES = [profile.name for profile in PROFILES]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--client-profiles`."""
    parser.addoption(
        "--client-profiles",
        default="all",
        help=f"The editors that tests imitate, with commas between them: {', '.join(NAMES)}, or `all`.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check the names, and declare the marker."""
    config.addinivalue_line(
        "markers", "client_profiles(*names): imitate only these editors in this test, not all of them"
    )
    _check_names(config.getoption("--client-profiles").split(","), "--client-profiles")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that uses `client_profile` once for each editor that was asked for."""
    if "client_profile" not in metafunc.fixturenames:
        return
    asked = _check_names(metafunc.config.getoption("--client-profiles").split(","), "--client-profiles")
    marker = metafunc.definition.get_closest_marker("client_profiles")
    wanted = asked if marker is None else _check_names(marker.args, metafunc.definition.nodeid)
    profiles = [profile for profile in PROFILES if profile.name in wanted and profile.name in asked]
    metafunc.parametrize("client_profile", profiles, ids=lambda profile: profile.name, indirect=True)


def _check_names(names: Sequence[str], where: str) -> list[str]:
    if list(names) == ["all"]:
        return NAMES
    if unknown := [name for name in names if name not in NAMES]:
        raise pytest.UsageError(
            f"{where}: there is no client profile {unknown[0]!r}. Use one of {', '.join(NAMES)}, or all."
        )
    return list(names)


@pytest.fixture
def client_profile(request: pytest.FixtureRequest) -> ClientProfile:
    """The editor as which the test runs."""
    profile: ClientProfile = getattr(request, "param", VSCODE)
    return profile


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace folder."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def server_command() -> Sequence[str]:
    """Define this fixture yourself: it returns the command of the server."""
    raise pytest.UsageError(
        "There is no server to test. Define a fixture server_command that returns its command as a list."
    )


@pytest_asyncio.fixture
async def start_editor(
    request: pytest.FixtureRequest, tmp_path: Path, workspace: Path
) -> AsyncIterator[StartEditor]:
    """
    A function that starts an editor with a server.

    Its arguments are the profile and the command; by name `kind`, the class of the editor, `environment`,
    variables for the server, and `options`, the `initializationOptions`. When the test ends, the sessions and
    the servers end; what went wrong in an editor fails the test.
    """
    sessions: list[Session] = request.node.stash.setdefault(SESSIONS, [])

    async def start(
        profile: ClientProfile,
        command: Sequence[str],
        *,
        kind: type[ScriptedEditor] = ScriptedEditor,
        environment: dict[str, str] | None = None,
        options: dict[str, Any] | None = None,
    ) -> ScriptedEditor:
        log = tmp_path / f"server-{len(sessions)}.log"
        server = await ServerProcess.start(command, folder=workspace, log=log, environment=environment)
        editor = kind(profile, workspace)
        sessions.append((editor, server))
        await editor.connect(server)
        await editor.greet(options)
        return editor

    yield start
    problems: list[Exception] = []
    for editor, server in sessions:
        problems += await _end(editor, server)
    assert not problems


async def _end(editor: ScriptedEditor, server: ServerProcess) -> list[Exception]:
    """End a session and its server; returns what went wrong in it."""
    problems = list(editor.errors)
    try:
        await editor.leave()
        await server.wait()
    except (OSError, TimeoutError) as error:
        problems.append(error)
    finally:
        server.kill()
        await server.process.wait()
        editor.hang_up()
    return problems


@pytest_asyncio.fixture
async def editor(
    start_editor: StartEditor, client_profile: ClientProfile, server_command: Sequence[str]
) -> ScriptedEditor:
    """A scripted editor with the server of `server_command`, once for each client profile."""
    return await start_editor(client_profile, server_command)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Show a failed test's sessions, message by message, and what the servers wrote to standard error."""
    report: Any = yield
    if report.failed:
        for editor, server in item.stash.get(SESSIONS, []):
            report.sections.append((f"session of {editor.profile.name}", editor.session_log))
            written = server.log.read_text(encoding="utf-8", errors="replace") if server.log.exists() else ""
            report.sections.append(("standard error of the server", written))
    return report
