"""The messages themselves: what is wrong is said by name, and the server lives on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in
from e2e.prompts import block, patch, statuses
from handrail.testing import answer

pytestmark = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

INVALID, FAILED, UNKNOWN = -32602, -32803, -32601

WRONG = [
    ("turn.start", {}, INVALID, "prompt"),
    ("turn.start", {"prompt": 7}, INVALID, "prompt"),
    ("turn.start", {"prompt": None}, INVALID, "prompt"),
    ("turn.start", {"prompt": "x", "session": 1}, INVALID, "session"),
    ("turn.start", {"prompt": "x", "session": "s-none"}, FAILED, "s-none"),
    ("turn.start", {"prompt": "x", "mode": "fly"}, INVALID, "mode"),
    ("turn.start", {"prompt": "x", "context": "a.txt"}, INVALID, "context"),
    ("turn.start", {"prompt": "x", "context": [{}]}, INVALID, "uri"),
    ("turn.start", {"prompt": "x", "context": [{"uri": "a", "range": {"start": {}}}]}, INVALID, "range"),
    ("turn.wait", {}, INVALID, "turn"),
    ("turn.wait", {"turn": "t-none"}, FAILED, "t-none"),
    ("turn.cancel", {"turn": ["t"]}, INVALID, "turn"),
    ("turn.cancel", {"turn": "t-none"}, FAILED, "t-none"),
    ("failure.list", {"uri": 1}, INVALID, "uri"),
    ("failure.dismiss", {}, INVALID, "failure"),
    ("failure.dismiss", {"all": "yes"}, INVALID, "all"),
    ("failure.dismiss", {"failure": "f-none"}, FAILED, "f-none"),
    ("failure.apply", {"failure": "f-none"}, INVALID, "candidate"),
    ("failure.apply", {"failure": "f-none", "candidate": "first"}, INVALID, "candidate"),
    ("failure.apply", {"failure": "f-none", "candidate": 0}, FAILED, "f-none"),
    ("checkpoint.list", {"session": 1}, INVALID, "session"),
    ("checkpoint.restore", {}, INVALID, "checkpoint"),
    ("checkpoint.restore", {"checkpoint": "t-none"}, FAILED, "t-none"),
    ("checkpoint.restore", {"checkpoint": "t-none", "uris": "a.txt"}, INVALID, "uris"),
]


async def test_wrong_params_name_the_field(editor: Editor) -> None:
    for name, params, code, word in WRONG:
        with expect_error(code, word, name if code == INVALID else ""):
            await editor.call("handrail/" + name.replace(".", "/"), params)
        with expect_error(code, word):
            await editor.command(f"handrail.{name}", params)
    assert editor.messages == []


@pytest.mark.parametrize("params", ["text", 7, True, ["list"], [1, 2]], ids=str)
async def test_params_that_are_no_object(editor: Editor, params: Any) -> None:
    with expect_error(INVALID):
        await editor.call("handrail/turn/start", params)
    with expect_error(INVALID):
        await editor.command("handrail.turn.start", params)
    with expect_error(INVALID):
        await editor.command("handrail.turn.start", {"prompt": "x"}, {"prompt": "y"})


async def test_params_that_are_left_out(editor: Editor) -> None:
    """Missing params are an empty object, whichever way the client leaves them out."""
    assert await editor.answer_to(method="handrail/checkpoint/list") == []
    assert await editor.call("handrail/checkpoint/list", None) == []
    assert await editor.call("handrail/checkpoint/list", {}) == []
    assert await editor.command("handrail.checkpoint.list") == []
    assert await editor.call("workspace/executeCommand", {"command": "handrail.failure.list"}) == []
    assert await editor.command("handrail.failure.list", None) == []
    with expect_error(INVALID, "prompt"):
        await editor.answer_to(method="handrail/turn/start")
    with expect_error(INVALID, "prompt"):
        await editor.command("handrail.turn.start")


async def test_fields_that_nobody_knows_are_ignored(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", "one\n")
    started = await editor.call(
        "handrail/turn/start", {"prompt": block("a.txt", "one", "1"), "colour": "red", "meta": {"x": [1]}}
    )
    report = await editor.answer_to(
        method="handrail/turn/wait", params={**started, "again": True}, extra="field of the message"
    )
    assert statuses(report) == ["landed"]


async def test_optional_fields_may_be_null(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", "one\n")
    report = await editor.turn(block("a.txt", "one", "1"), session=None, mode=None, context=None)
    assert statuses(report) == ["landed"]
    assert await editor.request("failure.list", uri=None) == []


async def test_an_unknown_method_and_an_unknown_command(editor: Editor) -> None:
    with expect_error(UNKNOWN):
        await editor.call("handrail/turn/fly", {})
    with expect_error(INVALID, "handrail.turn.fly"):
        await editor.command("handrail.turn.fly", {})
    editor.notify("handrail/no/such", {})
    assert await editor.request("failure.list") == []
    assert editor.messages == []


MALFORMED = [
    ("textDocument/codeAction", {"textDocument": 1}),
    ("textDocument/codeAction", None),
    ("workspace/executeCommand", {"command": 1}),
    ("workspace/executeCommand", {"arguments": []}),
    ("workspace/executeCommand", []),
]


async def test_malformed_standard_requests_are_answered(editor: Editor) -> None:
    for method, params in MALFORMED:
        with expect_error(INVALID):
            await editor.call(method, params)
    assert await editor.request("failure.list") == []
    assert editor.messages == [], "whoever asked was told; the user need not be"


@pytest.mark.parametrize("body", [b"hello", b"[1]", b'"text"', b"null", b'{"id": 1}', b"\xff\xfe"], ids=str)
async def test_a_body_that_is_no_message(editor: Editor, body: bytes) -> None:
    writer: Any = editor.protocol.writer
    writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    assert await editor.request("failure.list") == []
    assert len(editor.messages) <= 1


MALFORMED_NOTIFICATIONS = [
    ("textDocument/didOpen", {"textDocument": {"uri": 7}}),
    ("textDocument/didChange", {"textDocument": {"uri": "file:///a"}, "contentChanges": "all"}),
    ("textDocument/didClose", {}),
    ("workspace/didChangeWorkspaceFolders", {"event": None}),
    ("window/workDoneProgress/cancel", {}),
    ("$/cancelRequest", {"id": "none"}),
    ("$/setTrace", {"value": "loud"}),
]


@pytest.mark.parametrize(("method", "params"), MALFORMED_NOTIFICATIONS, ids=lambda value: str(value)[:30])
async def test_a_malformed_notification_is_told_once_at_most(
    stage: Stage, editor: Editor, method: str, params: Any
) -> None:
    editor.notify(method, params)
    stage.put("a.txt", "one\n")
    assert statuses(await editor.turn(block("a.txt", "one", "1"))) == ["landed"]
    assert len(editor.messages) <= 1


WORDS = [
    ("turn.start", {"prompt": 7}, "expected a string, got 7 @ params.prompt"),
    (
        "turn.start",
        {"prompt": "x", "mode": "fly"},
        "expected 'edit', 'ask' or 'plan', got 'fly' @ params.mode",
    ),
    ("turn.start", {"prompt": "x", "context": {}}, "expected a list, got {} @ params.context"),
    ("failure.dismiss", {"all": "yes"}, "expected true or false, got 'yes' @ params.all"),
    ("failure.apply", {"failure": "f", "candidate": "a" * 999}, "got 'aaaa"),
]


@pytest.mark.parametrize(("name", "params", "words"), WORDS, ids=lambda value: str(value)[:30])
async def test_what_is_wrong_is_said_in_words_of_the_protocol(
    editor: Editor, name: str, params: Any, words: str
) -> None:
    with pytest.raises(JsonRpcException) as caught:
        await editor.call("handrail/" + name.replace(".", "/"), params)
    assert words in caught.value.message
    assert len(caught.value.message) < 200
    assert "handrail.lsp" not in caught.value.message


async def test_a_malformed_standard_request_names_the_field(editor: Editor) -> None:
    with expect_error(INVALID, "textDocument/codeAction", "required field missing @ params.textDocument"):
        await editor.call("textDocument/codeAction", {})


@pytest.mark.parametrize("body", [b"hello", b"[1]", b"null", b"\xff", b'{"id": 1, "method": "x"}'], ids=str)
async def test_the_user_is_told_whose_fault_an_unreadable_message_is(editor: Editor, body: bytes) -> None:
    writer: Any = editor.protocol.writer
    writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    assert await editor.request("failure.list") == []
    (message,) = editor.messages
    assert "the editor sent an invalid message" in message.message
    assert "internal error" not in message.message


async def test_a_malformed_notification_is_told_with_its_field(editor: Editor) -> None:
    editor.notify("textDocument/didClose", {})
    assert await editor.request("failure.list") == []
    (message,) = editor.messages
    assert "textDocument/didClose" in message.message
    assert "required field missing @ params.textDocument" in message.message


async def test_changes_of_a_document_that_was_never_opened(editor: Editor, stage: Stage) -> None:
    uri = stage.put("a.txt", "one\n").as_uri()
    change = {"text": "two\n"}
    editor.notify(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]}
    )
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert statuses(await editor.turn(block("a.txt", "one", "1"))) == ["landed"]
    assert editor.messages == []


@pytest.mark.damage
async def test_a_handler_that_raises_is_told_once(stage: Stage, editor: Editor) -> None:
    """Something that can only be our own fault: the state folder is no folder any more."""
    stage.put("a.txt", "one\n")
    await editor.turn(block("a.txt", "one", "1"))
    (repository,) = stage.state.glob("handrail/*/checkpoints.git")
    for path in sorted(repository.glob("objects/**/*"), reverse=True):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"garbage")
    first = await _trouble(editor, "checkpoint.list")
    assert statuses(await editor.turn(block("a.txt", "1", "one"))) in (["landed"], ["tool-failed"])
    assert len(editor.messages) <= 1, first
    assert await editor.request("failure.list") is not None


async def _trouble(editor: Editor, name: str) -> str:
    try:
        return json.dumps(await editor.request(name))
    except JsonRpcException as error:
        return str(error)


async def test_one_turn_at_a_time_in_a_session(stage: Stage, habits: Habits) -> None:
    settings = stage.script(answer("", patch("a.txt", "one", "1")), answer("Done."), answer("And again."))
    editor = await stage.start(habits, settings=settings)
    stage.put("a.txt", "one\n")
    started = await editor.start_turn("Edit.")
    with expect_error(FAILED, "has a running turn"):
        await editor.start_turn("Edit.", session=started["session"])
    await editor.request("turn.wait", turn=started["turn"])
    report = await editor.turn("Once more.", session=started["session"])
    assert report["answer"] == "And again."
    assert report["session"] == started["session"]


async def test_the_report_of_a_turn_can_be_had_again(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", "one\n")
    report = await editor.turn(block("a.txt", "one", "1"))
    assert await editor.request("turn.wait", turn=report["turn"]) == report


async def test_giving_up_a_wait_does_not_stop_the_turn(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", "one\n")
    started = await editor.start_turn(block("a.txt", "one", "1"))
    number = "given-up"
    editor.send(id=number, method="handrail/turn/wait", params={"turn": started["turn"]})
    editor.notify("$/cancelRequest", {"id": number})
    report = await editor.request("turn.wait", turn=started["turn"])
    assert (report["state"], statuses(report)) == ("finished", ["landed"])
    editor.traffic.append("")


async def test_two_turns_in_two_sessions_at_once(stage: Stage, editor: Editor) -> None:
    uris = {name: editor.desk.open(stage.put(name, "one\ntwo\nthree\n")) for name in ("a.txt", "b.txt")}
    prompts = [
        block("a.txt", "one", "1") + block("b.txt", "one", "1"),
        block("b.txt", "three", "3") + block("a.txt", "three", "3"),
    ]
    started = [await editor.start_turn(prompt) for prompt in prompts]
    reports = [await editor.request("turn.wait", turn=each["turn"]) for each in started]
    assert [statuses(report) for report in reports] == [["landed", "landed"]] * 2
    assert {editor.desk[uri] for uri in uris.values()} == {"1\ntwo\n3\n"}
    assert len({report["session"] for report in reports}) == 2
    for each in started:
        told = [update["seq"] for update in editor.updates if update["turn"] == each["turn"]]
        assert told == list(range(1, len(told) + 1))
    await editor.request("checkpoint.restore", checkpoint=reports[0]["checkpoint"])
    assert {editor.desk[uri] for uri in uris.values()} == {"one\ntwo\n3\n"}
    await editor.request("checkpoint.restore", checkpoint=reports[1]["checkpoint"])
    assert {editor.desk[uri] for uri in uris.values()} == {"one\ntwo\nthree\n"}


async def test_a_document_by_any_spelling_of_its_uri(stage: Stage, habits: Habits) -> None:
    path = stage.put("a b.txt", "one\ntwo\n")
    (stage.root / "link.txt").symlink_to(path)
    spelled = path.as_uri().replace("/workspace/", "/./workspace/")
    calls = [
        patch("a b.txt", "two, unsaved", "TWO"),
        patch("./link.txt", "one", "1"),
        patch(str(path), "1", "I"),
        patch(spelled, "I", "ONE"),
    ]
    editor = await stage.start(habits, settings=stage.script(answer("", *calls), answer("Done.")))
    uri = editor.desk.open(spelled, "one\ntwo, unsaved\n")
    report = await editor.turn("Edit.")
    assert statuses(report) == ["landed"] * 4
    assert editor.desk[uri] == "ONE\nTWO\n"
    assert {each["uri"] for each in report["outcomes"]} == {spelled}, "as the client spells it"
    assert path.read_text() == "one\ntwo\n"


async def test_opting_in_by_experimental_capabilities(stage: Stage, habits: Habits) -> None:
    path = stage.put("a.txt", "one\n")
    editor = await stage.start(replace(habits, experimental=opt_in("save")), options={})
    assert statuses(await editor.turn(block("a.txt", "one", "1"))) == ["landed"]
    assert editor.updates
    assert editor.saves == [[path.as_uri()]]
