"""Settings: where they come from, which of them wins, and what they do to closed documents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from lsprotocol import types as lsp

from e2e.client import Editor, RefusedError
from e2e.conftest import Stage
from e2e.habits import NEOVIM, VSCODE, Habits, opt_in
from e2e.prompts import block, fence, patch, statuses, v4a
from handrail.testing import answer, script
from handrail.testing.texts import Json

vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
FAILS = block("a.txt", "none of this is there", "some")
VERIFIER = "HANDRAIL_FILE_MUTATION_VERIFIER"


def changed(editor: Editor, settings: Json) -> None:
    """The user changes the settings."""
    editor.set_configuration(settings, section="handrail")
    editor.notify("workspace/didChangeConfiguration", {"settings": {"handrail": settings}})


# ---- Diagnostics ----------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", ["0", "1", None, "maybe"])
@pytest.mark.parametrize("setting", [True, False, None])
async def test_the_environment_wins_both_ways(
    stage: Stage, environment: str | None, setting: bool | None
) -> None:
    settings = {"mutations": {"diagnostics": setting}} if setting is not None else None
    editor = await stage.start(
        NEOVIM, settings=settings, environment={VERIFIER: environment} if environment else None
    )
    uri = editor.desk.open(stage.put("a.txt", "one\n"))
    report = await editor.turn(FAILS)
    expected = {"0": False, "1": True}.get(environment or "", setting is not False)
    assert bool(editor.shown_diagnostics(uri)) == expected
    assert statuses(report) == ["no-match"], "the report lists them either way"
    assert len(await editor.request("failure.list")) == 1
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    assert bool(await editor.quick_fixes(uri, span)) == expected


async def test_diagnostics_come_and_go_with_the_setting(stage: Stage, editor: Editor) -> None:
    uri = editor.desk.open(stage.put("a.txt", "one\n"))
    await editor.turn(FAILS)
    assert editor.shown_diagnostics(uri)
    changed(editor, {"mutations": {"diagnostics": False}})
    await editor.until(lambda: not editor.shown_diagnostics(uri))
    changed(editor, {"mutations": {"diagnostics": True}})
    await editor.until(lambda: editor.shown_diagnostics(uri))


# ---- Scopes and kinds -----------------------------------------------------------------------------


async def test_a_folder_cannot_choose_the_model(stage: Stage, habits: Habits) -> None:
    model = script(stage.folder / "script.json", answer("From the folder's model."))
    editor = await stage.start(
        habits,
        configure=lambda editor: editor.set_configuration(
            {"model": model, "mutations": {"diagnostics": False}},
            section="handrail",
            scope_uri=stage.root.as_uri(),
        ),
    )
    uri = editor.desk.open(stage.put("a.txt", "one\n"))
    report = await editor.turn(FAILS)
    assert "From the folder's model." not in report["answer"]
    assert statuses(report) == ["no-match"]
    assert editor.shown_diagnostics(uri) == [], "a window setting may come from a folder"


async def test_the_first_folder_leaves_with_its_settings(stage: Stage, habits: Habits) -> None:
    """Those of the folder that is the first one then are asked for, and none where no folder is left."""
    other = stage.folder / "other"
    other.mkdir()

    def tell(editor: Editor) -> None:
        quiet = {"mutations": {"diagnostics": False}}
        editor.set_configuration(quiet, section="handrail", scope_uri=stage.root.as_uri())

    editor = await stage.start(habits, configure=tell, folders=[stage.root, other])
    uri = editor.desk.open(stage.put("a.txt", "one\n"))
    await editor.turn(FAILS)
    assert editor.shown_diagnostics(uri) == []
    first = [{"uri": stage.root.as_uri(), "name": stage.root.name}]
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": first}})
    await editor.until(lambda: editor.shown_diagnostics(uri))
    rest = [{"uri": other.as_uri(), "name": "other"}]
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": first, "removed": rest}})
    await editor.until(lambda: not editor.shown_diagnostics(uri))


@vscode
async def test_settings_of_the_initialization(stage: Stage, habits: Habits) -> None:
    """Dotted or nested; machine settings among them; what the user sets later wins."""
    model = script(stage.folder / "script.json", answer("By script."))
    for given in (
        {"model": model, "mutations.diagnostics": False},
        {"model": model, "mutations": {"diagnostics": False}},
    ):
        editor = await stage.start(habits, options=opt_in("save", settings=given))
        assert (await editor.turn("Hello."))["answer"] == "By script."
        changed(editor, {"model": "paste"})
        stage.put("a.txt", "one\n")
        report = await editor.turn(FAILS)
        assert statuses(report) == ["no-match"]
        assert editor.published == []


async def test_wrong_values_are_told_and_defaults_hold(stage: Stage, habits: Habits) -> None:
    wrong = {
        "model": 7,
        "mutations": {"diagnostics": "yes"},
        "edits": {"closedDocuments": "telepathy"},
        "x": 1,
    }
    editor = await stage.start(habits, settings=wrong)
    stage.put("a.txt", "one\n")
    report = await editor.turn(FAILS)
    assert statuses(report) == ["no-match"]
    assert editor.published
    await editor.until(lambda: len(editor.messages) == 3)
    said = " ".join(each.message for each in editor.messages)
    for name in ("handrail.model", "handrail.mutations.diagnostics", "handrail.edits.closedDocuments"):
        assert name in said
    changed(editor, wrong)
    await editor.turn(FAILS)
    assert len(editor.messages) == 3, "each is said once"


# ---- Settings that come late ----------------------------------------------------------------------

BLOCKED = {"approvals": [{"tool": "edit", "match": "*", "verdict": "block"}]}
EDIT = block("a.txt", "one", "1")


class Telling:
    """An editor's answer to `workspace/configuration`, which comes when the test says so."""

    def __init__(self, *told: Json) -> None:
        self.told, self.asked = list(told), 0
        self.opens = [asyncio.Event() for _ in told]

    async def answer(self, params: lsp.ConfigurationParams) -> list[object]:
        number, self.asked = self.asked, self.asked + 1
        if number < len(self.told):
            await self.opens[number].wait()
            return [self.told[number] for _ in params.items]
        await asyncio.Event().wait()
        raise AssertionError


