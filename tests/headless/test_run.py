"""The headless client as a process: turns, checkpoints, exit codes, and servers that fail at any moment."""

import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stand_in import INITIALIZE, RESUMED, STARTED, Stage, argv, client, failed, outcome, reported, update


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_what_a_command_prints_is_shown_line_by_line(stage: Stage) -> None:
    play = [
        *STARTED,
        update(1, kind="toolCall", call="c-1", tool="terminal", title="Run it"),
        update(2, kind="toolOutput", call="c-1", text="one\ntw"),
        update(3, kind="toolOutput", call="c-1", text="o\nrest\x1b[31m", skipped=7),
        update(4, kind="toolResult", call="c-1", summary="Exit code 3."),
        update(5, kind="toolResult", call="c-2", summary="of a call that printed nothing"),
        update(6, kind="toolCall", call="c-3", tool="todo", title="todo: a call that cannot be used"),
        update(7, kind="approval", call="c-4", choice="blue", subject="Which?"),
        update(8, kind="approval", call="c-5", choice="deny", subject="May I?"),
        update(9, kind="approval", call="c-6", choice="deny", subject="Why?", asksPermission=False),
        update(10, kind="toolResult", call="c-3", summary="bad-arguments: It is cut short.", failed=True),
        update(11, kind="toolResult", call="c-4", summary="denied: No.", failed=True),
        reported("finished"),
    ]
    shown = stage.run(play, prompt="p").out
    lines = [
        "    one",
        "    (characters that are not shown: 7)",
        "    two",
        "    rest\\x1b[31m",
        "  Exit code 3.",
    ]
    assert "\n".join(lines) in shown
    assert "printed nothing" not in shown
    assert "● todo: a call that cannot be used\n" in shown, "its name is said once"
    assert '  answered "blue": Which?\n' in shown
    assert "  denied: May I?\n" in shown
    assert "  no answer: Why?\n" in shown
    assert "  bad-arguments: It is cut short.\n" in shown
    assert "denied: No." not in shown, "its question says so"


def test_an_answer_that_was_streamed_before_a_call_is_shown_once(stage: Stage) -> None:
    play = [
        *STARTED,
        update(1, kind="text", delta="I look."),
        update(2, kind="toolCall", call="c-1", tool="read_file", title="Read a.txt"),
        reported("failed", answer="I look.", reason="The key has expired."),
    ]
    assert stage.run(play, prompt="p").out.count("I look.") == 1


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (0.0421, "1 step, 12,345 tokens read, 678 written, 0.042 USD"),
        (None, "1 step, 12,345 tokens read, 678 written"),
    ],
)
def test_what_a_turn_has_used_is_shown(stage: Stage, cost: float | None, shown: str) -> None:
    usage = {"steps": 1, "inputTokens": 12_345, "outputTokens": 678, "cachedTokens": 0, "costUsd": cost}
    out = stage.run([*STARTED, reported("finished", usage=usage)], prompt="p").out
    assert f"  {shown}\n" in out
    assert "tokens" not in stage.run([*STARTED, reported("finished")], prompt="p").out, "none were used"


def test_a_session_is_gone_on_with(stage: Stage) -> None:
    play = [*RESUMED, reported("failed", reason="The model cannot be reached.")]
    ended = stage.run(play, prompt="do it", session="s-1")
    assert ended.code == 2
    sent = {message["method"]: message.get("params") for message in stage.received if "method" in message}
    assert sent["handrail/session/resume"] == {"session": "s-1"}
    assert sent["handrail/turn/start"] == {"prompt": "do it", "session": "s-1"}
    assert (
        f"continue with: handrail run --session s-1 --workspace {shlex.quote(str(stage.root))} PROMPT"
        in ended.out
    )


