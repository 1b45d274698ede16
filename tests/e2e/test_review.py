"""Pending changes in every editor: shown at their places, kept and undone one by one, with typing around."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import EVERY_EDITOR, NEOVIM, VSCODE, Habits, opt_in
from e2e.prompts import block, statuses, v4a
from git_user import git
from handrail.testing import behaviours
from handrail.testing.behaviours import Reaction, Response
from handrail.testing.texts import Json

every_editor = pytest.mark.parametrize("habits", EVERY_EDITOR, ids=lambda habits: habits.name)
vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

FIVE = "one\ntwo\nthree\nfour\nfive\n"
EDITED = "one\nTWO\nthree\nFOUR\nfive\n"
PATCH = v4a("*** Update File: a.txt", "@@", "-two", "+TWO", "@@", "-four", "+FOUR")


@pytest.fixture
def uri(stage: Stage, editor: Editor) -> str:
    return editor.desk.open(stage.put("a.txt", FIVE))


@pytest.fixture
async def pending(editor: Editor, uri: str) -> list[Json]:
    """The two changes of a turn."""
    assert statuses(await editor.turn(PATCH)) == ["landed", "landed"]
    return await listed(editor)


async def listed(editor: Editor, **params: Any) -> list[Json]:
    found: list[Json] = await editor.request("review.list", **params)
    return found


def told(found: list[Json]) -> list[tuple[int, str, str]]:
    return [(each["range"]["start"]["line"], each["before"], each["after"]) for each in found]


async def at(editor: Editor, uri: str, line: int) -> dict[str, Json]:
    """The code actions at a line, by their titles."""
    place = {"line": line, "character": 0}
    found = await editor.quick_fixes(uri, {"start": place, "end": place})
    return {each["title"]: each for each in found}


BOTH = [(1, "two\n", "TWO\n"), (3, "four\n", "FOUR\n")]


@pytest.mark.any_client
@every_editor
async def test_a_change_is_undone_at_the_cursor_and_the_other_one_kept(
    editor: Editor, uri: str, pending: list[Json]
) -> None:
    assert told(pending) == BOTH
    actions = await at(editor, uri, 1)
    assert list(actions) == [
        "Keep this change (+1 −1)",
        "Undo this change (+1 −1)",
        "Undo this change and say why…",
        "Keep all 2 changes in this document",
        "Undo all 2 changes in this document",
        "Comment on this change…",
        "Next change",
        "Previous change",
        "Open the review document",
    ]
    assert [title for title in await at(editor, uri, 0) if "this change" in title] == []
    await editor.choose(actions["Undo this change (+1 −1)"])
    await editor.until(lambda: editor.desk[uri] == EDITED.replace("TWO", "two"))
    assert told(await listed(editor)) == BOTH[1:]
    await editor.choose((await at(editor, uri, 3))["Keep this change (+1 −1)"])
    assert await listed(editor) == []
    assert editor.desk[uri] == EDITED.replace("TWO", "two")
    assert await at(editor, uri, 3) == {}


@pytest.mark.any_client
@every_editor
async def test_typing_moves_changes_and_stays_when_they_are_undone(
    editor: Editor, uri: str, pending: list[Json]
) -> None:
    editor.desk.type(uri, "zero\n", before="one")
    editor.desk.type(uri, "six\n", after="five\n")
    editor.desk.tell()
    assert told(await listed(editor)) == [(line + 1, before, after) for line, before, after in BOTH]
    assert "Undo this change (+1 −1)" in await at(editor, uri, 4)
    done = await editor.request("review.undo", uri=uri)
    assert sorted(done["hunks"]) == sorted(each["id"] for each in pending)
    assert (done["conflicts"], editor.desk[uri]) == ([], f"zero\n{FIVE}six\n")


@every_editor
async def test_typing_in_a_change_is_a_conflict_until_the_user_wants_all_of_it_gone(
    editor: Editor, uri: str, pending: list[Json]
) -> None:
    editor.desk.type(uri, ", typed", after="TWO")
    editor.desk.tell()
    first, second = await listed(editor)
    assert (first["editedByUser"], second["editedByUser"]) == (True, False)
    actions = await at(editor, uri, 1)
    await editor.choose(actions["Undo this change (+1 −1)"])
    assert any("TWO, typed" in each.message and "two" in each.message for each in editor.messages)
    way_on = "The code action “Undo all of it, including what you typed” undoes the agent's change and yours."
    assert any(f"from the agent's. {way_on}" in each.message for each in editor.messages)
    assert editor.desk[uri] == EDITED.replace("TWO", "TWO, typed")
    await editor.choose(actions["Undo all of it, including what you typed"])
    await editor.until(lambda: editor.desk[uri] == EDITED.replace("TWO", "two"))
    assert told(await listed(editor)) == BOTH[1:]


@vscode
async def test_of_a_made_document_only_a_later_change_is_undone_with_what_was_typed(
    editor: Editor, stage: Stage
) -> None:
    await editor.turn(v4a("*** Add File: b.txt", "+made", "+here", "+by it"))
    uri = editor.desk.open(stage.root / "b.txt")
    editor.desk.type(uri, "the user's\n", after="by it\n")
    editor.desk.tell()
    await editor.turn(v4a("*** Update File: b.txt", "@@", " the user's", "+later"))
    title = "Undo all of it, including what you typed"
    editor.desk.type(uri, ", typed", after="later")
    editor.desk.type(uri, ", typed", after="here")
    editor.desk.tell()
    assert title not in await at(editor, uri, 1), "the document would be removed"
    actions = await at(editor, uri, 4)
    await editor.choose(actions["Undo this change (+1 −0)"])
    assert any(f"“{title}” undoes " in each.message for each in editor.messages)
    await editor.choose(actions[title])
    await editor.until(lambda: "later" not in editor.desk[uri])
    assert editor.desk[uri] == "made\nhere, typed\nby it\nthe user's\n"


@every_editor
async def test_the_editors_undo_of_our_undo_makes_it_pending_again(
    editor: Editor, uri: str, pending: list[Json]
) -> None:
    await editor.request("review.undo", all=True)
    assert (editor.desk[uri], await listed(editor)) == (FIVE, [])
    while editor.desk[uri] != EDITED:
        editor.desk.undo(uri)
    editor.desk.tell()
    assert [each["id"] for each in await listed(editor)] == [each["id"] for each in pending]


@vscode
async def test_lenses_stand_above_changes_and_are_asked_for_again(
    editor: Editor, uri: str, pending: list[Json]
) -> None:
    await editor.until(lambda: editor.refreshes)
    lenses = await editor.call("textDocument/codeLens", {"textDocument": {"uri": uri}})
    shown = [(each["range"]["start"]["line"], each["command"]["title"]) for each in lenses]
    assert shown == [(1, "✎ +1 −1: Keep"), (1, "Undo"), (3, "✎ +1 −1: Keep"), (3, "Undo")]
    editor.refreshes.clear()
    editor.desk.type(uri, "zero\n", before="one")
    editor.desk.tell()
    await editor.until(lambda: editor.refreshes)
    (first, *_) = await editor.call("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert first["range"]["start"]["line"] == 2
    await editor.command(first["command"]["command"], *first["command"]["arguments"])
    assert told(await listed(editor)) == [(4, "four\n", "FOUR\n")]


@vscode
async def test_what_is_committed_is_kept_and_that_is_told(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, options=opt_in("review"))
    uri = editor.desk.open(stage.put("a.txt", FIVE))
    git(stage.root, "init", "--quiet")
    git(stage.root, "add", "a.txt")
    await editor.turn(PATCH)
    editor.desk.save(uri)
    git(stage.root, "commit", "--quiet", "-am", "all of it")
    await editor.until(lambda: editor.reviewed and editor.reviewed[-1]["pending"] == 0)
    assert await editor.call("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []
    assert await listed(editor) == []


@vscode
async def test_nothing_is_shown_or_asked_for_again_where_nothing_is_pending(
    stage: Stage, editor: Editor, uri: str
) -> None:
    editor.desk.type(uri, "zero\n", before="one")
    editor.desk.tell()
    assert await editor.call("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []
    assert (await at(editor, uri, 0), editor.refreshes) == ({}, [])


@vscode
async def test_a_client_that_opted_in_is_told_of_each_change(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, options=opt_in("review"))
    uri = editor.desk.open(stage.put("a.txt", FIVE))
    await editor.turn(PATCH)
    await editor.until(lambda: editor.reviewed)
    assert (editor.reviewed[-1]["uris"], editor.reviewed[-1]["pending"]) == ([uri], 2)
    await editor.request("review.keep", all=True)
    await editor.until(lambda: editor.reviewed[-1]["pending"] == 0)


@pytest.mark.parametrize("habits", [NEOVIM], ids=["neovim"])
async def test_marks_are_diagnostics_of_their_own(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings={"review": {"marks": True}})
    uri = editor.desk.open(stage.put("a.txt", FIVE))
    await editor.turn(PATCH)
    await editor.until(lambda: len(editor.shown_diagnostics(uri)) == 2)
    assert {(each["source"], each["severity"]) for each in editor.shown_diagnostics(uri)} == {
        ("handrail review", 4)
    }
    await editor.request("review.keep", uri=uri)
    await editor.until(lambda: editor.shown_diagnostics(uri) == [])


@every_editor
async def test_next_and_previous_go_around(editor: Editor, uri: str, pending: list[Json]) -> None:
    first, second = pending
    assert (await editor.request("review.next", uri=uri, line=1))["id"] == second["id"]
    assert (await editor.request("review.next", uri=uri, line=3))["id"] == first["id"]
    assert (await editor.request("review.previous", uri=uri, line=1))["id"] == second["id"]
    await editor.choose((await at(editor, uri, 1))["Next change"])
    said = [each.message for each in editor.messages]
    assert editor.documents_shown[-1:] == [uri] or any("a.txt:4" in each for each in said)


@every_editor
async def test_what_is_pending_survives_the_server(
    stage: Stage, habits: Habits, editor: Editor, uri: str, pending: list[Json]
) -> None:
    editor.desk.save(uri)
    stage.running[-1].kill()
    editor.has_left = True
    with suppress(ConnectionError):
        await editor.wait_closed()
    editor.hang_up()
    later = await stage.start(habits)
    assert [each["id"] for each in await listed(later)] == [each["id"] for each in pending]
    later.desk.open(stage.root / "a.txt")
    await later.request("review.undo", all=True)
    await later.until(lambda: later.desk[uri] == FIVE)
    assert (stage.root / "a.txt").read_text() == EDITED, "undone in the editor, and not saved"


@every_editor
async def test_what_a_quick_fix_has_changed_survives_the_server(
    stage: Stage, habits: Habits, editor: Editor, uri: str
) -> None:
    assert statuses(await editor.turn(v4a("*** Update File: a.txt", "@@", "-thre", "+THREE"))) == ["no-match"]
    fixed, *_ = await editor.quick_fixes(uri, editor.shown_diagnostics(uri)[0]["range"])
    await editor.choose(fixed)
    stage.running[-1].kill()
    held, editor.has_left = editor.desk[uri], True
    await editor.wait_closed_quietly()
    later = await stage.start(habits)
    later.desk.open(uri, held)
    assert told(await listed(later)) == [(2, "three\n", "THREE\n")]


@vscode
async def test_what_is_older_than_checkpoints_get_counts_as_kept(
    stage: Stage, habits: Habits, editor: Editor, uri: str, pending: list[Json]
) -> None:
    editor.desk.save(uri)
    assert told(await listed(editor)) == BOTH
    (kept,) = stage.state.rglob("*.json.z")
    part = kept.with_name(f"{kept.name}.12345")
    for days, found in ((29, BOTH), (31, [])):
        part.touch()
        then = time.time() - days * 24 * 3600
        for file in (part, kept):
            os.utime(file, (then, then))
        await editor.leave()
        editor.hang_up()
        assert not part.exists(), "what a killed server leaves goes as well"
        editor = await stage.start(habits)
        editor.desk.open(stage.root / "a.txt")
        assert told(await listed(editor)) == found
        editor.desk.close(uri)
        assert told(await listed(editor)) == found


@every_editor
async def test_what_cannot_be_read_of_what_is_pending_is_said_once(
    stage: Stage, habits: Habits, editor: Editor, uri: str, pending: list[Json]
) -> None:
    await editor.leave()
    editor.hang_up()
    (kept,) = stage.state.rglob("*.json.z")
    kept.write_bytes(kept.read_bytes()[:-7])
    later = await stage.start(habits)
    later.desk.open(uri, editor.desk[uri])
    assert await listed(later) == []
    (said,) = await later.until(
        lambda: [each.message for each in later.messages if "1 document cannot be read" in each.message]
    )
    assert str(kept.parent) in said
    assert later.desk[uri] == EDITED
    await listed(later)
    assert sum("cannot be read" in each.message for each in later.messages) == 1
    assert statuses(await later.turn(v4a("*** Update File: a.txt", "@@", "-five", "+FIVE"))) == ["landed"]
    assert told(await listed(later)) == [(4, "five\n", "FIVE\n")], "and what is new is pending"


@every_editor
async def test_what_is_pending_in_unsaved_text_survives_the_server(
    stage: Stage, habits: Habits, editor: Editor, uri: str, pending: list[Json]
) -> None:
    """The file does not have it, and is looked at before the editor has opened the document again."""
    editor.desk.type(uri, ", typed", after="TWO")
    editor.desk.tell()
    await listed(editor)
    held = editor.desk[uri]
    stage.running[-1].kill()
    editor.has_left = True
    await editor.wait_closed_quietly()
    later = await stage.start(habits)
    assert await listed(later) == []
    later.desk.open(uri, held)
    found = await listed(later)
    assert [each["id"] for each in found] == [each["id"] for each in pending]
    assert [each["editedByUser"] for each in found] == [True, False]


@every_editor
async def test_what_a_restore_has_left_pending_survives_the_server(
    stage: Stage, habits: Habits, editor: Editor, uri: str, pending: list[Json]
) -> None:
    report = await editor.turn(v4a("*** Update File: a.txt", "@@", "-one", "-TWO"))
    await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert told(await listed(editor)) == BOTH
    held = editor.desk[uri]
    await editor.leave()
    editor.hang_up()
    later = await stage.start(habits)
    later.desk.open(uri, held)
    assert told(await listed(later)) == BOTH


@every_editor
async def test_changes_go_with_a_document_that_is_renamed(
    stage: Stage, editor: Editor, uri: str, pending: list[Json]
) -> None:
    editor.desk.save(uri)
    new = editor.desk.rename(uri, "new.txt")
    found = await listed(editor)
    assert [each["uri"] for each in found] == [new, new]
    await editor.request("review.undo", uri=new)
    assert editor.desk[new] == FIVE


@every_editor
async def test_of_two_buffers_that_differ_nothing_is_undone(
    stage: Stage, editor: Editor, uri: str, pending: list[Json]
) -> None:
    editor.desk.save(uri)
    (stage.root / "link.txt").symlink_to("a.txt")
    other = editor.desk.open(stage.root / "link.txt")
    editor.desk.type(other, "typed\n", before="one")
    editor.desk.tell()
    done = await editor.request("review.undo", all=True)
    assert (done["hunks"], len(done["conflicts"])) == ([], 2)
    assert [editor.desk[uri], editor.desk[other]] == [EDITED, f"typed\n{EDITED}"]
    assert len(await listed(editor)) == 2


async def act_in_older(editor: Editor, uri: str, act: str) -> None:
    """Acts in a window that holds an older text; unless it saves that, it loads or closes the file then."""
    match act:
        case "keep":
            await editor.request("review.keep", hunks=[each["id"] for each in await listed(editor)])
        case "undo":
            await editor.request("review.undo", all=True)
        case "type" | "rewrite":
            old, new = ("one", "zero\none") if act == "type" else ("TWO", "mine")
            editor.desk.rewrite(uri, editor.desk[uri].replace(old, new))
            editor.desk.tell()
        case "another turn":
            await editor.turn(v4a("*** Add File: b.txt", "+b"))
            new = uri.replace("a.txt", "b.txt")
            ids = [each["id"] for each in await listed(editor, uri=new)]
            await editor.request("review.keep", hunks=ids)
        case "save":  # over what the other window has written
            editor.desk.save(uri)
    if act == "keep":
        editor.desk.reload(uri)
    elif act not in ("save", "leave"):
        editor.desk.close(uri)


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("act", ["close", "leave", "keep", "type", "rewrite", "undo", "save", "another turn"])
async def test_a_change_by_another_window_stays_pending_while_the_text_here_is_older(
    stage: Stage, act: str, is_listed: bool
) -> None:
    """A text that the editor has not loaded again says nothing about changes that it never had."""
    first = await stage.start(NEOVIM)
    uri = first.desk.open(stage.put("a.txt", FIVE))
    await first.turn(v4a("*** Update File: a.txt", "@@", "-two", "+TWO"))
    first.desk.save(uri)
    other = await stage.start(NEOVIM)
    await other.turn(v4a("*** Update File: a.txt", "@@", "-four", "+FOUR"))
    assert told(await listed(other)) == BOTH
    if is_listed:
        assert told(await listed(first)) == BOTH[:1]
    await act_in_older(first, uri, act)
    wanted = {"keep": BOTH[1:], "save": BOTH[:1]}.get(act, BOTH)
    if act == "leave":
        await first.leave()
        first.hang_up()
    else:
        assert told(await listed(first)) == wanted
    assert told(await listed(other)) == wanted
    later = await stage.start(NEOVIM)
    assert told(await listed(later)) == wanted


@every_editor
async def test_an_undo_that_the_editor_refuses_leaves_the_change_pending(
    editor: Editor, uri: str, pending: list[Json]
) -> None:
    editor.behaviours = [behaviours.refuse]
    done = await editor.request("review.undo", hunks=[pending[0]["id"]])
    assert (done["hunks"], [each["hunk"] for each in done["conflicts"]]) == ([], [pending[0]["id"]])
    assert (editor.desk[uri], told(await listed(editor))) == (EDITED, BOTH)


@every_editor
async def test_an_edit_is_pending_whatever_the_editor_says_of_it(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, timeout_s=0.3)
    uri = editor.desk.open(stage.put("a.txt", FIVE))

    def typed() -> None:
        editor.desk.type(uri, "zero\n", before="one")
        editor.desk.tell()

    editor.behaviours = [Reaction(response=Response.NOTHING, later=typed)] * 2
    await editor.turn(PATCH)
    await editor.until(lambda: "FOUR" in editor.desk[uri])
    assert [each[1:] for each in told(await listed(editor))] == [each[1:] for each in BOTH]
    await editor.request("review.undo", all=True)
    assert editor.desk[uri].replace("zero\n", "") == FIVE


@vscode
async def test_wrong_requests_are_told(editor: Editor, uri: str, pending: list[Json]) -> None:
    for request in ("review.keep", "review.undo"):
        with expect_error(-32602, "hunks, uri or turn"):
            await editor.request(request)
        with expect_error(-32803, "may have been kept, undone or rewritten"):
            await editor.request(request, hunks=["h-yesterday"])
    await editor.request("review.keep", all=True)
    with expect_error(-32803, "No changes are pending"):
        await editor.request("review.next")


@every_editor
async def test_changes_go_with_a_document_that_is_renamed_before_what_was_typed_is_told(
    stage: Stage, editor: Editor, uri: str, pending: list[Json]
) -> None:
    editor.desk.save(uri)
    editor.desk.type(uri, "zero ", before="one")
    new = editor.desk.rename(uri, "new.txt", tells=False)
    assert told(await listed(editor)) == BOTH
    await editor.request("review.undo", all=True)
    assert editor.desk[new] == f"zero {FIVE}"


@every_editor
@pytest.mark.parametrize("rewritten", [FIVE, "six\n"], ids=["taken back", "rewritten"])
@pytest.mark.parametrize("asks", [True, False])
async def test_what_returns_in_a_renamed_document_is_pending_again(
    editor: Editor, uri: str, pending: list[Json], rewritten: str, *, asks: bool
) -> None:
    editor.desk.rewrite(uri, rewritten)
    editor.desk.tell()
    assert await listed(editor) == []
    editor.desk.save(uri)
    new = editor.desk.rename(uri, "new.txt")
    if asks:
        assert await listed(editor) == []
    editor.desk.undo(new)
    editor.desk.tell()
    found = await listed(editor)
    assert (told(found), {each["uri"] for each in found}) == (BOTH, {new})
    await editor.request("review.undo", all=True)
    assert editor.desk[new] == FIVE


@every_editor
@pytest.mark.parametrize("is_dirty", [False, True], ids=["saved", "unsaved"])
async def test_a_document_that_is_removed_while_it_is_open_is_pending(
    stage: Stage, editor: Editor, uri: str, *, is_dirty: bool
) -> None:
    if is_dirty:
        editor.desk.type(uri, "zero\n", before="one")
        editor.desk.tell()
    await editor.turn(v4a("*** Delete File: a.txt"))
    assert [each["kind"] for each in await listed(editor)] == ["deleted"]


@every_editor
async def test_a_document_that_was_made_is_not_pending_once_undone_though_it_is_open(
    stage: Stage, editor: Editor
) -> None:
    await editor.turn(v4a("*** Add File: b.txt", "+one"))
    (hunk,) = await listed(editor)
    editor.desk.open(stage.root / "b.txt")
    assert (await editor.request("review.undo", hunks=[hunk["id"]]))["hunks"] == [hunk["id"]]
    assert await listed(editor) == []
    (stage.root / "b.txt").write_text("one\n")  # as when the user saves what the editor still shows
    assert [each["kind"] for each in await listed(editor)] == ["created"]


@every_editor
async def test_what_was_removed_at_the_end_is_reached_at_the_last_line(
    stage: Stage, editor: Editor, uri: str
) -> None:
    other = editor.desk.open(stage.put("b.txt", FIVE))
    patch = v4a(
        "*** Update File: a.txt", "@@", " four", "-five", "*** Update File: b.txt", "@@", "-two", "+TWO"
    )
    await editor.turn(patch)
    assert "Undo this change (+0 −1)" in await at(editor, uri, 3)
    assert (await editor.request("review.next", uri=uri, line=3))["uri"] == other


@vscode
async def test_another_document_with_the_same_text_does_not_take_changes_over(
    stage: Stage, editor: Editor, uri: str, pending: list[Json]
) -> None:
    copy = editor.desk.open(stage.put("copy.txt", EDITED))
    editor.desk.save(uri)
    assert len(await listed(editor)) == 2
    editor.desk.close(uri)
    (stage.root / "a.txt").unlink()
    assert await listed(editor) == []
    assert await at(editor, copy, 1) == {}


@pytest.mark.any_client
@every_editor
async def test_a_document_that_the_agent_moves_is_one_change_and_moves_back(
    stage: Stage, editor: Editor, uri: str
) -> None:
    turn = v4a("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-two", "+TWO")
    assert set(statuses(await editor.turn(turn))) == {"landed"}
    (hunk,) = await listed(editor)
    new = uri.replace("a.txt", "b.txt")
    assert (hunk["kind"], hunk["uri"], hunk["renamedFrom"]) == ("renamed", new, uri)
    assert (hunk["before"], hunk["after"]) == (FIVE, FIVE.replace("two", "TWO"))
    editor.desk.open(new)
    assert "Undo this change (renamed from a.txt)" in await at(editor, new, 0)
    done = await editor.request("review.undo", hunks=[hunk["id"]])
    assert (done["hunks"], done["conflicts"]) == ([hunk["id"]], [])
    assert {path.name: path.read_text() for path in stage.root.glob("*.txt")} == {"a.txt": FIVE}
    assert await listed(editor) == []


@every_editor
@pytest.mark.parametrize("restores", [True, False], ids=["restored", "undone"])
@pytest.mark.parametrize("opens_first", [True, False], ids=["opened-then-closed", "closed-then-opened"])
async def test_changes_go_with_an_untitled_document_that_is_saved(
    stage: Stage, editor: Editor, opens_first: bool, restores: bool
) -> None:
    """VS Code opens the file first, and closes the document without a file some time after that."""
    path = stage.root / "new.txt"
    untitled = editor.desk.open(f"untitled:{path}", FIVE)
    await editor.request("turn.apply", edits=block(untitled, "two", "TWO"))
    assert [each["uri"] for each in await listed(editor)] == [untitled]
    path.write_text(editor.desk[untitled])
    if opens_first:
        new = editor.desk.open(path)
        assert [each["uri"] for each in await listed(editor)] == [untitled]
        editor.desk.close(untitled)
    else:
        editor.desk.close(untitled)
        new = editor.desk.open(path)
    assert [each["uri"] for each in await listed(editor)] == [new]
    if restores:
        (checkpoint,) = await editor.request("checkpoint.list")
        told = await editor.request("checkpoint.restore", checkpoint=checkpoint["id"])
        assert (told["restored"], told["conflicts"]) == ([new], [])
    else:
        await editor.request("review.undo", uri=new)
    assert editor.desk[new] == FIVE
    assert await listed(editor) == []


@every_editor
async def test_an_untitled_document_that_is_saved_but_not_opened_is_a_conflict(
    stage: Stage, editor: Editor
) -> None:
    path = stage.root / "new.txt"
    untitled = editor.desk.open(f"untitled:{path}", FIVE)
    await editor.request("turn.apply", edits=block(untitled, "two", "TWO"))
    path.write_text(editor.desk[untitled])
    editor.desk.close(untitled)
    (checkpoint,) = await editor.request("checkpoint.list")
    told = await editor.request("checkpoint.restore", checkpoint=checkpoint["id"])
    assert [each["uri"] for each in told["conflicts"]] == [untitled]
    assert "If you saved it under a name, undo the change in that file" in told["conflicts"][0]["reason"]