async def fail(params: object) -> list[object]:
    raise RefusedError(message="no settings here", code=-32603)


def is_waiting(editor: Editor) -> bool:
    told = (*editor.progressed, *({"message": each.message} for each in editor.messages))
    return any("Waiting for the editor's settings" in str(each.get("message")) for each in told)


@pytest.mark.parametrize("late_s", [7, 60])
async def test_the_first_turn_waits_visibly_for_the_settings(
    stage: Stage, habits: Habits, late_s: float
) -> None:
    stage.put("a.txt", "one\n")
    telling = Telling(BLOCKED)
    editor = await stage.start(
        habits, configure=lambda each: each.handle("workspace/configuration", telling.answer)
    )
    started = await editor.start_turn(EDIT)
    await editor.until(lambda: is_waiting(editor))
    stage.pass_time(late_s)
    assert not editor.questions
    assert not editor.edits
    telling.opens[0].set()
    report = await editor.request("turn.wait", turn=started["turn"])
    assert statuses(report) == ["blocked"]


@pytest.mark.parametrize("tells", [Telling().answer, fail], ids=["never", "with an error"])
async def test_without_settings_every_edit_and_command_is_asked_about(
    stage: Stage, habits: Habits, tells: Callable[[Any], Any]
) -> None:
    stage.put("a.txt", "one\n")
    editor = await stage.start(habits, configure=lambda each: each.handle("workspace/configuration", tells))
    editor.answers = ["deny"]
    started = await editor.start_turn(EDIT)
    await editor.until(lambda: is_waiting(editor) or editor.questions)
    stage.pass_time(90)
    report = await editor.request("turn.wait", turn=started["turn"])
    assert statuses(report) == ["denied"]
    (question,) = editor.questions
    assert "The editor has not sent its settings yet." in question["message"]
    assert any("asks before every edit and command" in each.message for each in editor.messages)
    editor.errors.clear()


