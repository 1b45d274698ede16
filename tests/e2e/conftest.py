"""Fixtures of the end-to-end tests: a workspace, an editor with its habits, and its log if a test fails."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from e2e import variants
from e2e.client import UNKNOWN, Editor
from e2e.habits import EDITORS, Habits
from e2e.servers import Server, Servers, Starter, shared_servers
from handrail.testing import script, variations
from handrail.testing.texts import Json
from handrail.testing.variations import PLAIN, Variation

EDITORS_KEPT = {"one": 1, "two": 2}
EDITORS_OF_TEST = pytest.StashKey[list[tuple[Editor, Path]]]()
HOUR_S = 3600.0  # as long as a question waits
LOG_LIMIT = 400  # characters of one message that are shown of a failed test


@pytest.fixture(scope="session")
def servers() -> Servers:
    return shared_servers()


@pytest.fixture(params=EDITORS, ids=lambda habits: habits.name)
def habits(request: pytest.FixtureRequest) -> Habits:
    found: Habits = request.param
    return found


@dataclass(kw_only=True)
class Stage:
    """A workspace folder, the state folder beside it, and the editors that are started on them."""

    folder: Path
    servers: Starter
    editors: list[tuple[Editor, Path]]
    variation: Variation = PLAIN
    running: list[Server] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """The workspace folder."""
        return self.folder / "workspace"

    @property
    def state(self) -> Path:
        """What `XDG_STATE_HOME` says."""
        return self.folder / "state"

    def pass_time(self, seconds: float) -> None:
        """Let that much time pass for the servers, since their start; else theirs stands still."""
        beside = self.folder / "clock.new"
        beside.write_text(str(seconds))
        beside.replace(self.folder / "clock")

    async def turn(self, editor: Editor, prompt: str, says: str | None) -> Json:
        """A whole turn in which one question is asked; if what is said is no answer, its time passes."""
        editor.answers = [says]
        started = await editor.start_turn(prompt)
        await editor.until(lambda: editor.questions)
        if says in (None, UNKNOWN):
            self.pass_time(HOUR_S)
        report: Json = await editor.request("turn.wait", turn=started["turn"])
        return report

    def put(self, name: str, content: str | bytes) -> Path:
        """Write a file of the workspace."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def script(self, *answers: Mapping[str, object]) -> Json:
        """The settings that make a scripted model give these answers."""
        return {"model": script(self.folder / "script.json", *answers)}

    async def start(
        self,
        habits: Habits,
        *,
        settings: Json | None = None,
        timeout_s: float | None = None,
        command_s: float = 10,
        environment: Mapping[str, str] | None = None,
        configure: Callable[[Editor], object] = lambda editor: None,
        greet: bool = True,
        **greeting: Any,
    ) -> Editor:
        """
        An editor with a server.

        Args:
            settings: The user's own.
            timeout_s: How long the server waits for the editor.
            command_s: After how long it answers an editing command with null.
            configure: Does more to the editor before it greets.
            greet: Whether the editor says initialize.
        """
        editor = Editor(habits, self.root, self.variation)
        log = self.folder / f"server-{len(self.editors)}.log"
        self.editors.append((editor, log))
        if settings is not None:
            editor.set_configuration(settings, section="handrail")
        argv = ["serve", f"--command-timeout={command_s}", f"--clock={self.folder / 'clock'}"] + (
            [f"--answer-timeout={timeout_s}"] if timeout_s is not None else []
        )
        known = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAIL_")}
        own = {"XDG_STATE_HOME": str(self.state), "HANDRAIL_SANDBOX": "off"}  # what is not contained is asked
        server = self.servers.start(argv, {**known, **own, **(environment or {})}, log)
        self.running.append(server)
        await editor.connect(server)
        configure(editor)
        if greet:
            await editor.greet(**greeting)
        return editor


@pytest.fixture
def client(request: pytest.FixtureRequest) -> str:
    """The name of the client that is laid over the editor; another one in tests of any client."""
    return str(getattr(request, "param", "plain"))


@pytest.fixture
async def stage(
    tmp_path: Path, servers: Servers, request: pytest.FixtureRequest, client: str
) -> AsyncIterator[Stage]:
    editors = request.node.stash[EDITORS_OF_TEST] = []
    found = Stage(
        folder=tmp_path, servers=servers, editors=editors, variation=variations.variation_of(client)
    )
    found.root.mkdir()
    yield found
    problems: list[Exception] = []
    for editor, _ in editors:
        await editor.leave()
        problems += editor.errors
        editor.hang_up()
    for server in found.running:
        server.kill()
    assert not problems


@pytest.fixture
async def editor(stage: Stage, habits: Habits) -> Editor:
    return await stage.start(habits)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of any client runs as it is, and as the clients that were asked for."""
    if metafunc.definition.get_closest_marker("any_client") is None:
        return
    asked = metafunc.config.getoption("--clients")
    match asked:
        case "plain":
            names: tuple[str, ...] = ()
        case "two":
            names = variants.two_of(metafunc.definition.nodeid, variants.commit())
        case "all":
            names = variations.NAMES
        case _:
            names = (asked,)
    plain = pytest.param("plain", id=pytest.HIDDEN_PARAM)
    metafunc.parametrize("client", [plain, *names], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """
    Leave out variants of tests, others with each commit.

    With `--clients=two`, each of the two clients of a test is laid over one of its editors. With
    `--editors=one`, each test plays in one of its editors, with `--editors=two` in two.
    """
    if config.getoption("--clients") == "two":
        _keep_editors(config, items, client_of, 1)
    if (editors := config.getoption("--editors")) in EDITORS_KEPT:
        _keep_editors(config, items, _but_for_its_editor, EDITORS_KEPT[editors])


def _but_for_its_editor(item: pytest.Item) -> str:
    """What tells the variants of a test apart, but for the editor; nothing if there are no others."""
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return ""
    given = item.callspec.params
    if "habits" not in given or client_of(item):
        return ""
    return f"of {item.callspec.id.replace(given['habits'].name, '', 1)}"


def _keep_editors(
    config: pytest.Config, items: list[pytest.Item], variant: Callable[[pytest.Item], str], count: int
) -> None:
    """Of the items of a test that are the same *variant*, keep *count*; those of none are all kept."""
    known: dict[str, list[pytest.Item]] = {}
    for item in items:
        if name := variant(item):
            known.setdefault(f"{item.nodeid.partition('[')[0]} {name}", []).append(item)
    chosen = {
        each
        for key, found in known.items()
        for each in variants.some_of(key, variants.commit(), found, count)
    }
    left = [item for item in items if variant(item) and item not in chosen]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if not variant(item) or item in chosen]


def client_of(item: pytest.Item) -> str:
    """The client that is laid over a test; nothing if it runs as it is."""
    name = item.callspec.params.get("client", "plain") if hasattr(item, "callspec") else "plain"
    return "" if name == "plain" else str(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: Any = yield
    if report.failed:
        if name := client_of(item):
            report.sections.append(("client", f"repeat with --clients={name} -k {item.name.split('[')[0]}"))
        for editor, log in item.stash.get(EDITORS_OF_TEST, []):
            lines = [line if len(line) < LOG_LIMIT else line[:LOG_LIMIT] + "…" for line in editor.traffic]
            report.sections.append((f"session of {editor.habits.name}", "\n".join(lines)))
            report.sections.append(("log of the server", log.read_text() if log.exists() else ""))
    return report