def test_a_turn_edits_saves_and_tells(stage: Stage) -> None:
    diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
    landed = outcome(stage.root, "landed", tier="normalised", diff=diff, notes=["One thing.", "Another."])
    play = [
        *STARTED,
        update(1, kind="started", prompt="p", mode="edit"),
        update(2, kind="text", delta="I will "),
        update(3, kind="text", delta="edit.\x1b[31m"),
        update(4, kind="toolCall", call="c-1", tool="patch", title="a.txt"),
        stage.edit,
        ["request", ["handrail/client/save", {"uris": [stage.uri]}]],
        update(5, kind="outcome", **landed),
        reported("finished", landed),
    ]
    ended = stage.run(
        play, prompt="-", stdin="\ufeffdo it ☃".encode(), env={"FORCE_COLOR": "1", "NO_COLOR": ""}
    )
    assert (ended.code, ended.err) == (0, "")
    assert (stage.root / "a.txt").read_bytes() == b"1\ntwo\n"
    shown = ended.out
    for part in (
        "I will edit.\\x1b[31m",
        "● patch: a.txt",
        "a.txt: landed (the search text differed slightly)",
        "    One thing.",
        "    Another.",
        "\x1b[31m    -one\x1b[0m",
        "\x1b[32m    +1\x1b[0m",
        "Done.",
        "finished: 1 landed",
        "checkpoint t-1",
        f"handrail checkpoint restore t-1 --workspace {shlex.quote(str(stage.root))}",
    ):
        assert part in shown
    methods = [message.get("method") for message in stage.received]
    assert methods[:3] == ["initialize", "initialized", "handrail/turn/start"]
    assert methods[-2:] == ["shutdown", "exit"]
    initialize, start = (stage.received[index]["params"] for index in (0, 2))
    assert initialize["workspaceFolders"] == [{"uri": stage.root.as_uri(), "name": "workspace"}]
    assert start == {"prompt": "do it ☃"}
    (saved,) = [message["result"] for message in stage.received if "saved" in str(message.get("result"))]
    assert saved == {"saved": [stage.uri]}


def test_a_failure_is_shown_as_compilers_do_and_ends_with_1(stage: Stage) -> None:
    play = [
        *STARTED,
        update(1, kind="outcome", **failed(stage.root)),
        reported("stopped", failed(stage.root)),
    ]
    ended = stage.run(play, prompt="p", env={"NO_COLOR": "1", "FORCE_COLOR": "1"})
    assert ended.code == 1
    assert "\nended early: 1 did not land\n" in ended.out
    assert "a.txt:2: warning[no-match] The search text is not there.\n" in ended.out
    shown = "    similar: line 2 (88%): two\n    Advice for the model:\n    → Read it again.\n"
    assert shown in ended.out
    assert "\x1b" not in ended.out


@pytest.mark.parametrize("verifier", ["", "1", "0"])
def test_what_became_of_each_document_stands_below_what_the_model_claims(stage: Stage, verifier: str) -> None:
    other = {"uri": (stage.root / "sub" / "long name.txt").as_uri()}
    denied = outcome(
        stage.root, "denied", **other, failure={**failed(stage.root)["failure"], "code": "denied"}
    )
    repaired = outcome(stage.root, "failed", failure={**failed(stage.root)["failure"], "id": "f-2"})
    outcomes = [
        outcome(stage.root, "landed"),
        failed(stage.root),
        outcome(stage.root, "landed"),
        repaired,
        outcome(stage.root, "already", **other),
        denied,
    ]
    play = [*STARTED, update(1, kind="superseded", failure="f-2"), reported("finished", *outcomes)]
    ended = stage.run(play, prompt="p", env={"HANDRAIL_FILE_MUTATION_VERIFIER": verifier})
    wanted = (
        "Done.\n\n"
        "  a.txt              2 landed, 1 did not land\n"
        "    line 2: no-match: The search text is not there.\n"
        "  sub/long name.txt  1 already there, 1 denied\n"
        "    line 2: denied: The search text is not there.\n"
        "finished: "
    )
    assert (wanted in ended.out) is (verifier != "0")
    assert "finished: 2 landed, 1 already there, 2 did not land, 1 denied" in ended.out
    assert ended.code == 1


def test_what_the_answer_has_said_is_not_said_again_as_the_reason(stage: Stage) -> None:
    play = [*STARTED, reported("stopped", answer="No model is set.\n\nSet one.", reason="No model is set.")]
    ended = stage.run(play, prompt="p")
    assert ended.out.count("No model is set.") == 1
    assert "\nended early\n" in ended.out