async def test_an_answer_that_comes_after_the_wait_counts(stage: Stage, habits: Habits) -> None:
    """Even for the turn that runs already."""
    stage.put("a.txt", "one\n")
    telling = Telling(BLOCKED)
    editor = await stage.start(
        habits,
        configure=lambda each: each.handle("workspace/configuration", telling.answer),
        options={
            "handrail": {"settings": stage.script(answer("", patch("a.txt", "one", "1")), answer("So."))}
        },
    )
    started = await editor.start_turn("Edit.")
    await editor.until(lambda: is_waiting(editor))
    stage.pass_time(90)
    await editor.until(lambda: editor.questions)
    telling.opens[0].set()
    await editor.request("turn.cancel", turn=started["turn"])
    report = await editor.turn("Edit.")
    assert statuses(report) == ["blocked"]


async def test_the_last_known_rules_hold_until_others_are_told(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    telling = Telling(BLOCKED)
    telling.opens[0].set()
    editor = await stage.start(
        habits, configure=lambda each: each.handle("workspace/configuration", telling.answer)
    )
    assert statuses(await editor.turn(EDIT)) == ["blocked"]
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    started = await editor.start_turn(EDIT)
    await editor.until(lambda: is_waiting(editor))
    stage.pass_time(90)
    report = await editor.request("turn.wait", turn=started["turn"])
    assert statuses(report) == ["blocked"]


# ---- Closed documents -----------------------------------------------------------------------------

LATIN = "[*.txt]\ncharset = latin1\n"
CLOSED = {
    "plain": (b"one\ntwo\n", b"one\nTWO\n"),
    "CRLF": (b"one\r\ntwo\r\n", b"one\r\nTWO\r\n"),
    "no final newline": (b"one\ntwo", b"one\nTWO"),
    "mark": (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\nTWO\n"),
    "mixed": (b"one\r\ntwo\nthree\r\n", b"one\r\nTWO\nthree\r\n"),
    "CR": (b"one\rtwo\r", b"one\rTWO\r"),
    "Latin-1": (b"\xe9t\xe9\ntwo\n", b"\xe9t\xe9\nTWO\n"),
    "UTF-16": (
        b"\xff\xfe" + "one\ntwo\n".encode("utf-16-le"),
        b"\xff\xfe" + "one\nTWO\n".encode("utf-16-le"),
    ),
}
PLAIN = {"plain", "CRLF"}  # what every editor writes as it was


@pytest.mark.parametrize("chosen", ["auto", "disk"])
async def test_closed_documents_keep_every_byte(stage: Stage, habits: Habits, chosen: str) -> None:
    editor = await stage.start(habits, settings={"edits": {"closedDocuments": chosen}})
    for name, (raw, _) in CLOSED.items():
        stage.put(f"{name}/a.txt", raw).chmod(0o751)
    stage.put("Latin-1/.editorconfig", LATIN)
    report = await editor.turn(v4a(*_sections()))
    assert statuses(report) == ["landed"] * len(CLOSED)
    found = {name: (stage.root / name / "a.txt").read_bytes() for name in CLOSED}
    assert found == {name: edited for name, (_, edited) in CLOSED.items()}
    assert {(stage.root / name / "a.txt").stat().st_mode & 0o777 for name in CLOSED} == {0o751}
    through = {each["edit"]["documentChanges"][0]["textDocument"]["uri"] for each in editor.edits}
    plain = {(stage.root / name / "a.txt").as_uri() for name in PLAIN}
    assert through == (plain if habits.has_extension and chosen == "auto" else set())

    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["conflicts"] == []
    found = {name: (stage.root / name / "a.txt").read_bytes() for name in CLOSED}
    assert found == {name: raw for name, (raw, _) in CLOSED.items()}
    assert {(stage.root / name / "a.txt").stat().st_mode & 0o777 for name in CLOSED} == {0o751}


def _sections() -> list[str]:
    return [f"*** Update File: {name}/a.txt\n-two\n+TWO" for name in CLOSED]


async def test_links_stay_links(stage: Stage, editor: Editor) -> None:
    target = stage.put("real/a.txt", "one\r\ntwo\n")
    link = stage.root / "link.txt"
    link.symlink_to("real/a.txt")
    report = await editor.turn(block("link.txt", "two", "TWO"))
    assert statuses(report) == ["landed"]
    assert link.is_symlink()
    assert target.read_bytes() == b"one\r\nTWO\n"
    await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert link.is_symlink()
    assert target.read_bytes() == b"one\r\ntwo\n"


@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
async def test_what_an_encoding_cannot_write_is_refused(stage: Stage, editor: Editor, opened: bool) -> None:
    stage.put(".editorconfig", LATIN)
    path = stage.put("a.txt", b"\xe9t\xe9\ntwo\n")
    if opened:
        editor.desk.open(path.as_uri(), "été\ntwo\n")
    report = await editor.turn(block("a.txt", "two", "☃"))
    if opened:
        assert statuses(report) == ["landed"], "the editor holds text; how it is saved is the editor's affair"
    else:
        assert statuses(report) == ["bad-encoding"]
    assert path.read_bytes() == b"\xe9t\xe9\ntwo\n"


async def test_bytes_that_are_no_text_are_refused(stage: Stage, editor: Editor) -> None:
    path = stage.put("a.txt", b"one\n\x00\xff\xfe\ntwo\n")
    report = await editor.turn(block("a.txt", "two", "TWO"))
    assert statuses(report) == ["bad-encoding"]
    (shown,) = editor.shown_diagnostics(path.as_uri())
    assert shown["code"] == "bad-encoding"
    assert path.read_bytes() == b"one\n\x00\xff\xfe\ntwo\n"


@vscode
async def test_closed_documents_through_the_editor(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings={"edits": {"closedDocuments": "editor"}})
    path = stage.put("a.txt", "one\ntwo\n")
    report = await editor.turn(block("a.txt", "two", "TWO") + fence("made.txt", "made\n"))
    assert statuses(report) == ["landed", "landed"]
    assert len(editor.edits) == 2
    assert path.read_text() == "one\nTWO\n"
    assert (stage.root / "made.txt").read_text() == "made\n"
    assert set(editor.desk.documents) == {path.as_uri(), (stage.root / "made.txt").as_uri()}


@vscode
async def test_a_new_document_in_another_encoding_is_not_left_to_the_editor(
    stage: Stage, habits: Habits
) -> None:
    editor = await stage.start(habits, settings={"edits": {"closedDocuments": "editor"}})
    stage.put(".editorconfig", "root = true\n[*]\ncharset = latin1\n")
    report = await editor.turn(fence("made.txt", "é\n"))
    assert statuses(report) == ["landed"]
    assert (stage.root / "made.txt").read_bytes() == b"\xe9\n"


@vscode
async def test_a_document_that_we_opened_stays_saved(stage: Stage, habits: Habits) -> None:
    """Also when a later patch finds it open; but what the user typed is the user's to save."""
    editor = await stage.start(habits)
    path = stage.put("a.txt", "one\ntwo\nthree\n")
    report = await editor.turn(block("a.txt", "one", "1") + fence("made.txt", "made\n"))
    assert statuses(report) == ["landed", "landed"]
    assert path.read_text() == "1\ntwo\nthree\n"
    await editor.turn(block("a.txt", "two", "2"))
    assert path.read_text() == "1\n2\nthree\n"
    editor.desk.type(path.as_uri(), "zero\n", before="1\n")
    report = await editor.turn(block("a.txt", "three", "3"))
    assert statuses(report) == ["landed"]
    assert path.read_text() == "1\n2\nthree\n"
    assert editor.desk[path.as_uri()] == "zero\n1\n2\n3\n"


@pytest.mark.parametrize("habits", [NEOVIM], ids=["neovim"])
async def test_an_editor_that_tells_nothing_of_what_it_opens(stage: Stage, habits: Habits) -> None:
    """Forced through the editor, an edit that nobody can see is no edit that landed."""
    settings = {"edits": {"closedDocuments": "editor"}}
    editor = await stage.start(habits, settings=settings, timeout_s=0.4)
    path = stage.put("a.txt", "one\ntwo\n")
    report = await editor.turn(block("a.txt", "two", "TWO"))
    assert statuses(report) == ["not-as-written"]
    assert path.read_text() == "one\ntwo\n"
