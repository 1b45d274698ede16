"""Before a command, the agent's text is saved, and the user's as `handrail.terminal.save` says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import EMACS, VSCODE, Habits, opt_in
from e2e.prompts import patch
from handrail.testing import answer, call
from handrail.testing.buffers import Buffers, path_of
from handrail.testing.texts import Json

TEXT = "one\ntwo\nthree\nfour\nfive\n"
EDIT = patch("a.txt", "four", "FOUR")
RUN = [answer("", call("terminal", command="cp a.txt seen")), answer("Done.")]
Acts = Callable[[Buffers, str], object]


def rest(_desk: Buffers, _uri: str) -> None:
    """The user does nothing."""


def insert(text: str, before: str) -> Acts:
    return lambda desk, uri: desk.type(uri, text, before=before)


def remove(text: str) -> Acts:
    """The user removes a text by hand."""
    return lambda desk, uri: desk.rewrite(uri, desk[uri].replace(text, ""))


def save(desk: Buffers, uri: str) -> None:
    desk.tell()
    desk.save(uri)


def undo(desk: Buffers, uri: str) -> None:
    desk.undo(uri)


def each(*acts: Acts) -> Acts:
    """Several acts in a row."""

    def act(desk: Buffers, uri: str) -> None:
        for one in acts:
            one(desk, uri)

    return act


async def start(
    stage: Stage,
    *answers: Json,
    content: str = TEXT,
    habits: Habits = VSCODE,
    acts: Acts = rest,
    says: str = "deny",
    **settings: object,
) -> tuple[Editor, str]:
    """
    An editor with `a.txt` open.

    The user answers the question about a command with yes, after some acts; and *says* whether their unsaved
    text may be saved.
    """
    uri = stage.put("a.txt", content.encode()).as_uri()

    def configure(editor: Editor) -> None:
        def approve(params: Json) -> Json:
            if params["kind"] == "command":
                acts(editor.desk, uri)
                editor.desk.tell()
                return {"choice": "allow"}
            editor.questions.append(params)
            return {"choice": says}

        editor.handle("handrail/approval/request", approve)
        editor.handle("handrail/client/save", editor._save)

    editor = await stage.start(
        habits,
        settings={**stage.script(*answers), **settings},
        options=opt_in("save", approvals=True),
        configure=configure,
    )
    return editor, editor.desk.open(stage.root / "a.txt")


def told(stage: Stage) -> str:
    """All that was told to the model."""
    return "".join(path.read_text() for path in stage.state.rglob("sessions/*.jsonl"))


MIXED = {
    "typed after the edit": (rest, insert("mine\n", "two")),
    "typed into the edit": (rest, insert("mine ", "FOUR")),
    "removed a line after the edit": (rest, remove("two\n")),
    "unsaved before the edit": (insert("mine\n", "two"), rest),
    "unsaved before, next to the edit": (insert("mine\n", "four"), rest),
    "unsaved before and typed after": (insert("mine\n", "two"), insert("more\n", "one")),
    "saved in between": (rest, each(save, insert("mine\n", "two"))),
    "unsaved before, and the edit undone": (insert("mine\n", "two"), undo),
}


@pytest.mark.parametrize(("before", "after"), MIXED.values(), ids=MIXED)
async def test_text_of_the_users_in_a_document_of_the_agents_is_saved_only_after_a_yes(
    stage: Stage, before: Acts, after: Acts
) -> None:
    editor, uri = await start(stage, answer("", EDIT), *RUN, acts=after)
    before(editor.desk, uri)
    editor.desk.tell()
    await editor.turn("Edit and run it.")
    assert [each["kind"] for each in editor.questions] == ["saving"]
    assert (stage.root / "seen").read_bytes() == (stage.root / "a.txt").read_bytes()
    assert (stage.root / "a.txt").read_text() != editor.desk[uri]
    assert "it saw only the saved text of a.txt" in told(stage)


def reopen(desk: Buffers, uri: str) -> None:
    desk.tell()
    desk.save(uri)
    desk.close(uri)
    desk.open(path_of(uri))


def save_untold(desk: Buffers, uri: str) -> None:
    """As an editor does that tells no server of it."""
    path_of(uri).write_text(desk[uri])


@pytest.mark.parametrize("saves", [reopen, save_untold])
async def test_an_edit_that_the_user_saved_and_took_back_by_hand_is_the_users_text(
    stage: Stage, saves: Acts
) -> None:
    editor, uri = await start(stage, answer("", EDIT), answer("Done."), *RUN)
    report = await editor.turn("Edit it.")
    saves(editor.desk, uri)
    editor.desk.rewrite(uri, TEXT)
    editor.desk.tell()
    await editor.turn("Run it.", session=report["session"])
    assert [each["kind"] for each in editor.questions] == ["saving"]
    assert (stage.root / "a.txt").read_text() == TEXT.replace("four", "FOUR")


@pytest.mark.parametrize("chosen", ["ask", "always", "never"])
async def test_the_setting_holds_for_documents_that_both_have_changed(stage: Stage, chosen: str) -> None:
    settings = {"terminal.save": chosen}
    acts = insert("mine\n", "two")
    editor, uri = await start(stage, answer("", EDIT), *RUN, acts=acts, says="allow", **settings)
    await editor.turn("Edit and run it.")
    assert len(editor.questions) == (chosen == "ask")
    assert (stage.root / "seen").read_text() == (TEXT if chosen == "never" else editor.desk[uri])
    assert ("it saw only the saved text of a.txt" in told(stage)) == (chosen == "never")


ALONE = {
    "nothing else": (rest, rest),
    "typed after, and undone": (rest, each(insert("mine\n", "two"), undo)),
    "unsaved before, and removed by hand": (insert("mine\n", "two"), remove("mine\n")),
    "saved before": (each(insert("mine\n", "two"), save), rest),
}


@pytest.mark.parametrize(("before", "after"), ALONE.values(), ids=ALONE)
async def test_text_of_the_agents_alone_is_saved_without_a_question(
    stage: Stage, before: Acts, after: Acts
) -> None:
    editor, uri = await start(stage, answer("", EDIT), *RUN, acts=after, **{"terminal.save": "never"})
    before(editor.desk, uri)
    editor.desk.tell()
    await editor.turn("Edit and run it.")
    assert (editor.questions, (stage.root / "seen").read_text()) == ([], editor.desk[uri])
    assert "FOUR" in editor.desk[uri]
    assert "saved text of" not in told(stage)


async def saved_alone(stage: Stage, editor: Editor, uri: str, report: Json) -> None:
    """Runs the command in the session of a turn: the document is saved without a question."""
    unsaved = editor.desk[uri]
    assert unsaved != (stage.root / "a.txt").read_text()
    await editor.turn("Run it.", session=report["session"])
    assert (editor.questions, (stage.root / "seen").read_text()) == ([], unsaved)


async def test_edits_before_and_after_a_save_of_the_users_are_the_agents(stage: Stage) -> None:
    edits = [answer("", EDIT), answer("Done."), answer("", patch("a.txt", "two", "TWO")), answer("Done.")]
    editor, uri = await start(stage, *edits, *RUN)
    report = await editor.turn("Edit it.")
    editor.desk.type(uri, "mine\n", before="three")
    save(editor.desk, uri)
    await editor.turn("Edit it again.", session=report["session"])
    await saved_alone(stage, editor, uri, report)


async def test_what_is_left_of_edits_after_an_undo_is_the_agents(stage: Stage) -> None:
    edits = [EDIT, patch("a.txt", "two", "TWO")]
    editor, uri = await start(stage, answer("", *edits), answer("Done."), *RUN)
    report = await editor.turn("Edit it.")
    editor.desk.undo(uri)
    editor.desk.tell()
    assert ("TWO" in editor.desk[uri]) != ("FOUR" in editor.desk[uri])
    await saved_alone(stage, editor, uri, report)


async def test_what_a_review_leaves_of_edits_is_the_agents(stage: Stage) -> None:
    edits = [EDIT, patch("a.txt", "two", "TWO")]
    editor, uri = await start(stage, answer("", *edits), answer("Done."), *RUN)
    report = await editor.turn("Edit it.")
    (first, _) = await editor.request("review.list")
    await editor.request("review.undo", hunks=[first["id"]])
    await saved_alone(stage, editor, uri, report)


async def test_an_edit_in_another_conversation_is_the_agents(stage: Stage) -> None:
    editor, uri = await start(stage, answer("", EDIT), answer("Done."), *RUN)
    await editor.turn("Edit it.")
    other = await editor.turn("Edit it, too.")  # it is already there
    await saved_alone(stage, editor, uri, other)


async def test_an_edit_that_a_quick_fix_makes_is_the_agents(stage: Stage) -> None:
    failing = patch("a.txt", "three\nfour", "three\nFOUR", replace_all=False)
    twice = TEXT + TEXT
    editor, uri = await start(stage, answer("", failing), answer("Done."), *RUN, content=twice)
    report = await editor.turn("Edit it.")
    (failure,) = await editor.request("failure.list")
    await editor.request("failure.apply", failure=failure["id"], candidate=0)
    await saved_alone(stage, editor, uri, report)


async def test_a_prompt_that_the_edit_removes_is_no_longer_unsaved(stage: Stage) -> None:
    editor, _ = await start(stage, answer("", patch("a.py", "one", "ONE")), answer("Done."), *RUN)
    code = editor.desk.open(stage.put("a.py", b"zero = 0\none = 1\n"))
    editor.desk.type(code, "# handrail: shout\n", before="one")
    editor.desk.tell()
    sent = await editor.request("prompt.send", uri=code, line=1)
    await editor.request("turn.wait", turn=sent["turn"])
    assert editor.desk[code] == "zero = 0\nONE = 1\n"
    await editor.turn("Run it.", session=sent["session"])
    assert editor.questions == []
    assert (stage.root / "a.py").read_text() == editor.desk[code]


async def test_line_ends_that_an_editor_hides_are_not_the_users(stage: Stage) -> None:
    """Emacs holds LF for a file that has CRLF."""
    content = TEXT.replace("\n", "\r\n")
    editor, _ = await start(stage, answer("", EDIT), answer("Done."), *RUN, content=content, habits=EMACS)
    report = await editor.turn("Edit it.")
    await editor.turn("Run it.", session=report["session"])
    assert editor.questions == []
    assert (stage.root / "seen").read_bytes() == content.replace("four", "FOUR").encode()
