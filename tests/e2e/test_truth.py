"""
What is told of an edit is what became of it: whatever the client answers, however late it shows the change,
and whatever the user and a formatter have done to it by then.

Each text is read from the editor's own buffers and the disk, and compared with what the server says.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from e2e.client import Behaviour, Editor, RefusedError
from e2e.conftest import Stage
from e2e.habits import EDITORS, EVERY_EDITOR, LSP_MODE, NEOVIM, VIM, VSCODE, Habits, opt_in
from e2e.prompts import block, fence, statuses, v4a
from handrail.testing import answer, call
from handrail.testing.behaviours import (
    Formatter,
    Reaction,
    Response,
    apply_without_answer,
    expand_tabs,
    half,
    indent,
    refuse,
    strip_blanks,
    wait_for,
)
from handrail.testing.texts import Json

TEXT = "one\ntwo\nthree\nfour\nfive\n"
ROWS = "alpha beta\ngamma delta"
INSERTION = block("a.txt", "three", f"three\n{ROWS}")
INSERTED = TEXT.replace("three\n", f"three\n{ROWS}\n")
PROMPT = block("a.txt", "two", "TWO")
EDITED = TEXT.replace("two", "TWO")
SOON_S = 3.0  # a correction that is not there by then does not come
SHORT_S = 0.4  # a time limit that passes while a test waits for it

every_editor = pytest.mark.parametrize("habits", EVERY_EDITOR, ids=lambda habits: habits.name)


async def started(stage: Stage, habits: Habits, timeout_s: float | None = None, **more: Any) -> Editor:
    """An editor that is told of every event."""
    services = ("save",) if habits.has_extension else ()
    return await stage.start(habits, timeout_s=timeout_s, options=opt_in(*services), **more)


@pytest.fixture
async def editor(stage: Stage, habits: Habits) -> Editor:
    return await started(stage, habits)


@pytest.fixture
def uri(stage: Stage, editor: Editor) -> str:
    return editor.desk.open(stage.put("a.txt", TEXT))


def told(editor: Editor, turn: str) -> list[Json]:
    """Every outcome of a turn that was told so far; a later one replaces an earlier one of the same id."""
    events = [each["event"] for each in editor.updates if each["turn"] == turn]
    return [event for event in events if event["kind"] == "outcome"]


def told_uris(editor: Editor, turn: str) -> list[str]:
    """The documents that the outcomes of a turn name, in the order in which they were told."""
    return [each["uri"] for each in told(editor, turn)]


def latest(editor: Editor, turn: str) -> list[str]:
    """What became of each mutation, as the events have it by now."""
    outcomes = {event["id"]: event for event in told(editor, turn)}
    return statuses({"outcomes": list(outcomes.values())})


async def eventually(ask: Callable[[], Awaitable[Any]], wanted: object) -> None:
    """Ask until the answer is the wanted one."""
    end = asyncio.get_running_loop().time() + SOON_S
    while (found := await ask()) != wanted and asyncio.get_running_loop().time() < end:
        pass
    assert found == wanted


async def corrected(editor: Editor, report: Json, wanted: list[str]) -> None:
    """The events, and the report that is asked for again, say *wanted* soon."""
    await editor.until(lambda: latest(editor, report["turn"]) == wanted, SOON_S)

    async def ask() -> list[str]:
        return statuses(await editor.request("turn.wait", turn=report["turn"]))

    await eventually(ask, wanted)
    assert {each["id"] for each in told(editor, report["turn"])} == {
        each["id"] for each in report["outcomes"]
    }


async def paths(editor: Editor) -> list[list[str]]:
    """The documents of each checkpoint that has any."""
    listed = await editor.request("checkpoint.list")
    return [[each["path"] for each in one["paths"]] for one in listed if one["paths"]]


async def nothing_is_open(editor: Editor, uri: str) -> None:
    await eventually(lambda: editor.request("failure.list"), [])
    await editor.until(lambda: editor.shown_diagnostics(uri) == [], SOON_S)


# ---- An edit stands once --------------------------------------------------------------------------


@every_editor
@pytest.mark.parametrize(
    ("mark", "expected"),
    [("alpha b", "alpha b!eta\ngamma delta"), ("gamma", "alpha beta\ngamma! delta")],
    ids=["first-row", "last-row"],
)
async def test_an_insertion_in_which_the_user_types_before_the_echo_stands_once(
    editor: Editor, uri: str, mark: str, expected: str
) -> None:
    editor.behaviours = [Reaction(after=lambda: editor.desk.type(uri, "!", after=mark))]
    report = await editor.turn(INSERTION)
    assert editor.desk[uri] == INSERTED.replace(ROWS, expected)
    assert len(editor.edits) == 1
    assert statuses(report)[0] in ("landed", "not-as-written", "stale-document")


@every_editor
@pytest.mark.parametrize("is_apart", [False, True], ids=["in-the-same-message", "in-the-next"])
@pytest.mark.parametrize(
    "touched",
    [
        ("alpha  \nbeta", strip_blanks, "alpha\nbeta"),
        ("alpha\n\tbeta", expand_tabs, "alpha\n    beta"),
        ("alpha\nbeta", indent("alpha", "beta"), "    alpha\n    beta"),
    ],
    ids=["trailing-blanks", "tabs", "indentation"],
)
async def test_an_insertion_that_a_formatter_touches_at_once_stands_once_and_has_landed(
    editor: Editor, uri: str, touched: tuple[str, Formatter, str], is_apart: bool
) -> None:
    rows, formats, expected = touched
    editor.behaviours = [Reaction(formats=formats, is_apart=is_apart)]
    report = await editor.turn(block("a.txt", "three", f"three\n{rows}"))
    assert editor.desk[uri] == TEXT.replace("three\n", f"three\n{expected}\n")
    assert len(editor.edits) == 1
    assert statuses(report) == ["landed"]
    assert editor.shown_diagnostics(uri) == []


@every_editor
@pytest.mark.parametrize(
    "response",
    [Response.NULL, Response.NOTHING, Response.FALSE, Response.ERROR],
    ids=lambda response: response.name,
)
async def test_an_insertion_is_not_sent_again_because_of_an_answer(
    stage: Stage, habits: Habits, response: Response
) -> None:
    editor = await started(stage, habits, timeout_s=1.0)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.behaviours = [
        Reaction(response=response, after=lambda: editor.desk.type(uri, "!", after="alpha b"))
    ]
    report = await editor.turn(INSERTION)
    assert editor.desk[uri] == INSERTED.replace("alpha b", "alpha b!")
    assert len(editor.edits) == 1
    assert statuses(report)[0] in ("landed", "not-as-written", "stale-document")


@pytest.mark.parametrize("ends_first", [False, True], ids=["in-the-turn", "after-the-turn"])
@pytest.mark.parametrize("typed", [("one", "zero\n"), ("five", "?")], ids=["typing-above", "typing-below"])
async def test_a_second_copy_that_shows_after_all_is_taken_back_and_told(
    editor: Editor, uri: str, ends_first: bool, typed: tuple[str, str]
) -> None:
    """The client shows a later version without the edit, and makes it after all, on what is there by then."""
    gate = asyncio.Event()
    first = Reaction(
        before=lambda: editor.desk.type(uri, "!", after="one"),
        applies=gate,
        is_forced=True,
        later=lambda: editor.desk.type(uri, typed[1], before=typed[0]),
    )

    async def second(editor: Editor, given: Json) -> Json | None:
        answered = await editor.obey(given)
        if not ends_first:
            gate.set()
        return answered

    async def refused_first(editor: Editor, given: Json) -> Json | None:
        answered = await first(editor, given)
        editor.desk.tell(loudly=True)
        return answered

    editor.behaviours = [refused_first, second]
    report = await editor.turn(INSERTION)
    assert statuses(report) == ["landed"]
    gate.set()

    def notes() -> list[str]:
        return [note for event in told(editor, report["turn"]) for note in event.get("notes", ())]

    def seen(text: str) -> str:
        return text.replace("one", "one!").replace(typed[0], typed[1] + typed[0])

    wanted = seen(INSERTED)
    await editor.until(lambda: len(editor.edits) > 2 and editor.desk[uri] == wanted, SOON_S)
    await editor.until(lambda: any("twice" in note for note in notes()), SOON_S)
    restored = await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert restored["conflicts"] == []
    assert editor.desk[uri] == seen(TEXT)


@pytest.mark.parametrize("typed", ["above", "in-the-copy"])
async def test_typing_while_a_second_copy_waits_to_be_taken_back_is_kept(
    stage: Stage, editor: Editor, uri: str, typed: str
) -> None:
    """
    The editor is busy with another document when the copy shows.

    By then all lines have moved; or the copy cannot be taken back without the user's text, which is said.
    """
    editor.desk.open(stage.put("b.txt", TEXT))
    shows, has_typed, answers = asyncio.Event(), asyncio.Event(), asyncio.Event()
    place = {"before": "one!"} if typed == "above" else {"instead": "delta\nfour"}
    mine = "as long as both rows of the copy\n" if typed == "above" else "delta, mine\nfour"

    def types() -> None:
        editor.desk.type(uri, mine, **place)
        has_typed.set()

    first = Reaction(
        before=lambda: editor.desk.type(uri, "!", after="one"), applies=shows, is_forced=True, later=types
    )

    async def unseen(editor: Editor, given: Json) -> Json | None:
        answered = await first(editor, given)
        editor.desk.tell(loudly=True)
        return answered

    editor.behaviours = [unseen, Editor.obey, wait_for(answers)]
    started = await editor.start_turn(INSERTION + block("b.txt", "two", "TWO"))
    await editor.until(lambda: len(editor.edits) == 3)
    shows.set()
    await has_typed.wait()
    editor.desk.tell(loudly=True)
    answers.set()
    report = await editor.request("turn.wait", turn=started["turn"])
    assert statuses(report) == ["landed", "landed"]

    def notes() -> list[str]:
        return [note for event in told(editor, report["turn"]) for note in event.get("notes", ())]

    await editor.until(lambda: any("twice" in note for note in notes()), SOON_S)
    assert any("could not be removed" in note for note in notes()) is (typed == "in-the-copy")
    if typed == "above":
        assert editor.desk[uri] == INSERTED.replace("one", f"{mine}one!")
    else:
        assert mine in editor.desk[uri]
        assert editor.desk[uri].count("alpha beta") == 2


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_an_insertion_is_never_sent_twice_to_a_client_without_versions(
    editor: Editor, uri: str
) -> None:
    """What it holds afterwards proves nothing of when it was applied."""
    gate = asyncio.Event()
    editor.behaviours = [
        Reaction(
            applies=gate, before=lambda: editor.desk.type(uri, "0\n", before="one"), response=Response.TRUE
        )
    ]
    turn = await editor.start_turn(block("a.txt", "five", f"five\n{ROWS}"))
    await editor.until(lambda: editor.edits)
    editor.desk.tell()
    await editor.request("failure.list")  # by the time of the answer the server has heard it
    gate.set()
    await editor.request("turn.wait", turn=turn["turn"])
    assert len(editor.edits) == 1
    assert editor.desk[uri].count("alpha beta") == 1


async def test_typing_at_the_end_of_a_new_row_before_the_echo_leaves_it_landed(
    editor: Editor, uri: str
) -> None:
    editor.behaviours = [Reaction(after=lambda: editor.desk.type(uri, ", mine", after="alpha beta"))]
    report = await editor.turn(INSERTION)
    assert editor.desk[uri] == INSERTED.replace("beta\n", "beta, mine\n")
    assert statuses(report) == ["landed"]
    assert len(editor.edits) == 1
    assert editor.shown_diagnostics(uri) == []


async def test_typing_at_the_beginning_of_a_new_row_before_the_echo_leaves_it_landed(
    editor: Editor, uri: str
) -> None:
    editor.behaviours = [Reaction(after=lambda: editor.desk.type(uri, "mine: ", before="gamma"))]
    report = await editor.turn(INSERTION)
    assert editor.desk[uri] == INSERTED.replace("gamma", "mine: gamma")
    assert statuses(report) == ["landed"]
    assert len(editor.edits) == 1


# ---- What a client has not applied --------------------------------------------------------------------


@every_editor
@pytest.mark.parametrize(
    ("before", "sections"),
    [
        (
            "one\n\nif x:\n    a()\nb()\nc()\n",
            ["@@", "-one", "+ONE", "@@", "     a()", "-b()", "+    b()", " c()"],
        ),
        ("  a b0\n1\n    c\n", ["@@", "-  a b0", "+      a b0", "@@", "-1", "@@", "+INS2", "     c"]),
        (
            "  run();\n}\n  stop();\nend();\n",
            ["@@", "-  run();", "+    run();", "@@", "-}", "@@", "+x", "   stop();"],
        ),
        ("one\ntwo\n\nthree\n", ["@@", "-one", "+ONE", "@@", " two", "-", " three"]),
        ("one\ntwo\nthree\n", ["@@", "-one", "+ONE", "@@", " two", "+", " three"]),
    ],
    ids=["indentation", "removal", "brace", "blank-line-removed", "blank-line-added"],
)
async def test_hunks_that_a_client_did_not_apply_are_not_told_as_landed(
    stage: Stage, habits: Habits, before: str, sections: list[str]
) -> None:
    """It applies the first only; that one is then taken back, or told as the only one that landed."""
    editor = await started(stage, habits)
    uri = editor.desk.open(stage.put("a.txt", before))
    editor.behaviours = [Reaction(only=1)]
    report = await editor.turn(v4a("*** Update File: a.txt", *sections))
    assert "landed" not in statuses(report)[1:]
    assert ("landed" in statuses(report)) == (editor.desk[uri] != before)


# ---- What a formatter does ------------------------------------------------------------------------


async def test_new_rows_that_a_formatter_indents_have_landed_and_it_is_said(editor: Editor, uri: str) -> None:
    editor.behaviours = [Reaction(formats=indent(*ROWS.split("\n")))]
    report = await editor.turn(INSERTION)
    assert statuses(report) == ["landed"]
    events = [each["event"] for each in editor.updates if each["event"]["kind"] != "started"]
    said = json.dumps([*events, report["outcomes"]])
    assert re.search(r"blanks|indent|white ?space|format", said), "that it differs from what was sent"


async def test_an_edit_is_not_taken_back_because_a_formatter_indents_another(
    stage: Stage, habits: Habits
) -> None:
    files = (
        "*** Update File: a.txt\n three\n+alpha beta\n+gamma delta\n*** Update File: b.txt\n one\n-two\n+2\n"
    )
    edits = call("patch", mode="v4a", patch=f"*** Begin Patch\n{files}*** End Patch\n")
    editor = await started(stage, habits, settings=stage.script(answer("", edits), answer("Done.")))
    first, second = (editor.desk.open(stage.put(name, TEXT)) for name in ("a.txt", "b.txt"))
    editor.behaviours = [Reaction(formats=indent(*ROWS.split("\n")))]
    report = await editor.turn("Edit both.")
    assert statuses(report) == ["landed", "landed"]
    assert editor.desk[first] == INSERTED.replace("alpha", "    alpha").replace("gamma", "    gamma")
    assert editor.desk[second] == TEXT.replace("two", "2")


# ---- One file under two URIs ----------------------------------------------------------------------


def opened_twice(stage: Stage, editor: Editor) -> tuple[str, str]:
    """One file, open under its own name and that of a link to it."""
    path = stage.put("a.txt", TEXT)
    link = stage.root / "link.txt"
    link.symlink_to(path)
    return editor.desk.open(path), editor.desk.open(link)


@every_editor
async def test_an_edit_goes_to_each_buffer_of_a_file(stage: Stage, editor: Editor) -> None:
    uris = opened_twice(stage, editor)
    report = await editor.turn(PROMPT)
    assert [editor.desk[uri] for uri in uris] == [EDITED, EDITED]
    assert statuses(report) == ["landed"]


@every_editor
@pytest.mark.parametrize("typed_in", [0, 1], ids=["the-first", "the-second"])
@pytest.mark.parametrize("is_saved", [False, True], ids=["unsaved", "saved"])
async def test_an_edit_of_a_file_whose_buffers_differ_is_refused(
    stage: Stage, editor: Editor, typed_in: int, is_saved: bool
) -> None:
    uris = opened_twice(stage, editor)
    await editor.request("approval.list")  # both are known to be as their file before it changes
    editor.desk.type(uris[typed_in], "zero\nhalf\n", before="one")
    editor.desk.tell()
    if is_saved:
        editor.desk.save(uris[typed_in])
    held = [editor.desk[uri] for uri in uris]
    report = await editor.turn(PROMPT)
    assert [editor.desk[uri] for uri in uris] == held
    (outcome,) = report["outcomes"]
    assert outcome["status"] == "failed"
    assert "link.txt" in outcome["failure"]["message"], "the reason names the other buffer"


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
@pytest.mark.parametrize("response", list(Response), ids=lambda response: response.name)
async def test_a_closed_document_that_another_process_writes_meanwhile(
    stage: Stage, habits: Habits, response: Response
) -> None:
    """The edit goes through the editor, which reads the file only then: both changes stand."""
    settings = {"edits": {"closedDocuments": "editor"}}
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=settings)
    path = stage.put("a.txt", TEXT)
    theirs = TEXT.replace("five", "FIVE")
    editor.behaviours = [Reaction(before=lambda: path.write_text(theirs), response=response)]
    report = await editor.turn(PROMPT)
    await corrected(editor, report, ["landed"])
    restored = await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert restored["conflicts"] == []
    assert editor.desk[path.as_uri()] == theirs


@pytest.mark.parametrize("number", [0, 1], ids=["the-first", "the-second"])
async def test_an_edit_that_one_buffer_of_a_file_shows_late_is_in_both_at_the_end(
    stage: Stage, habits: Habits, number: int
) -> None:
    """Until then it is in neither, as far as that can be: the two buffers of a file do not drift apart."""
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uris = opened_twice(stage, editor)
    gate = asyncio.Event()
    editor.behaviours = [*[Editor.obey] * number, Reaction(response=Response.NULL, tells=gate)]
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["edit-rejected"]
    gate.set()
    await corrected(editor, report, ["landed"])
    assert [editor.desk[uri] for uri in uris] == [EDITED, EDITED]
    await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert [editor.desk[uri] for uri in uris] == [TEXT, TEXT]


@pytest.mark.parametrize("client", ["single"], indirect=True)
@every_editor
async def test_edits_that_one_buffer_shows_late_one_by_one_are_in_both_at_the_end(
    stage: Stage, habits: Habits
) -> None:
    """The second is told of while the first is made in the other buffer."""
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n@@\n-four\n+FOUR\n*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=script)
    uris = opened_twice(stage, editor)
    gate = asyncio.Event()
    editor.behaviours = [Reaction(applies=gate)]
    report = await editor.turn("Do it.")
    assert "landed" not in statuses(report)
    gate.set()
    await corrected(editor, report, ["landed", "landed"])
    assert [editor.desk[uri] for uri in uris] == [EDITED.replace("four", "FOUR")] * 2


@pytest.mark.parametrize("client", ["single"], indirect=True)
@every_editor
async def test_what_the_user_removes_of_edits_that_show_late_stays_removed(
    stage: Stage, habits: Habits
) -> None:
    """The edits are made in the other buffer of the file; in the first they have been."""
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n two\n+new here\n@@\n four\n+more\n*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=script)
    own, other = opened_twice(stage, editor)
    gate = asyncio.Event()
    later = lambda: editor.desk.type(own, "", instead="new here")  # noqa: E731
    editor.behaviours = [Reaction(tells=gate, after=later, response=Response.NULL)]
    report = await editor.turn("Do it.")
    assert "landed" not in statuses(report)
    gate.set()
    await corrected(editor, report, ["landed", "landed"])
    made = TEXT.replace("two", "two\nnew here").replace("four", "four\nmore")
    assert [editor.desk[own], editor.desk[other]] == [made.replace("new here", ""), made]


@pytest.mark.parametrize("is_typed_first", [False, True], ids=["overwritten", "in-conflict"])
@pytest.mark.parametrize("habits", EDITORS, ids=lambda habits: habits.name)
async def test_what_fits_of_an_edit_is_in_both_buffers_though_the_second_shows_it_late(
    stage: Stage, habits: Habits, is_typed_first: bool
) -> None:
    """The user changes the first hunk in the first buffer, so that only the second hunk lands."""
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n@@\n-four\n+FOUR\n*** End Patch\n"
    partial = call("patch", mode="v4a", patch=patch, partial=True)
    script = stage.script(answer("", partial), answer("Done."))
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=script)
    own, other = opened_twice(stage, editor)
    gate = asyncio.Event()
    if is_typed_first:
        first = [Reaction(before=lambda: editor.desk.type(own, "2", after="two")), Editor.obey]
    else:
        first = [Reaction(after=lambda: editor.desk.type(own, "", instead="TWO\n"))]
    editor.behaviours = [*first, Reaction(applies=gate)]
    report = await editor.turn("Do it.")
    assert "landed" not in statuses(report)
    assert "FOUR" not in editor.desk[own], "until the other buffer shows it"
    gate.set()
    await corrected(editor, report, ["stale-document", "landed"])
    assert "FOUR" in editor.desk[own]
    assert editor.desk[other] == TEXT.replace("four", "FOUR")


@pytest.mark.parametrize("is_twice", [False, True], ids=["one-buffer", "two-buffers"])
@every_editor
async def test_half_an_edit_that_a_formatter_has_touched_is_taken_back(
    stage: Stage, habits: Habits, is_twice: bool
) -> None:
    """The user has changed the other half, so that the call is made in no buffer of the file."""
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n@@\n four\n+new  \n*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, settings=script)
    uris = opened_twice(stage, editor) if is_twice else (editor.desk.open(stage.put("a.txt", TEXT)),)
    editor.behaviours = [
        Reaction(after=lambda: editor.desk.type(uris[0], "", instead="TWO\n"), formats=strip_blanks)
    ]
    report = await editor.turn("Do it.")
    assert "landed" not in statuses(report)
    assert [editor.desk[uri] for uri in uris] == [TEXT.replace("two\n", "")] + [TEXT] * is_twice


@pytest.mark.parametrize("is_typed", [False, True], ids=["undone", "typed-in"])
@every_editor
async def test_a_call_that_fails_is_taken_back_in_both_buffers_though_the_user_has_changed_one(
    stage: Stage, habits: Habits, is_typed: bool
) -> None:
    """Each buffer is taken back by what it holds."""
    parts = [f"*** Update File: {name}.txt\n@@\n-two\n+TWO\n" for name in "ab"]
    patch = f"*** Begin Patch\n{''.join(parts)}*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, settings=script)
    own, other = opened_twice(stage, editor)
    editor.desk.open(stage.put("b.txt", TEXT))

    def change() -> None:
        if is_typed:
            editor.desk.type(own, "zero\n", before="one")
        else:
            editor.desk.undo(own)
        editor.desk.tell()

    editor.behaviours = [Reaction(), Reaction(later=change), refuse]
    report = await editor.turn("Do it.")
    assert statuses(report) == ["bad-patch", "edit-rejected"]
    assert [editor.desk[own], editor.desk[other]] == ["zero\n" * is_typed + TEXT, TEXT]


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
@pytest.mark.parametrize("number", [0, 1], ids=["in-the-first", "in-the-second"])
async def test_a_call_stays_in_both_buffers_that_differ_until_both_can_be_taken_back(
    stage: Stage, habits: Habits, number: int
) -> None:
    """The way back shows after the turn in one of them; until then the edit stands in both, as is told."""
    patch = f"*** Begin Patch\n{''.join(PART.format(name) for name in 'ab')}*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=script)
    own, other = opened_twice(stage, editor)
    editor.desk.open(stage.put("b.txt", TEXT))

    def typed() -> None:
        editor.desk.type(own, "zero\n", before="one")
        editor.desk.tell()

    late = asyncio.Event()
    ways = [*[Reaction()] * number, Reaction(applies=late)]
    editor.behaviours = [Reaction(), Reaction(later=typed), refuse, *ways]
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed", "edit-rejected"]
    assert [editor.desk[own], editor.desk[other]] == ["zero\n" + EDITED, EDITED]
    late.set()
    await corrected(editor, report, ["bad-patch", "edit-rejected"])
    assert [editor.desk[own], editor.desk[other]] == ["zero\n" + TEXT, TEXT]


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_of_buffers_that_differ_both_keep_a_hunk_that_was_typed_into_in_the_second(
    stage: Stage, habits: Habits
) -> None:
    patch = f"*** Begin Patch\n{TWO_HUNKS}{PART.format('b')}*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, settings=script)
    own, other = opened_twice(stage, editor)
    editor.desk.open(stage.put("b.txt", TEXT))

    def typed() -> None:
        editor.desk.type(own, "zero\n", before="one")
        editor.desk.type(other, "typed", after="TW")
        editor.desk.tell()

    editor.behaviours = [Reaction(), Reaction(later=typed), refuse]
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed", "bad-patch", "edit-rejected"]
    assert editor.desk[own] == "zero\n" + EDITED
    assert editor.desk[other] == TEXT.replace("two", "TWtypedO")


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_of_buffers_that_differ_both_keep_the_hunk_that_the_second_does_not_take_back(
    stage: Stage, habits: Habits
) -> None:
    patch = f"*** Begin Patch\n{TWO_HUNKS}{PART.format('b')}*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, settings=script)
    own, other = opened_twice(stage, editor)
    editor.desk.open(stage.put("b.txt", TEXT))

    def typed() -> None:
        editor.desk.type(own, "zero\n", before="one")
        editor.desk.tell()

    editor.behaviours = [Reaction(), Reaction(later=typed), refuse, Reaction(), Reaction(only=1)]
    report = await editor.turn("Do it.")
    texts = [editor.desk[own], editor.desk[other]]
    assert statuses(report) in (
        ["landed", "bad-patch", "edit-rejected"],
        ["bad-patch", "landed", "edit-rejected"],
    )
    told = [outcome["status"] == "landed" for outcome in report["outcomes"][:2]]
    assert [[new in text for new in ("TWO", "FOUR")] for text in texts] == [told, told]


PART = "*** Update File: {}.txt\n@@\n-two\n+TWO\n"


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
@pytest.mark.parametrize("first", ["the-edit", "the-way-back"])
async def test_a_way_back_that_one_buffer_shows_late_is_made_in_the_other(
    stage: Stage, habits: Habits, first: str
) -> None:
    """Both come after the turn: the edit in the second buffer, and the way back in the first."""
    editor = await started(stage, habits, timeout_s=SHORT_S)
    own, other = opened_twice(stage, editor)
    edit, back = asyncio.Event(), asyncio.Event()
    editor.behaviours = [Reaction(), Reaction(applies=edit), Reaction(applies=back)]
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["not-as-written"]
    assert [editor.desk[own], editor.desk[other]] == [EDITED, TEXT]
    if first == "the-edit":
        edit.set()
        await corrected(editor, report, ["landed"])
        back.set()
        await corrected(editor, report, ["not-as-written"])
        assert [editor.desk[own], editor.desk[other]] == [TEXT, TEXT]
    else:
        back.set()
        await editor.until(lambda: editor.desk[own] == TEXT)
        edit.set()
        await corrected(editor, report, ["landed"])
        assert [editor.desk[own], editor.desk[other]] == [EDITED, EDITED]


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_a_way_back_that_shows_late_leaves_what_was_typed_into_in_the_other(
    stage: Stage, habits: Habits
) -> None:
    editor = await started(stage, habits, timeout_s=SHORT_S)
    own, other = opened_twice(stage, editor)
    edit, back = asyncio.Event(), asyncio.Event()
    editor.behaviours = [Reaction(), Reaction(applies=edit), Reaction(applies=back)]
    report = await editor.turn(PROMPT)
    edit.set()
    await corrected(editor, report, ["landed"])
    editor.desk.type(other, "typed", after="TW")
    editor.desk.tell()
    back.set()

    async def shown() -> str:
        await editor.request("failure.list")  # whatever was told has been dealt with
        return editor.desk[own]

    await eventually(shown, TEXT)
    assert editor.desk[other] == EDITED.replace("TWO", "TWtypedO")
    await corrected(editor, report, ["landed"])


@pytest.mark.parametrize(
    ("habits", "response"),
    [(NEOVIM, Response.TRUE), (VSCODE, Response.TRUE), (VSCODE, Response.NOTHING)],
    ids=["not-saved", "formatted", "not-answered"],
)
async def test_a_file_that_was_made_otherwise_than_asked_for_is_taken_back(
    stage: Stage, habits: Habits, response: Response
) -> None:
    settings = {"edits": {"closedDocuments": "editor"}}
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=settings)
    path = stage.root / "made.txt"

    def saved(uris: list[str]) -> Json:
        for uri in uris:
            editor.desk.rewrite(uri, "# made\n")
            editor.desk.save(uri)
        return {"saved": uris}

    if habits is VSCODE:
        editor.saving = saved
        editor.behaviours = [Reaction(response=response)]
    report = await editor.turn(fence("made.txt", "made \n"))
    assert path.exists()
    restored = await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert restored["conflicts"] == []
    assert not path.exists()


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_an_edit_that_shows_late_in_one_buffer_is_not_made_again_where_it_was_changed(
    stage: Stage, habits: Habits
) -> None:
    """The first buffer has refused to take it back, and then the user has rewritten one of the new rows."""
    editor = await started(stage, habits, timeout_s=SHORT_S)
    own, other = opened_twice(stage, editor)
    late = asyncio.Event()
    editor.behaviours = [Reaction(), Reaction(applies=late), refuse]
    report = await editor.turn(block("a.txt", "two", "two\nnew 1\nnew 2"))
    editor.desk.type(own, "mine", instead="new 1")
    editor.desk.tell()
    late.set()
    await corrected(editor, report, ["landed"])
    assert editor.desk[own].count("new 2") == 1
    assert "mine" in editor.desk[own]
    assert editor.desk[other] == TEXT.replace("two\n", "two\nnew 1\nnew 2\n")


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
async def test_a_document_that_is_renamed_while_half_a_call_is_taken_back(
    stage: Stage, habits: Habits
) -> None:
    """What is left of the edits is looked for under the new name: one was typed into at the same time."""
    patch = f"*** Begin Patch\n{TWO_HUNKS}*** Update File: b.txt\n@@\n-two\n+TWO\n*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=script)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.desk.open(stage.put("b.txt", TEXT))
    names = list[str]()

    def typed() -> None:
        editor.desk.type(uri, "typed", after="FOU")
        editor.desk.tell()

    def renamed() -> None:
        names.append(editor.desk.rename(uri, "new.txt"))

    editor.behaviours = [Reaction(), refuse, Reaction(before=typed), Reaction(later=renamed)]
    report = await editor.turn("Do it.")
    await corrected(editor, report, ["bad-patch", "landed", "edit-rejected"])
    assert editor.desk[names[0]] == TEXT.replace("four", "FOUtypedR")


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_what_a_blind_edit_has_overwritten_is_told_though_its_call_is_taken_back(
    stage: Stage, habits: Habits
) -> None:
    patch = f"*** Begin Patch\n{TWO_HUNKS}*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, settings=script)
    uri = editor.desk.open(stage.put("a.txt", TEXT))

    def typed() -> None:
        editor.desk.type(uri, "typed", after="tw")
        editor.desk.tell()

    editor.behaviours = [
        Reaction(before=typed, after=lambda: editor.desk.type(uri, "more ", before="FOUR")),
        refuse,
    ]
    report = await editor.turn("Do it.")
    first, _ = report["outcomes"]
    assert first["failure"]["code"] == "stale-document"
    assert "twtyped" in first["failure"]["message"]


TWO_HUNKS = "*** Update File: a.txt\n@@\n-two\n+TWO\n@@\n-four\n+FOUR\n"


@every_editor
@pytest.mark.parametrize("is_twice", [False, True], ids=["one-buffer", "two-buffers"])
async def test_of_a_call_that_is_taken_back_only_what_was_typed_into_stays(
    stage: Stage, habits: Habits, is_twice: bool
) -> None:
    patch = f"*** Begin Patch\n{TWO_HUNKS}*** Update File: b.txt\n@@\n-two\n+TWO\n*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, settings=script)
    uris = opened_twice(stage, editor) if is_twice else (editor.desk.open(stage.put("a.txt", TEXT)),)
    editor.desk.open(stage.put("b.txt", TEXT))

    def typed() -> None:
        for uri in uris:
            editor.desk.type(uri, "typed", after="TW")
        editor.desk.tell()

    obeyed = [Reaction() for _ in uris[1:]]
    editor.behaviours = [*obeyed, Reaction(later=typed), refuse]
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed", "bad-patch", "edit-rejected"]
    assert [editor.desk[uri] for uri in uris] == [TEXT.replace("two", "TWtypedO")] * len(uris)


@pytest.mark.parametrize("client", ["single"], indirect=True)
@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_what_shows_of_a_call_while_it_is_taken_back_goes_as_well(stage: Stage, habits: Habits) -> None:
    """The second of two hunks shows when the way back of the first has been sent."""
    patch = f"*** Begin Patch\n{TWO_HUNKS}*** Update File: b.txt\n@@\n-two\n+TWO\n*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=script)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.desk.open(stage.put("b.txt", TEXT))

    def shows() -> None:
        editor.desk.type(uri, "FOUR", instead="four")

    editor.behaviours = [Reaction(only=1), refuse, Reaction(before=shows)]
    report = await editor.turn("Do it.")
    assert "landed" not in statuses(report)
    await editor.until(lambda: editor.desk[uri] == TEXT)


@every_editor
async def test_closing_one_buffer_of_a_file_leaves_the_other_as_it_is(stage: Stage, editor: Editor) -> None:
    own, other = opened_twice(stage, editor)
    editor.desk.type(own, "zero\n", before="one")
    editor.desk.tell()
    editor.desk.close(other)
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["landed"]
    assert editor.desk[own] == "zero\n" + EDITED
    assert (stage.root / "a.txt").read_text() == TEXT, "under a buffer that is not saved"


# ---- Clients without versions ---------------------------------------------------------------------


@pytest.mark.parametrize("client", ["text"], indirect=True)
@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_typing_above_and_inside_a_blind_edit_is_not_told_as_overwritten(
    editor: Editor, uri: str
) -> None:
    """It moves no line that the edit names, so nothing can have been made over it."""

    def typed() -> None:
        editor.desk.type(uri, " typed", after="one")
        editor.desk.tell()

    editor.behaviours = [
        Reaction(
            before=typed,
            after=lambda: editor.desk.type(uri, " too", after="TWO"),
            response=Response.ERROR,
        )
    ]
    report = await editor.turn(PROMPT)
    await corrected(editor, report, ["landed"])
    assert editor.desk[uri] == EDITED.replace("one", "one typed").replace("TWO", "TWO too")


@pytest.mark.parametrize("habits", [VIM, LSP_MODE], ids=["vim", "lsp-mode"])
async def test_typing_that_an_edit_overwrites_is_told_with_both_texts(editor: Editor, uri: str) -> None:
    """It cannot be prevented: the edit names no version that counts, and the client applies it."""
    editor.behaviours = [Reaction(before=lambda: editor.desk.type(uri, "k17", after="th"))]
    report = await editor.turn(block("a.txt", "three", "SIX"))
    assert "k17" not in editor.desk[uri], "as such clients do"
    assert statuses(report) == ["stale-document"]
    (outcome,) = report["outcomes"]
    assert "k17" in outcome["failure"]["message"]
    assert "SIX" in outcome["failure"]["message"]


@pytest.mark.parametrize("ends_first", [False, True], ids=["in-the-turn", "after-the-turn"])
@pytest.mark.parametrize("number", [0, 1], ids=["in-the-first", "in-the-second"])
@pytest.mark.parametrize("client", ["plain", "single"], indirect=True)
@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_typing_that_an_edit_overwrites_late_is_told(
    stage: Stage, habits: Habits, ends_first: bool, number: int
) -> None:
    """The other edit of the call overwrites nothing, and has landed."""
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    gate = asyncio.Event()
    editor.behaviours = [
        Reaction(
            before=lambda: editor.desk.type(uri, "k17", after=("th", "fi")[number]),
            tells=gate,
            response=Response.NOTHING,
        )
    ]
    turn = await editor.start_turn(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-three\n+SIX\n@@\n-five\n+FIVE\n*** End Patch\n"
    )
    if ends_first:
        await editor.request("turn.wait", turn=turn["turn"])
    else:
        await editor.until(lambda: editor.edits)
    gate.set()
    wanted = (["stale-document", "landed"], ["landed", "stale-document"])[number]
    await editor.until(lambda: latest(editor, turn["turn"]) == wanted, SOON_S)
    assert "k17" not in editor.desk[uri], "as such clients do"

    async def said() -> tuple[list[str], bool]:
        """Of hunks that show one by one, the first is told of before the second has overwritten anything."""
        report = await editor.request("turn.wait", turn=turn["turn"])
        return statuses(report), "k17" in str(report["outcomes"][number].get("failure"))

    await eventually(said, (wanted, True))
    assert [each["code"] for each in editor.shown_diagnostics(uri)] == ["stale-document"]


@pytest.mark.parametrize("after", ["one", "three"])
@pytest.mark.parametrize("client", ["plain", "single"], indirect=True)
@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_edits_that_show_late_beside_typing_that_they_leave_alone_have_landed(
    stage: Stage, habits: Habits, after: str
) -> None:
    """While only one of them shows, it looks as if the other had overwritten something."""
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    gate = asyncio.Event()
    editor.behaviours = [
        Reaction(
            before=lambda: editor.desk.type(uri, "k17", after=after), tells=gate, response=Response.NOTHING
        )
    ]
    report = await editor.turn(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n@@\n-four\n*** End Patch\n"
    )
    assert "landed" not in statuses(report)
    gate.set()
    await corrected(editor, report, ["landed", "landed"])
    assert editor.desk[uri] == TEXT.replace("two\n", "").replace("four\n", "").replace(after, f"{after}k17")


@pytest.mark.parametrize("ends_first", [False, True], ids=["in-the-turn", "after-the-turn"])
@pytest.mark.parametrize("client", ["single"], indirect=True)
@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_of_edits_beside_typing_the_second_shows_long_after_the_first(
    stage: Stage, habits: Habits, ends_first: bool
) -> None:
    """With only the first, it looks as if the second had overwritten something."""
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    gate = asyncio.Event()

    async def rest(pending: list[Json]) -> None:
        await gate.wait()
        editor.desk.documents[uri].pending = pending
        editor.desk.tell()

    async def halves(editor: Editor, given: Json) -> Json | None:
        editor.desk.type(uri, "k17 ", before="one")
        editor.desk.apply(given)
        document = editor.desk.documents[uri]
        document.pending, pending = document.pending[:2], document.pending[2:]
        assert pending
        editor.desk.tell()
        editor.run_in_background(rest(pending))
        raise RefusedError(message="something went wrong", code=-32603)

    editor.behaviours = [halves]
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n@@\n-four\n*** End Patch\n"
    turn = await editor.start_turn(patch)
    if ends_first:
        await editor.request("turn.wait", turn=turn["turn"])
    else:
        await editor.until(lambda: editor.edits)
    gate.set()
    report = await editor.request("turn.wait", turn=turn["turn"])
    await corrected(editor, report, ["landed", "landed"])
    assert editor.desk[uri] == "k17 one\nthree\nfive\n"


@pytest.mark.parametrize("is_late", [False, True], ids=["in-time", "late"])
@pytest.mark.parametrize("client", ["single"], indirect=True)
@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_of_edits_that_show_one_by_one_the_first_has_not_overwritten_what_the_second_will(
    stage: Stage, habits: Habits, is_late: bool
) -> None:
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    desk, first, second = editor.desk, asyncio.Event(), asyncio.Event()

    async def show(parts: list[list[Json]]) -> None:
        for gate, part in zip((first, second), parts, strict=True):
            await gate.wait()
            desk.documents[uri].pending = part
            desk.tell()

    async def one_by_one(editor: Editor, given: Json) -> Json | None:
        desk.type(uri, "k17", after="th")
        desk.tell()
        desk.apply(given)
        pending, desk.documents[uri].pending = desk.documents[uri].pending, []
        lower, upper = pending
        editor.run_in_background(show([[lower], [upper]]))
        if not is_late:
            first.set()
        raise RefusedError(message="something went wrong", code=-32603)

    editor.behaviours = [one_by_one]
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-three\n+SIX\n@@\n-five\n+FIVE\n*** End Patch\n"
    turn = (await editor.turn(patch))["turn"]

    async def said() -> tuple[list[bool], list[bool]]:
        """Which of the hunks have landed; and what is named in why the first has not."""
        failed, landed = (await editor.request("turn.wait", turn=turn))["outcomes"]
        words = [word in failed["failure"]["message"] for word in ("k17", "SIX", "FIVE")]
        return [each["status"] == "landed" for each in (failed, landed)], words

    first.set()
    await eventually(said, ([False, True], [True, False, False]))
    second.set()
    await eventually(said, ([False, True], [True, True, True]))


@pytest.mark.parametrize("is_late", [False, True], ids=["in-time", "late"])
@pytest.mark.parametrize("client", ["plain", "single"], indirect=True)
@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_an_edit_that_hits_the_next_line_as_its_own_is_deleted_is_told(
    stage: Stage, habits: Habits, is_late: bool
) -> None:
    """It reads as if the user had deleted that one, and the edit stood where it belongs."""
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    gate = asyncio.Event()
    editor.behaviours = [
        Reaction(
            before=lambda: editor.desk.type(uri, "", instead="three\n"),
            tells=gate if is_late else None,
            response=Response.NOTHING if is_late else Response.TRUE,
        )
    ]
    report = await editor.turn(block("a.txt", "three", "SIX"))
    gate.set()
    await corrected(editor, report, ["stale-document"])
    assert editor.desk[uri] == "one\ntwo\nSIX\nfive\n", "as such clients do"
    report = await editor.request("turn.wait", turn=report["turn"])
    assert "four" in report["outcomes"][0]["failure"]["message"]


@pytest.mark.parametrize("is_undone", [False, True], ids=["stands", "undone"])
@every_editor
async def test_an_edit_that_shows_long_before_its_outcome_is_told_is_told_as_it_is_then(
    stage: Stage, habits: Habits, is_undone: bool
) -> None:
    """It shows after it was given up; then others of the call are taken back, for longer than is waited."""
    parts = [f"*** Update File: {name}.txt\n@@\n-two\n+TWO\n" for name in "abcd"]
    patch = f"*** Begin Patch\n{''.join(parts)}*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=script)
    uri, *_ = (editor.desk.open(stage.put(f"{name}.txt", TEXT)) for name in "abcd")
    gate = asyncio.Event()
    shown = (lambda: editor.desk.undo(uri)) if is_undone else (lambda: None)

    async def take_back(editor: Editor, given: Json) -> Json | None:
        gate.set()
        return await apply_without_answer(editor, given)

    edits: list[Behaviour] = [Reaction(tells=gate, later=shown, response=Response.NOTHING), *[Reaction()] * 3]
    editor.behaviours = [*edits, *[take_back] * 3]
    report = await editor.turn("Do it.")
    undone = "edit-rejected" if is_undone else "landed"
    await corrected(editor, report, [undone, *["bad-patch"] * 3])
    assert (editor.desk[uri] == TEXT) == is_undone


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_typing_that_an_edit_overwrites_while_the_call_is_taken_back_is_told(
    stage: Stage, habits: Habits
) -> None:
    """It shows after the edit was given up and before its outcome is told: another is taken back between."""
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-three\n+SIX\n*** Update File: b.txt\n@@\n-two\n+TWO\n"
    )
    script = stage.script(
        answer("", call("patch", mode="v4a", patch=patch + "*** End Patch\n")), answer("Done.")
    )
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=script)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.desk.open(stage.put("b.txt", TEXT))
    gate, shown = asyncio.Event(), asyncio.Event()

    async def take_back(editor: Editor, given: Json) -> Json | None:
        gate.set()
        await shown.wait()
        return await editor.obey(given)

    editor.behaviours = [
        Reaction(
            before=lambda: editor.desk.type(uri, "k17", after="th"),
            tells=gate,
            later=shown.set,
            response=Response.NOTHING,
        ),
        Reaction(),
        take_back,
    ]
    report = await editor.turn("Do it.")
    await editor.until(lambda: latest(editor, report["turn"]) == ["stale-document", "bad-patch"], SOON_S)
    assert "k17" not in editor.desk[uri], "as such clients do"
    report = await editor.request("turn.wait", turn=report["turn"])
    assert "k17" in report["outcomes"][0]["failure"]["message"]


@pytest.mark.parametrize("is_late", [False, True], ids=["in-time", "late"])
@pytest.mark.parametrize("client", ["plain", "single"], indirect=True)
@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_typing_that_a_way_back_overwrites_is_told(stage: Stage, habits: Habits, is_late: bool) -> None:
    """What is taken back is the first edit of a call whose second one is refused."""
    parts = [f"*** Update File: {name}.txt\n@@\n-three\n+SIX\n" for name in "ab"]
    patch = f"*** Begin Patch\n{''.join(parts)}*** End Patch\n"
    script = stage.script(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=script)
    uri, _ = (editor.desk.open(stage.put(f"{name}.txt", TEXT)) for name in "ab")
    gate = asyncio.Event()
    back = Reaction(
        before=lambda: editor.desk.type(uri, "k17", after="SI"),
        applies=gate if is_late else None,
        response=Response.NULL if is_late else Response.TRUE,
    )
    editor.behaviours = [Reaction(), refuse, back]
    report = await editor.turn("Do it.")
    gate.set()
    await editor.until(lambda: latest(editor, report["turn"]) == ["bad-patch", "edit-rejected"], SOON_S)
    assert "k17" not in editor.desk[uri], "as such clients do"
    report = await editor.request("turn.wait", turn=report["turn"])
    assert "k17" in report["outcomes"][0]["failure"]["message"]


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_typing_that_a_way_back_overwrites_in_one_buffer_of_a_file_is_told(
    stage: Stage, editor: Editor
) -> None:
    """The other buffer does not take the edit."""
    own, _ = opened_twice(stage, editor)
    back = Reaction(before=lambda: editor.desk.type(own, "k17", after="SI"))
    editor.behaviours = [Reaction(), refuse, back]
    report = await editor.turn(block("a.txt", "three", "SIX"))
    assert statuses(report) == ["edit-rejected"]
    assert "k17" not in editor.desk[own], "as such clients do"
    assert "k17" in report["outcomes"][0]["failure"]["message"]


@pytest.mark.parametrize("client", ["plain", "single"], indirect=True)
@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_typing_that_an_edit_overwrites_is_told_though_the_user_removes_some_of_the_edit(
    stage: Stage, habits: Habits
) -> None:
    editor = await started(stage, habits)
    uri = editor.desk.open(stage.put("a.txt", TEXT))

    def typed() -> None:
        editor.desk.type(uri, "k17", after="th")
        editor.desk.tell()

    gate = asyncio.Event()
    gate.set()
    later = lambda: editor.desk.type(uri, "", instead="SIX")  # noqa: E731
    editor.behaviours = [Reaction(before=typed, applies=gate, after=later)]
    report = await editor.turn(block("a.txt", "three", "SIX"))
    assert "k17" not in editor.desk[uri], "as such clients do"
    assert statuses(report) == ["stale-document"]
    assert "k17" in report["outcomes"][0]["failure"]["message"]
    assert "is kept" not in report["outcomes"][0]["failure"]["message"]


@pytest.mark.parametrize("client", ["plain", "single", "text"], indirect=True)
@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_an_edit_that_is_formatted_at_once_beside_typing_has_overwritten_nothing(
    stage: Stage, habits: Habits
) -> None:
    """The client shows the typing first; the edit, as its formatter leaves it, after its answer."""
    editor = await started(stage, habits)
    uri = editor.desk.open(stage.put("a.txt", TEXT))

    def typed() -> None:
        editor.desk.type(uri, "k17", after="five")
        editor.desk.tell()

    gate = asyncio.Event()
    gate.set()
    editor.behaviours = [Reaction(before=typed, applies=gate, formats=indent("SIX", "new"))]
    report = await editor.turn(block("a.txt", "three", "SIX\nnew"))
    assert statuses(report) == ["landed"]
    assert editor.desk[uri] == TEXT.replace("three", "    SIX\n    new").replace("five", "fivek17")


@pytest.mark.parametrize("habits", [VIM], ids=["vim"])
async def test_a_line_typed_above_an_edit_in_flight_does_not_make_a_wrong_line_landed(
    editor: Editor, uri: str
) -> None:
    """The edit hits the line above the one that it means."""
    editor.behaviours = [Reaction(before=lambda: editor.desk.type(uri, "zero\n", before="one"))]
    report = await editor.turn(block("a.txt", "three", "THREE"))
    (outcome,) = report["outcomes"]
    if outcome["status"] == "landed":
        assert editor.desk[uri] == "zero\n" + TEXT.replace("three", "THREE")
    else:
        assert "two" in editor.desk[uri] + outcome["failure"]["message"], "what was overwritten"


# ---- Whatever is answered, and however late it shows ----------------------------------------------

answers = pytest.mark.parametrize("response", list(Response), ids=lambda response: response.name)


@answers
async def test_an_edit_that_shows_after_its_answer_has_landed(
    editor: Editor, uri: str, response: Response
) -> None:
    gate = asyncio.Event()
    editor.behaviours = [Reaction(response=response, tells=gate)]
    turn = await editor.start_turn(PROMPT)
    await editor.until(lambda: editor.edits)
    await editor.request("failure.list")  # answered after the edit is
    gate.set()
    report = await editor.request("turn.wait", turn=turn["turn"])
    assert statuses(report) == ["landed"]
    assert editor.published == []
    assert len(editor.edits) == 1
    assert await paths(editor) == [["a.txt"]]


@answers
async def test_an_edit_that_shows_after_its_turn_has_ended_is_told_as_landed(
    stage: Stage, habits: Habits, response: Response
) -> None:
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    gate = asyncio.Event()
    editor.behaviours = [Reaction(response=response, tells=gate)]
    report = await editor.turn(PROMPT)
    assert statuses(report)[0] in ("edit-rejected", "not-as-written")
    assert editor.shown_diagnostics(uri)
    gate.set()
    await corrected(editor, report, ["landed"])
    await nothing_is_open(editor, uri)
    assert await paths(editor) == [["a.txt"]]
    again = await editor.request("turn.wait", turn=report["turn"])
    assert again["checkpoint"] == report["turn"]
    assert again["outcomes"][0]["id"] == report["outcomes"][0]["id"]


@answers
async def test_a_late_edit_can_be_restored(stage: Stage, habits: Habits, response: Response) -> None:
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    gate = asyncio.Event()
    editor.behaviours = [Reaction(response=response, tells=gate)]
    report = await editor.turn(PROMPT)
    gate.set()
    await eventually(lambda: paths(editor), [["a.txt"]])
    restored = await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert restored["restored"] == [uri]
    assert editor.desk[uri] == TEXT


async def test_an_edit_that_shows_late_in_its_turn_replaces_what_was_told(
    stage: Stage, habits: Habits
) -> None:
    """The second edit never lands, so that the turn goes on while the first one shows."""
    editor = await started(stage, habits, timeout_s=SHORT_S)
    first, second = (editor.desk.open(stage.put(name, TEXT)) for name in ("a.txt", "b.txt"))
    gate = asyncio.Event()

    async def ignore(editor: Editor, given: Json) -> Json | None:
        gate.set()
        return await Reaction(applies=asyncio.Event(), response=Response.NOTHING)(editor, given)

    editor.behaviours = [Reaction(response=Response.NULL, tells=gate), ignore]
    report = await editor.turn(PROMPT + block("b.txt", "two", "TWO"))
    await corrected(editor, report, ["landed", "edit-rejected"])
    assert editor.desk[second] == TEXT
    await editor.until(lambda: editor.shown_diagnostics(first) == [], SOON_S)
    assert len(editor.shown_diagnostics(second)) == 1
    assert await paths(editor) == [["a.txt"]]


async def test_an_edit_that_shows_late_without_the_users_typing_in_it_is_judged_by_what_shows(
    stage: Stage, habits: Habits
) -> None:
    """The user types elsewhere in the document while the change is on its way."""
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    gate = asyncio.Event()
    editor.behaviours = [Reaction(response=Response.NULL, tells=gate)]
    report = await editor.turn(PROMPT)
    editor.desk.type(uri, "zero\n", before="one")
    gate.set()
    await corrected(editor, report, ["landed"])
    assert editor.desk[uri] == "zero\n" + EDITED
    assert len(editor.edits) == 1


async def test_an_edit_that_never_shows_stays_failed(stage: Stage, habits: Habits) -> None:
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.behaviours = [Reaction(response=Response.NULL, applies=asyncio.Event())]
    report = await editor.turn(PROMPT)
    editor.desk.type(uri, "zero\n", before="one")
    editor.desk.tell()
    assert statuses(await editor.request("turn.wait", turn=report["turn"])) == statuses(report)
    assert statuses(report) == ["edit-rejected"]
    assert len(editor.shown_diagnostics(uri)) == 1
    assert await paths(editor) == []


@answers
async def test_a_restore_that_shows_late_is_kept_in_a_checkpoint(
    stage: Stage, habits: Habits, response: Response
) -> None:
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    report = await editor.turn(PROMPT)
    gate = asyncio.Event()
    editor.behaviours = [Reaction(response=response, tells=gate)]
    await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    gate.set()
    await eventually(lambda: paths(editor), [["a.txt"], ["a.txt"]])
    newest, _ = await editor.request("checkpoint.list")
    await editor.request("checkpoint.restore", checkpoint=newest["id"])
    assert editor.desk[uri] == EDITED


# ---- Half of it -----------------------------------------------------------------------------------


async def test_a_hunk_that_half_a_take_back_has_removed_is_not_told_as_landed(
    stage: Stage, habits: Habits
) -> None:
    files = "*** Update File: a.txt\n@@\n-one\n+1\n@@\n-four\n+4\n*** Update File: b.txt\n@@\n-two\n+2\n"
    edits = call("patch", mode="v4a", patch=f"*** Begin Patch\n{files}*** End Patch\n")
    settings = stage.script(answer("", edits), answer("Done."))
    editor = await started(stage, habits, timeout_s=1.0, settings=settings)
    first, second = (editor.desk.open(stage.put(name, TEXT)) for name in ("a.txt", "b.txt"))
    editor.behaviours = [Reaction(), refuse, half]
    report = await editor.turn("Edit both.")
    stands = {1: "1\n", 2: "4\n"}
    for outcome in report["outcomes"]:
        if outcome["uri"] == first:
            has_landed = outcome["status"] == "landed"
            assert has_landed == (stands[outcome["hunk"]] in editor.desk[first]), outcome
        else:
            assert outcome["status"] == "failed"
    assert editor.desk[second] == TEXT
    assert (await paths(editor) == [["a.txt"]]) == (editor.desk[first] != TEXT)


@pytest.mark.parametrize("is_partial", [True, False], ids=["partial", "whole"])
async def test_one_hunk_in_conflict_with_typing_leaves_the_others_of_a_partial_call(
    stage: Stage, habits: Habits, is_partial: bool
) -> None:
    hunks = "*** Update File: a.txt\n@@\n-two\n+TWO\n@@\n-four\n+FOUR\n"
    edits = call("patch", mode="v4a", patch=f"*** Begin Patch\n{hunks}*** End Patch\n", partial=is_partial)
    editor = await started(stage, habits, settings=stage.script(answer("", edits), answer("Done.")))
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.behaviours = [Reaction(before=lambda: editor.desk.type(uri, "k17", after="tw"))]
    report = await editor.turn("Edit.")
    typed = TEXT.replace("two", "twk17o")
    if is_partial:
        assert editor.desk[uri] == typed.replace("four", "FOUR")
        assert statuses(report) == ["stale-document", "landed"]
    else:
        assert editor.desk[uri] == typed
        assert "landed" not in statuses(report)
    assert "stale-document" in [each["code"] for each in editor.shown_diagnostics(uri)]


async def test_a_checkpoint_does_not_list_a_document_that_only_the_user_has_changed(
    editor: Editor, uri: str
) -> None:
    """The edit is in conflict with what the user types while it is in flight, and nothing else is made."""
    editor.behaviours = [Reaction(before=lambda: editor.desk.type(uri, "k17", after="tw"))]
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["stale-document"]
    assert await paths(editor) == []


# ---- Renamed right after --------------------------------------------------------------------------


async def test_a_checkpoint_does_not_list_a_document_that_only_the_user_has_saved(
    stage: Stage, editor: Editor, uri: str
) -> None:
    """The edit was refused for what the user typed in its line, and saved."""

    def type_and_save() -> None:
        editor.desk.type(uri, "2", instead="two")
        editor.desk.save(uri)

    editor.behaviours = [Reaction(before=type_and_save)]
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["stale-document"]
    assert await paths(editor) == []
    assert (stage.root / "a.txt").read_text() == TEXT.replace("two", "2")


@every_editor
async def test_an_edit_that_a_formatter_touches_is_taken_back_with_its_blanks(
    stage: Stage, habits: Habits
) -> None:
    """What the user typed elsewhere meanwhile stays."""
    editor = await started(stage, habits)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.behaviours = [
        Reaction(
            formats=indent("TWO"),
            after=lambda: editor.desk.type(uri, "  ", before="five"),
            later=lambda: editor.desk.save(uri),
        )
    ]
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["landed"]
    restored = await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert restored["conflicts"] == []
    assert editor.desk[uri] == TEXT.replace("five", "  five")


async def test_an_edit_of_a_document_that_is_renamed_meanwhile_can_be_restored(
    stage: Stage, editor: Editor, uri: str
) -> None:
    """The checkpoint lists it by its new name, and the old one stays free."""
    editor.behaviours = [Reaction(after=lambda: editor.desk.rename(uri, "b.txt"))]
    report = await editor.turn(PROMPT + INSERTION)
    assert statuses(report) == ["landed", "landed"]
    (new,) = editor.desk.documents
    assert await paths(editor) == [["b.txt"]]
    restored = await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert restored["restored"] == [new]
    assert editor.desk[new] == TEXT
    assert not (stage.root / "a.txt").exists()


@pytest.mark.parametrize("moment", ["told-first", "not-told-first", "after-the-echo"])
async def test_an_edit_of_a_document_that_is_renamed_right_after_has_landed(
    stage: Stage, editor: Editor, uri: str, moment: str
) -> None:
    new = (stage.root / "b.txt").as_uri()

    def renames() -> None:
        editor.desk.rename(uri, "b.txt", tells=moment == "told-first")

    if moment == "after-the-echo":
        reaction: Behaviour = Reaction(later=renames)
    else:
        reaction = Reaction(after=renames)
    editor.behaviours = [reaction]
    report = await editor.turn(PROMPT)
    assert editor.desk[new] == EDITED
    assert len(editor.edits) == 1
    assert [(each["status"], each["uri"]) for each in report["outcomes"]] == [("landed", new)]
    assert editor.shown_diagnostics(uri) == editor.shown_diagnostics(new) == []


async def test_an_edit_that_shows_late_and_is_renamed_can_be_restored(stage: Stage, habits: Habits) -> None:
    """The user had typed before the turn, and a formatter had its part, so that nothing is as it was."""
    editor = await started(stage, habits, timeout_s=SHORT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    new = (stage.root / "b.txt").as_uri()
    editor.desk.type(uri, "mine", after="five")
    editor.desk.tell()
    gate = asyncio.Event()
    editor.behaviours = [
        Reaction(formats=indent("TWO"), tells=gate, later=lambda: editor.desk.rename(uri, "b.txt"))
    ]
    report = await editor.turn(PROMPT)
    gate.set()
    await editor.until(lambda: new in told_uris(editor, report["turn"]), SOON_S)
    assert statuses(await editor.request("turn.wait", turn=report["turn"])) == ["landed"]
    assert await paths(editor) == [["b.txt"]]
    restored = await editor.request("checkpoint.restore", checkpoint=report["turn"])
    assert restored["restored"] == [new]
    assert editor.desk[new] == TEXT.replace("five", "fivemine")
    assert not (stage.root / "a.txt").exists()


async def test_an_edit_of_a_renamed_document_that_is_taken_back_late_is_in_no_checkpoint(
    stage: Stage, habits: Habits
) -> None:
    """The call is made whole or not at all; that the other document refuses its edit is known later."""
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** Update File: b.txt\n@@\n-two\n+TWO\n"
    )
    script = stage.script(
        answer("", call("patch", mode="v4a", patch=patch + "*** End Patch\n")), answer("Done.")
    )
    editor = await started(stage, habits, timeout_s=SHORT_S, settings=script)
    uri, other = (editor.desk.open(stage.put(name, TEXT)) for name in ("a.txt", "b.txt"))
    new = (stage.root / "c.txt").as_uri()
    gate = asyncio.Event()
    editor.behaviours = [
        Reaction(later=lambda: editor.desk.rename(uri, "c.txt")),
        refuse,
        Reaction(tells=gate),
    ]
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed", "edit-rejected"], "as far as the editor has told"
    gate.set()
    await corrected(editor, report, ["bad-patch", "edit-rejected"])
    assert [editor.desk[each] for each in (new, other)] == [TEXT, TEXT]
    report = await editor.request("turn.wait", turn=report["turn"])
    assert [each["uri"] for each in report["outcomes"]] == [new, other]
    assert [each for each in await paths(editor) if each] == []


async def test_a_like_document_that_is_opened_later_is_no_new_name(
    stage: Stage, editor: Editor, uri: str
) -> None:
    editor.behaviours = [refuse]
    report = await editor.turn(PROMPT)
    other = stage.put("b.txt", EDITED)
    editor.desk.close(uri)
    editor.desk.open(other)
    assert statuses(await editor.request("turn.wait", turn=report["turn"])) == ["edit-rejected"]
    await editor.turn(block("b.txt", "one", "ONE"))  # by its end a correction would have been told
    assert latest(editor, report["turn"]) == ["edit-rejected"]


async def test_an_edit_of_a_document_that_is_saved_and_closed_right_after_has_landed(
    stage: Stage, editor: Editor, uri: str
) -> None:
    def saves_and_closes() -> None:
        editor.desk.save(uri)
        editor.desk.close(uri)

    editor.behaviours = [Reaction(after=saves_and_closes)]
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["landed"]
    assert (stage.root / "a.txt").read_text() == EDITED


async def test_an_edit_that_the_user_undoes_before_the_echo_is_not_told_as_landed_and_not_made_again(
    editor: Editor, uri: str
) -> None:
    editor.behaviours = [Reaction(after=lambda: editor.desk.undo(uri))]
    report = await editor.turn(INSERTION)
    assert editor.desk[uri] == TEXT
    assert "landed" not in statuses(report)
    assert len(editor.edits) == 1
