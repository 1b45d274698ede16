"""What checkpoints hold, and what restoring them does, in open and closed documents."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in
from e2e.prompts import block, fence, patch, statuses, v4a
from e2e.shadow import Shadow
from handrail.testing import answer, behaviours, call, snapshot
from handrail.testing.texts import Json

pytestmark = pytest.mark.any_client

OUTSIDE = {
    "in version control": ".git/config",
    "through dots": "../outside.txt",
    "through a link": "link.txt",
    "through a linked folder": "elsewhere/../outside.txt",
}


@pytest.fixture
def outside(stage: Stage) -> Path:
    """A file beside the workspace, and ways to it from inside."""
    stage.put(".git/config", "[core]\n")
    path = stage.folder / "outside.txt"
    path.write_text("[core]\n")
    (stage.root / "link.txt").symlink_to(path)
    (stage.folder / "far").mkdir()
    (stage.folder / "far" / "deep").mkdir()
    (stage.root / "elsewhere").symlink_to(stage.folder / "far" / "deep")
    (stage.folder / "far" / "outside.txt").write_text("[core]\n")
    return path


@pytest.mark.parametrize("path", OUTSIDE.values(), ids=OUTSIDE.keys())
async def test_a_blocked_call_leaves_no_trace(stage: Stage, habits: Habits, outside: Path, path: str) -> None:
    settings = stage.script(
        answer("", patch(path, "[core]", "[evil]"), patch("a.txt", "two", "TWO")), answer("Done.")
    )
    target = stage.put("a.txt", "one\ntwo\n")
    elsewhere = snapshot(stage.folder / "far") | {"outside": outside.read_bytes()}
    editor = await stage.start(habits, settings=settings)
    code = "blocked" if path == ".git/config" else "outside-workspace"
    is_asked = code == "outside-workspace"
    report = await (stage.turn(editor, "Edit both.", None) if is_asked else editor.turn("Edit both."))
    assert statuses(report) == [code, "landed"]
    assert target.read_text() == "one\nTWO\n"
    assert (stage.root / ".git" / "config").read_text() == "[core]\n"
    assert snapshot(stage.folder / "far") | {"outside": outside.read_bytes()} == elsewhere

    (checkpoint,) = await editor.request("checkpoint.list")
    assert [each["path"] for each in checkpoint["paths"]] == ["a.txt"]
    assert [each["paths"] for each in checkpoint["steps"]] == [["a.txt"]]
    shadow = Shadow(stage.state)
    assert len(shadow.turns) == 1
    assert shadow.files(report["turn"]) == {"before/a.txt": "one\ntwo\n", "after/a.txt": "one\nTWO\n"}
    kept = {name: raw for name, raw in snapshot(stage.state).items() if "/sessions/" not in name}
    assert kept, "the shadow repository is in the state folder"
    assert "evil" not in str(kept)


async def test_blocked_alone_takes_no_checkpoint(stage: Stage, habits: Habits, outside: Path) -> None:
    calls = [call("write_file", path=path, content="evil") for path in OUTSIDE.values()]
    settings = stage.script(answer("", *calls), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=opt_in(unattended=True))
    before = snapshot(stage.folder / "workspace"), outside.read_bytes()
    report = await editor.turn("Write.")
    assert statuses(report) == ["blocked"] + ["outside-workspace"] * 3
    assert report.get("checkpoint") is None
    assert Shadow(stage.state).turns == []
    assert await editor.request("checkpoint.list") == []
    assert (snapshot(stage.folder / "workspace"), outside.read_bytes()) == before
    assert not editor.edits


async def test_the_repository_is_private_and_sound(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", "one\n")
    uri = editor.desk.open(stage.root / "a.txt")
    editor.desk.type(uri, "zero\n", before="one")
    editor.desk.tell()
    report = await editor.turn(block("a.txt", "one", "ONE"))
    shadow = Shadow(stage.state)
    assert shadow.git("fsck", "--strict", "--no-dangling") == ""
    assert shadow.files(report["turn"]) == {
        "before/a.txt": "one\n",
        "unsaved/a.txt": "zero\none\n",
        "after/a.txt": "one\n",
        "unsaved-after/a.txt": "zero\nONE\n",
    }
    (repository,) = shadow.repositories
    for folder, _, names in os.walk(repository.parent):
        assert os.stat(folder).st_mode & 0o77 == 0
        assert all(os.stat(os.path.join(folder, name)).st_mode & 0o77 == 0 for name in names)


CREATE = v4a("*** Add File: new/deep/made.txt", "+made", "+by the turn")
DELETE = v4a("*** Delete File: old.txt")
MOVE = v4a("*** Update File: old.txt", "*** Move to: moved.txt", "-two", "+TWO")


async def test_a_created_file_is_removed_with_its_folders(stage: Stage, editor: Editor) -> None:
    report = await editor.turn(CREATE)
    assert statuses(report) == ["landed"]
    assert snapshot(stage.root) == {"new/deep/made.txt": b"made\nby the turn\n"}
    (checkpoint,) = await editor.request("checkpoint.list")
    path = "new/deep/made.txt"
    uri = (stage.root / path).as_uri()
    assert checkpoint["paths"] == [{"uri": uri, "path": path, "change": "created"}]
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert [Path(uri).name for uri in restored["deleted"]] == ["made.txt"]
    assert list(stage.root.iterdir()) == []
    assert editor.desk.documents == {}
    # And back again.
    await editor.request("checkpoint.restore", checkpoint=restored["checkpoint"])
    assert snapshot(stage.root) == {"new/deep/made.txt": b"made\nby the turn\n"}


async def test_the_checkpoints_of_one_document(stage: Stage, editor: Editor) -> None:
    """However its URI is spelled; nothing else is in their paths, and nothing else has any."""
    path, _ = stage.put("a.txt", "one\n"), stage.put("b.txt", "one\n")
    (stage.root / "link.txt").symlink_to(path)
    first = await editor.turn(block("a.txt", "one", "ONE") + "\n" + block("b.txt", "one", "ONE"))
    await editor.turn(block("b.txt", "ONE", "1"))
    for name in ("a.txt", "link.txt"):
        (found,) = await editor.request("checkpoint.list", uri=(stage.root / name).as_uri())
        assert found["id"] == first["checkpoint"]
        assert found["paths"] == [{"uri": path.as_uri(), "path": "a.txt", "change": "changed"}]
    assert await editor.request("checkpoint.list", uri=(stage.root / "c.txt").as_uri()) == []


async def test_a_created_file_that_was_opened_since(stage: Stage, editor: Editor) -> None:
    report = await editor.turn(CREATE)
    path = stage.root / "new" / "deep" / "made.txt"
    if path.as_uri() not in editor.desk.documents:
        editor.desk.open(path)
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["deleted"] == [path.as_uri()]
    assert list(stage.root.iterdir()) == []


async def test_a_created_file_that_the_user_worked_on_is_kept(stage: Stage, editor: Editor) -> None:
    report = await editor.turn(CREATE)
    path = stage.root / "new" / "deep" / "made.txt"
    uri = path.as_uri() if path.as_uri() in editor.desk.documents else editor.desk.open(path)
    editor.desk.type(uri, "and me\n", before="by the turn")
    editor.desk.tell()
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert [each["uri"] for each in restored["conflicts"]] == [uri]
    assert editor.desk[uri] == "made\nand me\nby the turn\n"
    assert path.exists()
    if not editor.habits.has_extension:  # which shows the conflicts of the answer itself
        await editor.until(lambda: any("made.txt" in each.message for each in editor.messages))


async def test_a_restore_of_which_the_editor_takes_a_part(stage: Stage, editor: Editor) -> None:
    """The document is neither as it was nor as the checkpoint has it, which is no conflict."""
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\nthree\nfour\n"))
    report = await editor.turn(block("a.txt", "one", "1") + block("a.txt", "four", "4"))
    editor.behaviours = [behaviours.half]
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert (restored["restored"], restored["conflicts"]) == ([], [])
    (part,) = restored["partial"]
    assert (part["uri"], part["reason"]) == (uri, "The editor applied only 1 of 2 changes of this edit.")
    assert editor.desk[uri] == "one\ntwo\nthree\n4\n"
    assert "-4\n+four\n" in part["diff"], "what is missing"
    if not editor.habits.has_extension:
        await editor.until(lambda: any("Only a part of a.txt" in each.message for each in editor.messages))
    again = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert (again["restored"], again["partial"]) == ([uri], [])
    assert editor.desk[uri] == "one\ntwo\nthree\nfour\n"


@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
async def test_a_deleted_file_comes_back(stage: Stage, editor: Editor, opened: bool) -> None:
    path = stage.put("old.txt", "one\r\ntwo\r\n")
    path.chmod(0o640)
    if opened:
        editor.desk.open(path)
    report = await editor.turn(DELETE)
    assert statuses(report) == ["landed"]
    assert not path.exists()
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["conflicts"] == []
    assert path.read_bytes() == b"one\r\ntwo\r\n"
    assert path.stat().st_mode & 0o777 == 0o640


async def test_a_deleted_document_with_unsaved_text_comes_back(stage: Stage, editor: Editor) -> None:
    path = stage.put("old.txt", "one\ntwo\n")
    uri = editor.desk.open(path)
    editor.desk.type(uri, "three\n", after="two\n")
    editor.desk.tell()
    report = await editor.turn(DELETE)
    assert statuses(report) == ["landed"]
    assert not path.exists()
    assert Shadow(stage.state).files(report["turn"])["unsaved/old.txt"] == "one\ntwo\nthree\n"
    await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    if uri in editor.desk.documents:
        assert editor.desk[uri] == "one\ntwo\nthree\n"
        assert path.read_text() == "one\ntwo\n"
    else:  # nobody holds what was typed, so the file has to
        assert path.read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
async def test_a_moved_file_comes_back(stage: Stage, editor: Editor, opened: bool) -> None:
    path = stage.put("old.txt", "one\ntwo\n")
    if opened:
        editor.desk.open(path)
    report = await editor.turn(MOVE)
    assert set(statuses(report)) == {"landed"}
    assert snapshot(stage.root) == {"moved.txt": b"one\nTWO\n"}
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["conflicts"] == []
    assert snapshot(stage.root) == {"old.txt": b"one\ntwo\n"}


@pytest.mark.parametrize("written_by", ["disk", "editor"])
async def test_a_program_that_is_moved_stays_one(stage: Stage, habits: Habits, written_by: str) -> None:
    editor = await stage.start(habits, settings={"edits": {"closedDocuments": written_by}})
    old, moved = stage.put("old.txt", "one\ntwo\n"), stage.root / "moved.txt"
    old.chmod(0o750)
    report = await editor.turn(MOVE)
    if "landed" not in statuses(report):  # an editor that tells nothing of what it has made
        assert old.read_bytes() == b"one\ntwo\n"
        return
    assert snapshot(stage.root) == {"moved.txt": b"one\nTWO\n"}
    assert stat.S_IMODE(moved.stat().st_mode) == 0o750
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["conflicts"] == []
    assert snapshot(stage.root) == {"old.txt": b"one\ntwo\n"}
    assert stat.S_IMODE(old.stat().st_mode) == 0o750
    await editor.request("checkpoint.restore", checkpoint=restored["checkpoint"])
    assert stat.S_IMODE(moved.stat().st_mode) == 0o750


async def test_what_was_typed_since_is_kept(stage: Stage, editor: Editor) -> None:
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\nthree\nfour\n"))
    report = await editor.turn(block("a.txt", "two", "TWO"))
    editor.desk.type(uri, "4: ", before="four")
    editor.desk.tell()
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["restored"] == [uri]
    assert editor.desk[uri] == "one\ntwo\nthree\n4: four\n"


async def test_what_was_typed_between_two_edits_of_an_answer_is_kept(stage: Stage, habits: Habits) -> None:
    edits = answer("", patch("a.txt", "one", "ONE"), patch("a.txt", "four", "FOUR"))
    editor = await stage.start(habits, settings=stage.script(edits, answer("Done.")))
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\nthree\nfour\n"))
    editor.behaviours = [behaviours.act_after(lambda: editor.desk.type(uri, "typed ", before="two"))]
    report = await editor.turn("Edit it twice.")
    assert editor.desk[uri] == "ONE\ntyped two\nthree\nFOUR\n"
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert (restored["restored"], restored["conflicts"]) == ([uri], [])
    assert editor.desk[uri] == "one\ntyped two\nthree\nfour\n"


async def test_a_document_that_the_checkpoint_does_not_have_is_said_so(stage: Stage, editor: Editor) -> None:
    """And no id is named that could not be restored."""
    stage.put("a.txt", "one\n")
    report = await editor.turn(block("a.txt", "one", "1"))
    uri = (stage.root / "b.txt").as_uri()
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"], uris=[uri])
    assert restored["conflicts"] == [{"uri": uri, "reason": "This document is not in the checkpoint."}]
    assert restored["checkpoint"] is None
    assert restored["restored"] == restored["unchanged"] == restored["deleted"] == []


async def test_lines_that_were_changed_again_are_a_conflict(stage: Stage, editor: Editor) -> None:
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\nthree\n"))
    report = await editor.turn(block("a.txt", "two", "TWO"))
    editor.desk.type(uri, " and more", after="TWO")
    editor.desk.tell()
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert [each["uri"] for each in restored["conflicts"]] == [uri]
    assert editor.desk[uri] == "one\nTWO and more\nthree\n"


async def test_unsaved_text_comes_back_as_it_was(stage: Stage, editor: Editor) -> None:
    """As an edit, and nothing is saved by it: the disk holds what it held."""
    path = stage.put("a.txt", "one\ntwo\n")
    uri = editor.desk.open(path)
    editor.desk.type(uri, "typed, not saved\n", before="two")
    editor.desk.tell()
    version = editor.desk.documents[uri].version
    report = await editor.turn(block("a.txt", "typed, not saved\ntwo", "TYPED\n2"))
    assert editor.desk[uri] == "one\nTYPED\n2\n"
    record = Shadow(stage.state).git("show", f"refs/handrail/turns/{report['turn']}:checkpoint.json")
    (kept,) = json.loads(record)["entries"]
    assert kept["before"]["unsaved"]["version"] == version
    count = len(editor.edits)
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["restored"] == [uri]
    assert editor.desk[uri] == "one\ntyped, not saved\ntwo\n"
    assert len(editor.edits) == count + 1
    assert path.read_text() == "one\ntwo\n"
    assert editor.desk.is_dirty(editor.desk.documents[uri])


async def test_a_command_beneath_unsaved_text(stage: Stage, habits: Habits) -> None:
    """It changes the file of a document whose text is not saved: each of the two comes back for itself."""
    path = stage.put("a.txt", "one\ntwo\n")
    line = "printf 'ONE\\ntwo\\n' > a.txt"
    settings = stage.script(
        answer("", patch("a.txt", "typed", "TYPED")),
        answer("", call("terminal", command=line)),
        answer("Done."),
    )
    options = opt_in(approvals=True)  # nobody saves
    editor = await stage.start(habits, settings=settings, options=options)
    editor.answers = ["allow"]
    uri = editor.desk.open(path)
    editor.desk.type(uri, "typed\n", before="two")
    editor.desk.tell()
    report = await editor.turn("Edit, and run it.")
    assert (editor.desk[uri], path.read_text()) == ("one\nTYPED\ntwo\n", "ONE\ntwo\n")
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert (restored["restored"], restored["conflicts"]) == ([uri], [])
    assert (editor.desk[uri], path.read_text()) == ("one\ntyped\ntwo\n", "one\ntwo\n")
    redone = await editor.request("checkpoint.restore", checkpoint=restored["checkpoint"])
    assert redone["conflicts"] == []
    assert (editor.desk[uri], path.read_text()) == ("one\nTYPED\ntwo\n", "ONE\ntwo\n")


async def test_only_some_lines_are_taken_back(stage: Stage, editor: Editor) -> None:
    """Those of the document as it is now, what the user typed in it included."""
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\nthree\nfour\n"))
    report = await editor.turn(block("a.txt", "one", "ONE") + block("a.txt", "four", "FOUR"))
    editor.desk.type(uri, "typed\n", before="two")
    editor.desk.tell()
    wanted = {"checkpoint": report["checkpoint"], "uris": [uri]}
    span = {"start": {"line": 4, "character": 2}, "end": {"line": 4, "character": 3}}
    restored = await editor.request("checkpoint.restore", **wanted, range=span)
    assert (restored["restored"], restored["conflicts"]) == ([uri], [])
    assert editor.desk[uri] == "ONE\ntyped\ntwo\nthree\nfour\n"
    with expect_error(-32602, "params.range"):
        await editor.request("checkpoint.restore", checkpoint=report["checkpoint"], range=span)


async def test_an_open_document_that_was_closed_since(stage: Stage, editor: Editor) -> None:
    """Saved and closed: the restore goes to the disk, or through the editor where that can save."""
    path = stage.put("a.txt", "one\r\ntwo\r\n")
    uri = editor.desk.open(path)
    report = await editor.turn(block("a.txt", "two", "TWO"))
    editor.desk.save(uri)
    editor.desk.close(uri)
    assert path.read_bytes() == b"one\r\nTWO\r\n"
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["conflicts"] == []
    assert path.read_bytes() == b"one\r\ntwo\r\n"


async def test_a_restore_that_the_editor_refuses_is_told(stage: Stage, editor: Editor) -> None:
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\n"))
    report = await editor.turn(block("a.txt", "two", "TWO"))
    editor.behaviours = [behaviours.refuse]
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert [each["uri"] for each in restored["conflicts"]] == [uri]
    assert editor.desk[uri] == "one\nTWO\n"


async def test_a_command_that_takes_long_is_answered_and_goes_on(stage: Stage, habits: Habits) -> None:
    """An editor may stand still until its command is answered; what became of it is a message then."""
    editor = await stage.start(habits, command_s=0)
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\n"))
    report = await editor.turn(block("a.txt", "two", "TWO"))
    restore = {"checkpoint": report["checkpoint"]}
    assert await editor.command("handrail.checkpoint.restore", restore) is None
    await editor.until(lambda: editor.desk[uri] == "one\ntwo\n")
    editor.behaviours = [behaviours.refuse]
    report = await editor.turn(block("a.txt", "one", "ONE"))
    (shown,) = editor.shown_diagnostics(uri)
    fix, *_ = await editor.quick_fixes(uri, shown["range"])
    editor.behaviours = [behaviours.refuse]
    assert await editor.choose(fix) is None
    await editor.until(lambda: any("could not be applied" in each.message for each in editor.messages))
    assert editor.desk[uri] == "one\ntwo\n"


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
async def test_one_step_of_a_turn_is_taken_back(stage: Stage, habits: Habits) -> None:
    settings = stage.script(
        answer("", patch("a.txt", "one", "1")), answer("", patch("a.txt", "two", "2")), answer("Done.")
    )
    editor = await stage.start(habits, settings=settings)
    uri = editor.desk.open(stage.put("a.txt", "one\ntwo\n"))
    await editor.turn("Edit.")
    (checkpoint,) = await editor.request("checkpoint.list")
    first, second = [each["id"] for each in checkpoint["steps"]]
    await editor.request("checkpoint.restore", checkpoint=second)
    assert editor.desk[uri] == "1\ntwo\n"
    with expect_error(-32803, "no checkpoint"):
        await editor.request("checkpoint.restore", checkpoint=first + "7")


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
async def test_checkpoints_outlive_the_server(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits)
    path = stage.put("a.txt", "one\r\ntwo\nthree\r\n")
    first = await editor.turn(block("a.txt", "two", "TWO"))
    second = await editor.turn(fence("made.txt", "made\n"))
    later = await stage.start(habits)
    known = await later.request("checkpoint.list")
    assert [each["id"] for each in known] == [second["checkpoint"], first["checkpoint"]]
    only = await later.request("checkpoint.list", session=first["session"])
    assert [each["id"] for each in only] == [first["checkpoint"]]
    await later.request("checkpoint.restore", checkpoint=first["checkpoint"])
    assert path.read_bytes() == b"one\r\ntwo\nthree\r\n"


async def turn_of_three(stage: Stage, habits: Habits) -> tuple[Editor, Json]:
    """An editor with three open documents that one turn has changed, and the turn's report."""
    names = ("a.txt", "b.txt", "c.txt")
    calls = [patch(name, "one", "ONE") for name in names]
    settings = stage.script(answer("", *calls), answer("Done."))
    for name in names:
        stage.put(name, "one\n")
    editor = await stage.start(habits, settings=settings)
    for name in names:
        editor.desk.open(stage.root / name)
    return editor, await editor.turn("Edit all.")