@pytest.mark.parametrize(
    ("state", "code"), [("finished", 0), ("stopped", 2), ("cancelled", 2), ("failed", 2)]
)
def test_without_failures_the_state_decides(stage: Stage, state: str, code: int) -> None:
    landed = outcome(stage.root, "landed"), outcome(stage.root, "already")
    assert stage.run([*STARTED, reported(state, *landed, reason="because")], prompt="p").code == code


def test_a_failure_that_a_later_step_made_good_does_not_count(stage: Stage) -> None:
    play = [*STARTED, update(1, kind="superseded", failure="f-1"), reported("finished", failed(stage.root))]
    assert stage.run(play, prompt="p").code == 0


def test_json_has_stdout_to_itself(stage: Stage) -> None:
    play = [*STARTED, update(1, kind="text", delta="thinking aloud"), reported(extra={"kept": "☃"})]
    ended = stage.run(play, prompt="p", as_json=True)
    assert ended.code == 0
    assert json.loads(ended.out) == reported(extra={"kept": "☃"})[1][1]["result"]
    assert "thinking aloud" in ended.err


@pytest.mark.parametrize(
    "last_step",
    [
        ["die", 3],
        ["write", "print() in a handler\n"],
        ["write", "Content-Length: 9\r\n\r\nnot json!"],
        ["write", "Content-Length: 2\r\n\r\n[]"],
        ["write", "Content-Length: -1\r\n\r\n"],
        ["write", "Content-Length: 100\r\n\r\n{}"],
    ],
)
def test_a_server_lost_in_the_middle_is_an_error_and_what_landed_is_saved(
    stage: Stage, last_step: Any
) -> None:
    ended = stage.run([*STARTED, stage.edit, last_step, ["die", 3]], prompt="p", as_json=True)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("handrail: error: The server ")
    assert "the stand-in has had enough" in ended.err
    assert "handrail doctor" in ended.err
    assert "Traceback (most recent" not in ended.err
    assert (stage.root / "a.txt").read_bytes() == b"1\ntwo\n"


@pytest.mark.parametrize(
    "play", [[["die", 3]], [["await", "initialize"], ["die", 3]], [INITIALIZE, ["die", 3]]]
)
def test_a_server_that_dies_early_is_an_error(stage: Stage, play: list[Any]) -> None:
    ended = stage.run(play, prompt="p")
    assert ended.code == 2
    assert "The server ended (exit code 3)" in ended.err


def test_a_server_that_cannot_be_started_is_an_error(stage: Stage) -> None:
    ended = client(stage.root, prompt="p", server=("/nowhere/handrail",))
    assert (ended.code, ended.err.count("\n")) == (2, 2)
    assert "cannot be started (No such file or directory): /nowhere/handrail" in ended.err


@pytest.mark.parametrize(
    ("capabilities", "reason"),
    [
        ({}, "is not a handrail server"),
        ({"experimental": {"handrail": {"protocolVersion": 2}}}, "speaks version 2"),
    ],
)
def test_another_server_is_an_error(stage: Stage, capabilities: Any, reason: str) -> None:
    ended = stage.run([["answer", ["initialize", {"result": {"capabilities": capabilities}}]]], prompt="p")
    assert ended.code == 2
    assert reason in ended.err


def test_an_interrupt_cancels_the_turn_and_what_landed_is_saved(stage: Stage) -> None:
    play = [
        *STARTED,
        stage.edit,
        ["interrupt", None],
        ["answer", ["handrail/turn/cancel", {"result": None}]],
        reported("cancelled", outcome(stage.root, "landed")),
    ]
    ended = stage.run(play, prompt="p")
    assert ended.code == 2
    assert "stopped: 1 landed" in ended.out
    assert (stage.root / "a.txt").read_bytes() == b"1\ntwo\n"


def test_a_second_interrupt_ends_the_waiting(stage: Stage) -> None:
    play = [*STARTED, ["interrupt", None], ["await", "handrail/turn/cancel"], ["interrupt", None]]
    ended = stage.run(play, prompt="p")
    assert ended.code == 2
    assert "handrail: error: Interrupted." in ended.err


