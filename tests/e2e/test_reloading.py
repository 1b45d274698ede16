"""Open documents follow their files when a command of the agent changes these, in every editor."""

from __future__ import annotations

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import READER, VSCODE, Habits, opt_in
from e2e.prompts import patch, statuses
from handrail.agent.restore.reasons import FORM_STAYS_OPEN
from handrail.testing import answer, call
from handrail.testing.texts import Json

BEFORE, CHANGED = "one\ntwo\nthree\n", "one\nTWO\nthree\n"
CHANGES = "sed -i s/two/TWO/ a.txt"
EDIT = patch("a.txt", "TWO\nthree\n", "TWO\nTHREE\n")
OLD = "A command changed a file that the editor still shows as it was before: a.txt. "


def script(stage: Stage, *calls: Json) -> Json:
    return stage.script(*(answer("", each) for each in calls), answer("Done."))


def options(habits: Habits, *services: str) -> Json:
    own = ("save", "reload") if habits.has_extension else ()
    return opt_in(*own, *services, approvals=True, turnUpdates=True)


def warnings(editor: Editor) -> list[str]:
    events = [each["event"] for each in editor.updates]
    return [event["text"] for event in events if event["kind"] == "notice" and event["warning"]]


@pytest.mark.parametrize("line", [CHANGES, f"{CHANGES}; false"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_the_next_edit_is_one_of_what_the_command_left(
    stage: Stage, habits: Habits, line: str, end: str
) -> None:
    edit = EDIT if end == "\n" else patch("a.txt", "three\n", "THREE\n")
    editor = await stage.start(
        habits, settings=script(stage, call("terminal", command=line), edit), options=options(habits)
    )
    uri = editor.desk.open(stage.put("a.txt", BEFORE.replace("\n", end)))
    report = await stage.turn(editor, "Change it.", "allow")
    assert editor.desk[uri].replace("\r\n", "\n") == "one\nTWO\nTHREE\n"
    assert statuses(report) == ["landed", "landed"]
    assert warnings(editor) == []
    pending = await editor.request("review.list")
    changed = {line for hunk in pending for line in hunk["after"].replace("\r\n", "\n").splitlines()}
    assert changed == {"TWO", "THREE"}
    assert not any(hunk["editedByUser"] for hunk in pending)
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["conflicts"] == []
    assert editor.desk[uri].replace("\r\n", "\n") == BEFORE


@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_one_change_of_a_command_is_undone_with_the_line_ends_that_the_editor_has(
    stage: Stage, habits: Habits, end: str
) -> None:
    editor = await stage.start(
        habits, settings=script(stage, call("terminal", command=CHANGES)), options=options(habits)
    )
    uri = editor.desk.open(stage.put("a.txt", BEFORE.replace("\n", end)))
    text = editor.desk[uri]
    await stage.turn(editor, "Change it.", "allow")
    (hunk,) = await editor.request("review.list")
    await editor.request("review.undo", hunks=[hunk["id"]])
    assert editor.desk[uri] == text
    assert await editor.request("review.list") == []


@pytest.mark.parametrize(
    "raw", [b"a\r\nb\r\n", b"\xef\xbb\xbfa\n", b"a\x0cb\n", "\U0001f40d a\n".encode(), b""]
)
async def test_any_text_is_loaded_into_a_document_without_a_line_end(
    stage: Stage, habits: Habits, raw: bytes
) -> None:
    (stage.root / "new").write_bytes(raw)
    editor = await stage.start(
        habits, settings=script(stage, call("terminal", command="cat new > a.txt")), options=options(habits)
    )
    uri = editor.desk.open(stage.put("a.txt", "no line end"))
    await stage.turn(editor, "Change it.", "allow")
    assert warnings(editor) == []
    text = raw.decode("utf-8-sig")
    assert editor.desk[uri] in (text, text.replace("\r\n", "\n"))


async def test_text_that_is_not_saved_stays(stage: Stage, habits: Habits) -> None:
    settings = script(stage, call("terminal", command=CHANGES))
    editor = await stage.start(
        habits, settings={**settings, "terminal.save": "never"}, options=options(habits)
    )
    uri = editor.desk.open(stage.put("a.txt", BEFORE))
    editor.desk.type(uri, "typed ", before="three")
    editor.desk.tell()
    await stage.turn(editor, "Change it.", "allow")
    assert editor.desk[uri] == "one\ntwo\ntyped three\n"
    assert editor.reloads == []


async def test_a_command_in_the_background_is_followed_at_its_end(stage: Stage, habits: Habits) -> None:
    begun = call("terminal", command=f"{CHANGES}; exec sleep 60", background=True)
    settings = script(stage, begun, call("stop", command="b1"), EDIT)
    editor = await stage.start(habits, settings=settings, options=options(habits))
    uri = editor.desk.open(stage.put("a.txt", BEFORE))
    report = await stage.turn(editor, "Change it.", "allow")
    assert statuses(report)[-1] == "landed"
    assert editor.desk[uri] == "one\nTWO\nTHREE\n"


async def test_what_the_editor_does_not_load_is_said(stage: Stage) -> None:
    """To the user and to the model; no edit is sent that an editor would make of its old text."""
    read = call("read_file", path="a.txt")
    settings = script(stage, call("terminal", command=CHANGES), read)
    editor = await stage.start(VSCODE, settings=settings, options=options(VSCODE))
    editor.reloading = lambda uris: None
    uri = editor.desk.open(stage.put("a.txt", BEFORE))
    report = await stage.turn(editor, "Change it.", "allow")
    assert editor.reloads == [[uri]]
    assert editor.desk[uri] == BEFORE
    assert warnings(editor) == [OLD + "Load it again before you save it."]
    (journal,) = stage.state.rglob(f"{report['session']}.jsonl")
    assert "The editor still has the earlier text of a.txt, from before the command." in journal.read_text()


@pytest.mark.parametrize("line", [r"printf 'caf\351\0' > a.txt", "rm a.txt; mkdir a.txt"])
async def test_what_is_no_text_any_more_is_said(stage: Stage, habits: Habits, line: str) -> None:
    read = call("read_file", path="a.txt")
    settings = script(stage, call("terminal", command=line), read, patch("a.txt", "two", "2"))
    editor = await stage.start(habits, settings=settings, options=options(habits))
    uri = editor.desk.open(stage.put("a.txt", BEFORE))
    report = await stage.turn(editor, "Change it.", "allow")
    assert warnings(editor) == [OLD + "Load it again before you save it."]
    (journal,) = stage.state.rglob(f"{report['session']}.jsonl")
    assert "The editor still has the earlier text of a.txt, from before the command." in journal.read_text()
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert (restored["conflicts"], restored["partial"]) == ([], [])
    assert (editor.desk[uri], (stage.root / "a.txt").read_text()) == (BEFORE, BEFORE)


async def test_a_document_whose_file_a_command_removed_is_not_made_a_file_again(
    stage: Stage, habits: Habits
) -> None:
    read, remove = call("read_file", path="a.txt"), call("terminal", command="rm a.txt")
    settings = script(stage, remove, read, call("terminal", command="touch b.txt"))
    editor = await stage.start(
        habits, settings={**settings, "terminal.save": "always"}, options=options(habits)
    )
    editor.desk.open(stage.put("a.txt", BEFORE))
    editor.answers = ["allow", "allow"]
    report = await editor.turn("Remove it.")
    assert sorted(path.name for path in stage.root.glob("*.txt")) == ["b.txt"]
    (journal,) = stage.state.rglob(f"{report['session']}.jsonl")
    assert "open in the editor; its file was removed." in journal.read_text()
    assert "unsaved changes" not in journal.read_text()


@pytest.mark.parametrize("first", [[], [patch("a.txt", "one", "1")]], ids=["untouched", "edited"])
async def test_an_edit_of_a_document_whose_file_a_command_removed_is_restored(
    stage: Stage, habits: Habits, first: list[Json]
) -> None:
    remove = call("terminal", command="rm a.txt")
    settings = script(stage, *first, remove, patch("a.txt", "two", "2"))
    editor = await stage.start(habits, settings=settings, options=options(habits))
    uri = editor.desk.open(stage.put("a.txt", BEFORE))
    report = await stage.turn(editor, "Change it.", "allow")
    assert set(statuses(report)) == {"landed"}
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert (restored["conflicts"], restored["partial"]) == ([], [])
    assert (editor.desk[uri], (stage.root / "a.txt").read_text()) == (BEFORE, BEFORE)


async def test_an_editor_that_takes_no_edits_says_so_too(stage: Stage) -> None:
    settings = script(stage, call("terminal", command=CHANGES))
    editor = await stage.start(READER, settings=settings, options=options(READER))
    uri = editor.desk.open(stage.put("a.txt", BEFORE))
    await stage.turn(editor, "Change it.", "allow")
    assert editor.desk[uri] == BEFORE
    assert warnings(editor) == [OLD + "Load it again before you save it."]


@pytest.mark.parametrize("line", ["touch b.txt", "rm a.txt", "touch a.txt"])
async def test_what_is_as_its_file_is_left_alone(stage: Stage, habits: Habits, line: str) -> None:
    editor = await stage.start(
        habits, settings=script(stage, call("terminal", command=line)), options=options(habits)
    )
    uri = editor.desk.open(stage.put("a.txt", BEFORE))
    await stage.turn(editor, "Go.", "allow")
    assert (editor.desk[uri], editor.reloads, warnings(editor)) == (BEFORE, [], [])


async def test_line_ends_of_an_open_document_are_said_to_stay_until_it_is_closed(
    stage: Stage, habits: Habits
) -> None:
    path = stage.put("a.txt", BEFORE)
    line = r"sed -i 's/$/\r/' a.txt"
    settings = script(stage, call("terminal", command=line))
    editor = await stage.start(habits, settings=settings, options=options(habits))
    uri = editor.desk.open(path)
    report = await stage.turn(editor, "Change it.", "allow")
    wanted = {"checkpoint": report["checkpoint"]}
    foreseen = await editor.request("checkpoint.restore", **wanted, dryRun=True)
    restored = await editor.request("checkpoint.restore", **wanted)
    assert [each["reason"] for each in restored["partial"]] == [FORM_STAYS_OPEN]
    assert foreseen["partial"] == restored["partial"]
    assert path.read_bytes().count(b"\r\n") == 3
    editor.desk.close(uri)
    restored = await editor.request("checkpoint.restore", **wanted)
    assert restored["restored"] == [uri]
    assert path.read_text() == BEFORE


async def test_line_ends_that_a_command_changed_are_loaded_and_saved(stage: Stage) -> None:
    path = stage.put("a.txt", BEFORE)
    settings = script(stage, call("terminal", command=r"sed -i 's/$/\r/' a.txt"))
    editor = await stage.start(VSCODE, settings=settings, options=options(VSCODE))
    uri = editor.desk.open(path)
    await stage.turn(editor, "Change it.", "allow")
    await editor.until(lambda: editor.desk[uri] == BEFORE.replace("\n", "\r\n"))
    editor.desk.type(uri, "zero\r\n", before="one")
    editor.desk.save(uri)
    assert path.read_bytes().count(b"\r\n") == 4
    assert warnings(editor) == []
