"""Clients that do not do as they were asked: the truth is read from the document, and told."""

from __future__ import annotations

import asyncio

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits
from e2e.prompts import block, patch, statuses, v4a
from handrail.testing import answer, behaviours, call
from handrail.testing.texts import Json

pytestmark = pytest.mark.any_client

TEXT = "one\ntwo\nthree\nfour\nfive\n"
PROMPT = block("a.txt", "two", "TWO")
TIMEOUT_S = 1.0


@pytest.fixture
async def editor(stage: Stage, habits: Habits) -> Editor:
    return await stage.start(habits, timeout_s=TIMEOUT_S)


@pytest.fixture
def uri(stage: Stage, editor: Editor) -> str:
    return editor.desk.open(stage.put("a.txt", TEXT))


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (behaviours.hang, "edit-rejected"),
        (behaviours.refuse, "edit-rejected"),
        (behaviours.claim, "not-as-written"),
    ],
    ids=["never-answers", "refuses", "claims"],
)
async def test_nothing_is_applied(
    editor: Editor, uri: str, behaviour: behaviours.Behaviour, code: str
) -> None:
    editor.behaviours = [behaviour]
    report = await editor.turn(PROMPT)
    assert statuses(report) == [code]
    assert editor.desk[uri] == TEXT
    (shown,) = editor.shown_diagnostics(uri)
    assert shown["code"] == code
    assert shown["range"]["start"]["line"] == 1, "where it should have landed"
    actions = await editor.quick_fixes(uri, shown["range"])
    assert [each["title"] for each in actions] == [
        "Apply at line 2: ‘two’ → ‘TWO’",
        "Show the change",
        "Dismiss",
    ]
    (outcome,) = await editor.choose(actions[0])
    assert outcome["status"] == "landed"
    assert editor.desk[uri] == TEXT.replace("two", "TWO")
    assert editor.shown_diagnostics(uri) == []


@pytest.mark.parametrize(
    ("behaviour", "message", "steps"),
    [
        (
            behaviours.refuse,
            "The editor refused the edit: a dialog is open.",
            [
                "Read the document again, then send the edit again.",
                "If it is refused again for the same reason, tell the user the reason.",
            ],
        ),
        (
            behaviours.refuse_silently,
            "The editor refused the edit.",
            ["Ask the user whether the document is read-only or a dialog is open.", "Send the edit again."],
        ),
    ],
    ids=["with-a-reason", "without"],
)
async def test_the_user_is_asked_for_a_reason_only_if_none_is_known(
    editor: Editor, uri: str, behaviour: behaviours.Behaviour, message: str, steps: list[str]
) -> None:
    editor.behaviours = [behaviour]
    report = await editor.turn(PROMPT)
    failure = report["outcomes"][0]["failure"]
    assert (failure["message"], failure["steps"]) == (message, steps)


async def test_what_was_refused_lands_when_it_is_sent_again(editor: Editor, uri: str) -> None:
    editor.behaviours = [behaviours.refuse]
    await editor.turn(PROMPT)
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["landed"]
    assert editor.shown_diagnostics(uri) == []


async def test_half_is_applied(editor: Editor, uri: str) -> None:
    """The hunk that stands has landed, the other is told; neither is told of the other."""
    editor.behaviours = [behaviours.half]
    report = await editor.turn(
        v4a("*** Update File: a.txt", "@@", "-one", "+1", "@@", "-four", "+4", "+and a half")
    )
    assert statuses(report) == ["landed", "not-as-written"]
    assert editor.desk[uri] == TEXT.replace("one", "1")
    (shown,) = editor.shown_diagnostics(uri)
    assert shown["code"] == "not-as-written"
    assert shown["range"]["start"]["line"] == 3
    assert [each["hunk"] for each in await _failed(editor, report)] == [2]


async def _failed(editor: Editor, report: Json) -> list[Json]:
    known = {each["id"] for each in await editor.request("failure.list")}
    failed = [each for each in report["outcomes"] if each["status"] == "failed"]
    assert {each["failure"]["id"] for each in failed} == known
    return failed


async def test_applied_but_never_answered(editor: Editor, uri: str) -> None:
    """As Vim's ALE does."""
    editor.behaviours = [behaviours.apply_without_answer, behaviours.apply_without_answer]
    report = await editor.turn(PROMPT + block("a.txt", "four", "4"))
    assert statuses(report) == ["landed", "landed"]
    assert editor.desk[uri] == "one\nTWO\nthree\n4\nfive\n"
    assert editor.published == []


async def test_an_answer_after_the_time_is_up(editor: Editor, uri: str) -> None:
    """It is a failure until it lands after all; then it is none."""
    gate = asyncio.Event()
    editor.behaviours = [behaviours.wait_for(gate)]
    report = await editor.turn(block("a.txt", "two", "two and a half"))
    assert statuses(report) == ["edit-rejected"]
    assert editor.shown_diagnostics(uri)
    gate.set()
    await editor.until(lambda: not editor.shown_diagnostics(uri))
    assert editor.desk[uri] == TEXT.replace("two", "two and a half")
    assert await editor.request("failure.list") == []