@pytest.mark.parametrize(("yes", "result"), [(True, {"choice": "allow"}), (False, None)])
def test_approvals_are_a_no_unless_told_otherwise(stage: Stage, yes: bool, result: object) -> None:
    question = {"turn": "t-1", "tool": "patch", "subject": ".env", "choices": ["allow", "deny"]}
    question |= {"detail": "It is a key."}
    ended = stage.run(
        [*STARTED, ["request", ["handrail/approval/request", question]], reported()], prompt="p", yes=yes
    )
    assert result in [message["result"] for message in stage.received if "result" in message]
    assert ("Allow patch: .env? It is a key. Not allowed, because handrail" in ended.err) is not yes
    assert ("To allow it, give --yes" in ended.err) is not yes


def test_the_reason_of_a_question_ends_before_what_follows_it(stage: Stage) -> None:
    question = {"turn": "t-1", "tool": "terminal", "subject": "make", "choices": ["allow", "deny"]}
    question |= {"detail": "The model's reason: to build"}
    ended = stage.run(
        [*STARTED, ["request", ["handrail/approval/request", question]], reported()], prompt="p"
    )
    assert "The model's reason: to build. Not allowed, because handrail cannot ask: " in ended.err


LEAVE = ["deny", "allow", "session", "always"]
OWN_WORDS = ["deny", "Tabs", "Spaces"]


@pytest.mark.parametrize(
    ("choices", "typed", "choice"),
    [
        (["allow", "deny"], b"y\n", "allow"),
        (["allow", "deny"], b"s\n", "deny"),
        (LEAVE, b"yes\n", "allow"),
        (LEAVE, b"S\n", "session"),
        (LEAVE, b"a\n", "always"),
        (LEAVE, b"\n", "deny"),
        (LEAVE, b"what?\n", "deny"),
        (LEAVE, b"\x03", None),
        (["deny", "Tabs", "Spaces"], b"2\n", "Spaces"),
        (["Tabs", "Spaces"], b"3\n", "deny"),
        (["deny", "Tabs", "Spaces"], b"\n", "deny"),
        (OWN_WORDS, b"2\n", "Spaces"),
        (OWN_WORDS, b"  Both, \xc3\xbc\n", "Both, \u00fc"),
        (OWN_WORDS, b"3\n", "3"),
        (OWN_WORDS, b" \n", "deny"),
    ],
)
def test_on_a_terminal_the_person_is_asked(
    stage: Stage, choices: list[str], typed: bytes, choice: str | None
) -> None:
    question = {
        "turn": "t-1",
        "tool": "patch",
        "subject": "\x1b[2J.env",
        "detail": "",
        "choices": choices,
        "takesText": choices is OWN_WORDS,
    }
    asked = ["request", ["handrail/approval/request", question]]
    cancelled = [["answer", ["handrail/turn/cancel", {"result": None}]]] if typed == b"\x03" else []
    server = stage.server([*STARTED, asked, *cancelled, reported()])
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, argv(stage.root, prompt="p", server=server))
    shown = b""
    while not re.search(rb"\[(y/.*N|1-2.*)\]", shown):
        shown += os.read(terminal, 1024)
    os.write(terminal, typed)
    with contextlib.suppress(OSError):  # Linux says EIO at the end of a terminal
        while piece := os.read(terminal, 1024):
            shown += piece
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown
    os.close(terminal)
    assert (b"Allow patch: " if "allow" in choices else b"") + b"\\x1b[2J.env" in shown
    result = {"choice": choice} if choice else None
    assert result in [message["result"] for message in stage.received if "result" in message]


def test_a_reader_that_goes_away_does_not_stop_the_turn(stage: Stage) -> None:
    texts = [update(number, kind="text", delta="x" * 1000) for number in range(1, 90)]
    command = argv(stage.root, prompt="p", server=stage.server([*STARTED, *texts, stage.edit, reported()]))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait(60)) == (b"", 0)
    process.stderr.close()
    assert (stage.root / "a.txt").read_bytes() == b"1\ntwo\n"