async def until_it_is_shown(editor: Editor, given: Json) -> Json:
    """An editor that takes its time with an edit, so that people begin to wonder."""
    begun = await editor.until(lambda: slow(editor, "begin"))
    editor.notify("window/workDoneProgress/cancel", {"token": begun[0]["token"]})
    return await Editor.obey(editor, given)


def slow(editor: Editor, kind: str) -> list[Json]:
    return [
        each for each in editor.progressed if each["kind"] == kind and str(each["token"]).startswith("slow-")
    ]


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
async def test_a_restore_that_takes_long_is_shown_and_can_be_stopped(stage: Stage, habits: Habits) -> None:
    editor, report = await turn_of_three(stage, habits)
    editor.behaviours.append(until_it_is_shown)
    stopped = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"], conversation=True)
    assert [Path(uri).name for uri in stopped["restored"]] == ["a.txt"]
    assert [Path(each["uri"]).name for each in stopped["conflicts"]] == ["b.txt", "c.txt"]
    assert {each["reason"] for each in stopped["conflicts"]} == {
        "The restore was stopped before it reached this document. The document is unchanged."
    }
    assert "conversation" not in stopped, "the session stays"
    await editor.until(lambda: slow(editor, "end"))
    (begun,) = slow(editor, "begin")
    assert (begun["message"], begun["cancellable"]) == ("Restoring documents", True)
    texts = [editor.desk[(stage.root / name).as_uri()] for name in ("a.txt", "b.txt", "c.txt")]
    assert texts == ["one\n", "ONE\n", "ONE\n"]

    rest = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"], conversation=True)
    assert sorted(Path(uri).name for uri in rest["restored"]) == ["b.txt", "c.txt"]
    assert rest["conversation"]["turns"] == []
    assert len(slow(editor, "begin")) == 1, "what is quick is not shown"


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
async def test_where_no_progress_can_be_shown_it_is_said(stage: Stage, habits: Habits) -> None:
    editor, report = await turn_of_three(stage, replace(habits, hides_progress=True))

    async def wait(editor: Editor, given: Json) -> Json:
        await editor.until(lambda: any("Restoring documents…" in each.message for each in editor.messages))
        return await Editor.obey(editor, given)

    editor.behaviours.append(wait)
    done = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert len(done["restored"]) == 3