@pytest.mark.parametrize(
    "result",
    [{"result": None}, {"result": {}}, {"result": {"applied": "yes"}}, {"result": []}, {}],
    ids=["null", "empty", "no-boolean", "list", "no-result"],
)
async def test_an_answer_that_cannot_be_read(stage: Stage, habits: Habits, result: Json) -> None:
    """The document shows it, so it has landed; nothing is waited for, and the user is not bothered."""
    editor = await stage.start(habits)
    uri = editor.desk.open(stage.put("a.txt", TEXT))

    async def babble(editor: Editor, given: Json) -> Json:
        editor.desk.apply(given)
        editor.desk.tell()
        number = editor.last_request("workspace/applyEdit")
        editor.send(id=number, **result)
        return await behaviours.hang(editor, given)

    editor.behaviours = [babble]
    async with asyncio.timeout(6):
        report = await editor.turn(PROMPT)
    assert statuses(report) == ["landed"]
    assert statuses(await editor.turn(block("a.txt", "four", "4"))) == ["landed"]
    assert editor.desk[uri] == "one\nTWO\nthree\n4\nfive\n"
    assert editor.messages == []


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
async def test_a_client_that_cannot_save_what_it_opened(stage: Stage, habits: Habits) -> None:
    """What landed in the editor has landed; it is unsaved there."""
    path = stage.put("a.txt", TEXT)
    editor = await stage.start(habits, timeout_s=TIMEOUT_S)
    editor.saving = lambda uris: {"saved": []}
    report = await editor.turn(PROMPT)
    assert statuses(report) == ["landed"]
    assert editor.desk[path.as_uri()] == TEXT.replace("two", "TWO")
    assert path.read_text() == TEXT
    await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert editor.desk[path.as_uri()] == path.read_text() == TEXT


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
@pytest.mark.parametrize("behaviour", [behaviours.hang, behaviours.refuse, behaviours.claim])
async def test_a_closed_document_that_the_editor_does_not_edit(
    stage: Stage, habits: Habits, behaviour: behaviours.Behaviour
) -> None:
    path = stage.put("a.txt", TEXT)
    editor = await stage.start(habits, timeout_s=TIMEOUT_S)
    editor.behaviours = [behaviour]
    report = await editor.turn(PROMPT)
    assert statuses(report) in (["edit-rejected"], ["not-as-written"])
    assert path.read_text() == TEXT
    (shown,) = editor.shown_diagnostics(path.as_uri())
    assert shown["range"]["start"]["line"] == 1


async def test_a_document_that_is_closed_while_another_is_edited(
    stage: Stage, editor: Editor, uri: str
) -> None:
    """Both were planned together; by then the second is what the file holds, and unsaved text is gone."""
    path = stage.put("b.txt", "one\ntwo\n")
    other = editor.desk.open(path)
    editor.desk.type(other, "zero\n", before="one")
    editor.desk.tell()
    editor.behaviours = [behaviours.act_after(lambda: editor.desk.close(other))]
    report = await editor.turn(PROMPT + block("b.txt", "two", "TWO"))
    assert statuses(report) == ["landed", "landed"]
    assert path.read_text() == "one\nTWO\n"


async def test_a_document_that_is_opened_while_another_is_edited(
    stage: Stage, editor: Editor, uri: str
) -> None:
    """Planned on the file; by then the editor holds it, so the editor edits it."""
    path = stage.put("b.txt", "one\r\ntwo\nthree\n")
    opened: list[str] = []
    editor.behaviours = [behaviours.act_after(lambda: opened.append(editor.desk.open(path)))]
    report = await editor.turn(PROMPT + block("b.txt", "three", "THREE"))
    assert statuses(report) == ["landed", "landed"]
    (other,) = opened
    assert editor.desk[other].endswith("THREE\n")
    assert path.read_bytes() == b"one\r\ntwo\nthree\n", "the editor has not been saved"


async def test_a_file_that_another_program_changes_meanwhile(stage: Stage, editor: Editor, uri: str) -> None:
    path = stage.put("b.txt", "one\r\ntwo\nthree\n")
    editor.behaviours = [behaviours.act_after(lambda: path.write_bytes(b"zero\r\none\r\ntwo\nthree\n"))]
    report = await editor.turn(PROMPT + block("b.txt", "three", "THREE"))
    assert statuses(report) == ["landed", "landed"]
    assert path.read_bytes() == b"zero\r\none\r\ntwo\nTHREE\n"


async def test_the_model_is_told_what_really_happened(stage: Stage, habits: Habits) -> None:
    settings = stage.script(
        answer("", patch("a.txt", "two", "TWO")), answer("", patch("a.txt", "two", "TWO")), answer("Done.")
    )
    editor = await stage.start(habits, settings=settings, timeout_s=TIMEOUT_S)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.behaviours = [behaviours.claim]
    report = await editor.turn("Edit.")
    assert statuses(report) == ["not-as-written", "landed"]
    assert editor.desk[uri] == TEXT.replace("two", "TWO")
    assert editor.shown_diagnostics(uri) == []
    if habits.has_extension:
        summaries = [
            each["event"]["summary"] for each in editor.updates if each["event"]["kind"] == "toolResult"
        ]
        assert "not-as-written" in summaries[0]
        assert "Landed" in summaries[1]


async def test_half_a_call_is_taken_back_and_what_was_typed_stays(stage: Stage, habits: Habits) -> None:
    files = "*** Update File: a.txt\n one\n-two\n+TWO\n*** Update File: b.txt\n one\n-two\n+2\n"
    edits = call("patch", mode="v4a", patch=f"*** Begin Patch\n{files}*** End Patch\n")
    settings = stage.script(answer("", edits), answer("Done."))
    editor = await stage.start(habits, settings=settings, timeout_s=TIMEOUT_S)
    first, second = (editor.desk.open(stage.put(name, TEXT)) for name in ("a.txt", "b.txt"))

    def types() -> None:
        editor.desk.type(first, "0\n", before="one")

    editor.behaviours = [behaviours.act_after(types), behaviours.refuse]
    report = await editor.turn("Edit both.")
    assert statuses(report) == ["bad-patch", "edit-rejected"]
    await editor.until(lambda: editor.desk[first] == "0\n" + TEXT)
    assert editor.desk[second] == TEXT