@pytest.mark.parametrize(
    ("options", "stdin", "reason"),
    [
        ({"prompt": " \n"}, b"", "The prompt is empty"),
        ({"prompt": "-"}, b"", "The prompt is empty."),
        ({"prompt": "-"}, b"caf\xe9", "The prompt is not UTF-8 (position 4)."),
        (
            {"prompt": "p", "workspace": "/nowhere"},
            b"",
            "The workspace /nowhere cannot be used: No such file",
        ),
        ({"prompt": "p", "workspace": __file__}, b"", "is not a folder"),
    ],
)
def test_bad_input_is_one_sentence(stage: Stage, options: dict[str, str], stdin: bytes, reason: str) -> None:
    ended = client(
        Path(options.pop("workspace", stage.root)), stdin=stdin, server=("never-started",), **options
    )
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert reason in ended.err


CHECKPOINT = {
    "id": "t-1",
    "session": "s-1",
    "turn": "t-1",
    "label": "Before restoring: do it",
    "name": "Restore: do it",
    "time": "2026-11-21T10:00:00+00:00",
    "root": "/w",
    "steps": [{"id": "t-1.1", "paths": ["a.txt"]}],
    "paths": [{"uri": "file:///w/a.txt", "path": "a.txt", "change": "changed"}],
}
LISTED = ["answer", ["handrail/checkpoint/list", {"result": [CHECKPOINT]}]]


def test_checkpoints_are_listed(stage: Stage) -> None:
    ended = stage.run([INITIALIZE, LISTED])
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(r"t-1  2026-11-2\d \d\d:00:00  Restore: do it\n  changed  a\.txt\n", ended.out)
    assert json.loads(stage.run([INITIALIZE, LISTED], as_json=True).out) == [CHECKPOINT]


def test_a_checkpoint_is_restored_and_conflicts_end_with_1(stage: Stage) -> None:
    uri = (stage.root / "a.txt").as_uri()
    report = {"restored": [uri], "unchanged": [], "deleted": [], "conflicts": [], "checkpoint": "r-1"}
    restored = ["answer", ["handrail/checkpoint/restore", {"result": report}]]
    ended = stage.run([INITIALIZE, stage.edit, restored], checkpoint="t-1")
    assert ended.code == 0
    assert "restored   a.txt" in ended.out
    assert (stage.root / "a.txt").read_bytes() == b"1\ntwo\n"
    report["conflicts"] = [{"uri": uri, "reason": "edited since"}]
    ended = stage.run([INITIALIZE, restored], checkpoint="t-1")
    assert ended.code == 1
    assert "conflict   a.txt: edited since" in ended.out
    assert "The change below was not made" not in ended.out, "it has no diff"
    report["conflicts"][0]["diff"] = "--- a\n+++ b\n@@ -1 +1 @@\n-4\n+four\n"
    assert "The change below was not made:\n" in stage.run([INITIALIZE, restored], checkpoint="t-1").out
    part = {"uri": uri, "reason": "only 1 of 2", "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-4\n+four\n"}
    report |= {"restored": [], "conflicts": [], "partial": [part]}
    ended = stage.run([INITIALIZE, restored], checkpoint="t-1")
    assert ended.code == 1
    assert "in part    a.txt: only 1 of 2" in ended.out
    assert "\nThis part of the restore was not made:\n    --- a\n" in ended.out
    assert "    +four" in ended.out
    assert "undo this with" in ended.out
    nothing = {"restored": [], "unchanged": [], "deleted": [], "conflicts": [], "checkpoint": None}
    ended = stage.run(
        [INITIALIZE, ["answer", ["handrail/checkpoint/restore", {"result": nothing}]]], checkpoint="t-1"
    )
    assert (ended.code, "nothing to restore" in ended.out) == (0, True)
    assert "undo this" not in ended.out


def test_an_unknown_checkpoint_is_answered_with_those_that_exist(stage: Stage) -> None:
    refused = ["answer", ["handrail/checkpoint/restore", {"error": {"code": -32803, "message": "unknown"}}]]
    ended = stage.run([INITIALIZE, refused, LISTED], checkpoint="t-9")
    assert ended.code == 2
    assert "This workspace has no checkpoint t-9. It has t-1." in ended.err
