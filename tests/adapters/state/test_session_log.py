"""Journals on the real disk: what is torn, what is foreign, and turns that are killed."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest

from bench import Bench
from core.test_loop_properties import is_well_formed
from handrail.adapters.state.session_log import SessionLog
from handrail.agent.archive import Archive, Busy, UnknownSession
from handrail.agent.turns import UnknownId
from handrail.core.conversation import as_json, journal
from handrail.core.conversation.journal import (
    UNKNOWN,
    Answered,
    Known,
    Renamed,
    Replaced,
    Rewound,
    Said,
    Touched,
    TurnBegun,
    TurnEnded,
)
from handrail.core.conversation.message import (
    AssistantMessage,
    Excerpt,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from handrail.core.ledger.report import Notice, State
from handrail.core.results.redact import REDACTED
from handrail.testing import answer, call, lay_out, script

KILLS = int(os.environ.get("HANDRAIL_KILLS", "10"))
CALL = ToolCall(id="c1", name="patch", arguments="{", item="fc_1")
ENTRIES = (
    TurnBegun(turn="t-1", prompt="Do\nit.", mode="edit"),
    TurnBegun(turn="t-0", prompt="Of another.", mode="edit", is_copied=True, count=12),
    Said(message=UserMessage(text="Do\nit.", context=(Excerpt(path="a", first_line=3, text="\u2028\n"),))),
    Said(message=AssistantMessage(text="Yes \ud800.", calls=(CALL,), private="openai:m\n[]")),
    Answered(result=ToolResult(call="c1", text="no", failure=UNKNOWN)),
    Said(message=ToolMessage(results=(ToolResult(call="c1", text="no"),))),
    Touched(paths=("a", "b")),
    Known(documents=(("file:///a", "1f"), ("file:///b", "2e"))),
    Replaced(messages=(UserMessage(text="short"),)),
    TurnEnded(turn="t-1", state="finished", reason=None),
    Rewound(id="r-1", before="t-1", call="c1"),
    Renamed(title="Do \u2028 it"),
    TurnEnded(
        turn="t-1",
        state="failed",
        reason="No.",
        usage=Usage(steps=2, input_tokens=9, output_tokens=4, cached_tokens=1, cost_usd=0.5),
    ),
)


@pytest.fixture
def log(tmp_path: Path) -> SessionLog:
    return SessionLog(lambda: tmp_path / "sessions")


@pytest.fixture
def kept(bench: Bench) -> Bench:
    """A bench that writes its sessions down."""
    bench.host.archive = Archive(journals=SessionLog(lambda: bench.state.parent / "sessions"))
    return bench


async def test_what_was_written_is_read_again(log: SessionLog) -> None:
    for entry in ENTRIES:
        log.append("s-1", [entry])
    read = await log.load("s-1")
    assert read is not None
    assert [as_json.line(entry) for entry in read] == [as_json.line(entry) for entry in ENTRIES]
    (info,) = await log.list()
    assert (info.id, info.title, info.turns) == ("s-1", "Do \u2028 it", 13)


async def test_a_journal_that_changed_is_read_again(log: SessionLog, tmp_path: Path) -> None:
    file = tmp_path / "sessions" / "s-1.jsonl"
    file.parent.mkdir()

    def write(*prompts: str) -> None:
        rows = (TurnBegun(turn="t-1", prompt=each, mode="edit") for each in prompts)
        file.write_text("".join(as_json.line(row) + "\n" for row in rows))

    async def read() -> list[str]:
        entries = await log.load("s-1")
        assert await log.load("s-1") is entries
        return [each.prompt for each in entries or () if isinstance(each, TurnBegun)]

    write("One.")
    assert await read() == ["One."]
    time_ns = file.stat().st_mtime_ns
    write("Two.")
    os.utime(file, ns=(time_ns + 1, time_ns + 1))  # a clock may stand still so long
    assert await read() == ["Two."]
    write("Two.", "Three.")
    os.utime(file, ns=(time_ns, time_ns))
    assert await read() == ["Two.", "Three."]
    file.unlink()
    assert await read() == []
    write("Two.", "Four.")
    assert await read() == ["Two.", "Four."]
    file.unlink()
    file.mkdir()
    assert await log.load("s-1") is None


async def test_the_newest_sessions_are_listed_by_their_last_title(log: SessionLog, tmp_path: Path) -> None:
    for number in range(5):
        log.append(f"s-{number}", ENTRIES[:1])
        await log.wait_until_written()
        os.utime(tmp_path / "sessions" / f"s-{number}.jsonl", (number, number))
    (tmp_path / "sessions" / "s-9.jsonl").write_text("no entry\n")
    (tmp_path / "sessions" / "gone.jsonl").symlink_to("nowhere")
    assert [each.id for each in await log.list(limit=2)] == ["s-4", "s-3"]
    log.append("s-0", [Renamed(title="One"), Renamed(title="Two")])
    titles = [(each.id, each.title) for each in await log.list()]
    assert titles == [("s-0", "Two"), *((f"s-{number}", "Do") for number in (4, 3, 2, 1))]
    assert await log.list(limit=0) == ()


LATER = TurnBegun(turn="t-2", prompt="More.", mode="edit")


@pytest.mark.parametrize(
    "entries",
    [
        [*ENTRIES[:1], Rewound(id="r-1", before="t-1")],
        [*ENTRIES[:1], LATER, Rewound(id="r-1", before="t-2")],
        [*ENTRIES[:1], LATER, Rewound(id="r-1", before="t-1"), Rewound(id="r-2", before="r-1")],
        [*ENTRIES[:1], Rewound(id="r-1", before="t-1"), LATER],
        [*ENTRIES[:1], *ENTRIES[2:4], LATER, Rewound(id="r-1", before="t-1", call="c1")],
        [*ENTRIES[:1], LATER, Rewound(id="r-1", before="t-1", call="never said")],
    ],
)
async def test_a_session_is_listed_with_the_turns_that_it_has(
    entries: list[journal.Entry], log: SessionLog
) -> None:
    log.append("s-1", entries)
    (info,) = await log.list()
    assert (info.title, info.turns) == ("Do", len(journal.replay(entries).turns))


async def test_a_session_is_removed_for_good(log: SessionLog, tmp_path: Path) -> None:
    log.append("s-1", ENTRIES)
    assert await log.remove("s-1")
    assert await log.load("s-1") is None
    assert await log.remove("s-1"), "it is gone already"
    assert await log.remove("../s-1"), "there is none"
    (tmp_path / "sessions" / "s-2.jsonl").mkdir()
    assert not await log.remove("s-2")


async def test_a_session_that_is_in_use_is_not_deleted(kept: Bench) -> None:
    kept.says(answer("First."), answer("Second."))
    report = await kept.turn()
    release = kept.host.archive.journals.claim(report.session)
    assert release is not None
    with pytest.raises(Busy):
        await kept.host.delete(report.session)
    release()
    await kept.host.archive.rename(report.session, "  The\nfirst ")
    assert [each.title for each in await kept.host.archive.journals.list()] == ["The first"]
    await kept.host.delete(report.session)
    assert await kept.host.archive.journals.list() == ()
    for work in (kept.host.delete(report.session), kept.host.archive.rename(report.session, "x")):
        with pytest.raises(UnknownSession):
            await work
    assert not list((kept.state.parent / "sessions").iterdir())
    with pytest.raises(UnknownId):
        kept.host.start("Go on.", report.session)


async def test_a_torn_line_is_skipped_and_the_next_begins_anew(log: SessionLog, tmp_path: Path) -> None:
    log.append("s-1", ENTRIES[:2])
    await log.wait_until_written()
    file = tmp_path / "sessions" / "s-1.jsonl"
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        log.append("s-1", [ENTRIES[-1]])
        read = await log.load("s-1")
        assert read is not None
        assert read[-1] == ENTRIES[-1]
        assert all(entry in (*ENTRIES[:2], ENTRIES[-1]) for entry in read)


WRITTEN = [len(f"{as_json.line(entry)}\n".encode()) for entry in ENTRIES[1:5]]
ENDS = list(accumulate(WRITTEN))  # where each line ends


@pytest.mark.parametrize("room", [0, 1, 30, 90, 200, 400, *ENDS[:-1], *(end - 1 for end in ENDS)])
async def test_what_a_full_disk_does_not_take_is_told_and_written_later(
    log: SessionLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, room: int
) -> None:
    """As Linux does it: what fits is written, and only the next write fails."""
    log.append("s-1", ENTRIES[:1])
    await log.wait_until_written()
    free, write = [room], os.write

    def write_what_fits(handle: int, data: bytes) -> int:
        if not free[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = write(handle, data[: free[0]])
        free[0] -= done
        return done

    monkeypatch.setattr(os, "write", write_what_fits)
    log.append("s-1", ENTRIES[1:5])
    await log.wait_until_written()
    is_whole = room == ENDS[-1] - 1  # all but the end of the last line
    assert ("Session s-1 could not be written to its journal" in caplog.text) != is_whole
    log.append("s-1", ENTRIES[5:6])
    await log.wait_until_written()
    monkeypatch.undo()
    log.append("s-1", ENTRIES[6:])
    assert list(map(as_json.line, await log.load("s-1") or ())) == list(map(as_json.line, ENTRIES))


@pytest.mark.parametrize("in_terminal", [False, True])
async def test_a_conversation_that_cannot_be_stored_is_told(kept: Bench, in_terminal: bool) -> None:
    kept.terms = replace(kept.terms, is_headless=in_terminal)
    folder = kept.state.parent / "sessions"
    folder.write_text("No folder.")  # as if it must not be written, which root always may
    kept.says(answer("Yes."), answer("Yes."))
    assert (await kept.turn()).state is State.FINISHED
    notices = [event.text for event in kept.events if isinstance(event, Notice)]
    way_on = (
        "Then send another message in this conversation: that stores the rest too. If handrail ends before "
        "that, the rest is lost."
    )
    if in_terminal:
        way_on = (
            "In `handrail chat`, your next message stores the rest too. `handrail run` ends now, so the rest "
            "is lost."
        )
    assert notices == [
        "This conversation could not be stored completely. Check the free space and the permissions of "
        f"{folder}. {way_on}"
    ]
    folder.unlink()
    await kept.turn("s-1")
    assert len([event for event in kept.events if isinstance(event, Notice)]) == 1
    entries = await kept.host.archive.journals.load("s-1")
    assert entries is not None
    assert [each.state for each in journal.replay(entries).turns] == ["finished"] * 2


async def test_a_fork_or_a_title_that_cannot_be_stored_is_refused(
    kept: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.says(answer("Yes."))
    report = await kept.turn()

    def write(handle: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "write", write)
        with pytest.raises(UnknownSession, match="could not be forked"):
            await kept.host.fork(report.session, report.turn)
        with pytest.raises(UnknownSession, match="title"):
            await kept.host.archive.rename(report.session, "Mine")
    assert set(kept.host.sessions) == {report.session}
    assert [each.id for each in await kept.host.archive.journals.list()] == [report.session]


async def test_looking_at_a_journal_does_not_make_what_others_wrote_known(
    log: SessionLog, tmp_path: Path
) -> None:
    """A page that shows what another window said must not keep the model from hearing of it."""
    other = SessionLog(lambda: tmp_path / "sessions")
    log.append("s-1", ENTRIES[:1])
    await log.wait_until_written()
    found = await log.read("s-1")
    assert found is not None
    entries, size = found
    assert entries == ENTRIES[:1]
    assert await log.read("s-1", size) is None, "there is nothing new"
    log.append("s-1", ENTRIES[1:2])
    assert await log.read("s-1", size) is None, "what was written here was heard"
    other.append("s-1", ENTRIES[2:3])
    await other.wait_until_written()
    found = await log.read("s-1", size)
    assert found is not None
    assert found[0] == ENTRIES[:3]
    assert await log.is_behind("s-1")
    assert await log.load("s-1") == ENTRIES[:3]
    assert not await log.is_behind("s-1")


async def test_what_is_no_entry_is_skipped(log: SessionLog, tmp_path: Path) -> None:
    log.append("s-1", ENTRIES[:1])
    await log.wait_until_written()
    with (tmp_path / "sessions" / "s-1.jsonl").open("ab") as file:
        for wrong in (b"[]", b"{}", b'{"kind": 3}', b'{"kind": "said"}', b"\xff\xfe", b"[" * 9999, b'"x"'):
            file.write(wrong + b"\n")
    assert await log.load("s-1") == ENTRIES[:1]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("costUsd", 10**400),
        ("costUsd", "many"),
        ("costUsd", float("nan")),
        ("inputTokens", 11.5),
        ("inputTokens", -1),
        ("outputTokens", 10**400),
        ("cachedTokens", None),
    ],
)
def test_a_turn_has_ended_whatever_its_server_counted(key: str, value: object) -> None:
    told = json.loads(as_json.line(ENTRIES[-1]))
    told["usage"][key] = value
    read = as_json.read(json.dumps(told))
    assert isinstance(read, TurnEnded)
    assert (read.turn, read.state, read.usage.steps) == ("t-1", "failed", 2)
    total = journal.replay([TurnBegun(turn="t-1", prompt="", mode="edit"), read, read]).usage
    assert as_json.read(as_json.line(TurnEnded(turn="t-1", state="failed", usage=total))) is not None


@pytest.mark.parametrize("key", ["name", "arguments", "item"])
@pytest.mark.parametrize("value", [None, 7, ["x"]])
async def test_a_call_that_a_server_garbled_keeps_its_place(kept: Bench, key: str, value: object) -> None:
    """A version before this one wrote down what came."""
    call = {"id": "c1", "name": "read_file", "arguments": "{}", "item": "", key: value}
    lines = [
        {"kind": "begun", "turn": "t-1", "prompt": "Do it.", "mode": "edit"},
        {"kind": "said", "message": {"role": "user", "text": "Do it."}},
        {"kind": "said", "message": {"role": "assistant", "text": "Yes.", "calls": [call]}},
    ]
    folder = kept.state.parent / "sessions"
    folder.mkdir()
    (folder / "s-1.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    await kept.host.resume("s-1")
    kept.says(answer(""), answer("Done."))
    assert (await kept.turn("s-1")).state is State.FINISHED
    assert [name for name, _ in kept.results()] == ["c1"]


async def test_an_id_leads_to_no_other_file(log: SessionLog, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text(as_json.line(ENTRIES[0]) + "\n")
    for wrong in ("../secret", "", ".", "a/b", "x" * 99):
        log.append(wrong, ENTRIES)
        assert await log.load(wrong) is None
    assert [path.name for path in tmp_path.rglob("*")] == ["secret.jsonl"]


async def test_a_session_is_taken_up_by_another_server(kept: Bench) -> None:
    lay_out(kept.root, {"a.txt": b"one\n"})
    kept.says(answer("", call("patch", path="a.txt", old_string="one", new_string="ONE")), answer("Done."))
    await kept.turn()
    before = kept.history()
    kept.host.sessions.clear()
    kept.host.archive = Archive(journals=kept.host.archive.journals)
    (told,) = await kept.host.resume("s-1")
    assert (told.turn, told.prompt, told.state) == ("t-2", "Do it.", "finished")
    assert [repr(message) for message in kept.history()] == [repr(message) for message in before]
    assert kept.host.sessions["s-1"].touched == ("a.txt",)
    kept.says(answer(""), answer(""), answer("Again."))
    report = await kept.turn("s-1")
    assert report.answer == "Again."
    assert (report.usage.steps, report.session_usage.steps) == (1, 3)
    with pytest.raises(UnknownSession, match="s-9"):
        await kept.host.resume("s-9")


async def test_a_session_that_is_taken_up_again_and_again_says_nothing_twice(kept: Bench) -> None:
    kept.says(*map(answer, ("First.", "Second.", "Third.")))
    session = (await kept.turn()).session
    for _ in range(2):
        kept.host.archive = Archive(journals=kept.host.archive.journals)
        await kept.host.resume(session)
        await kept.turn(session)
    kept.host.archive = Archive(journals=kept.host.archive.journals)
    assert len(await kept.host.resume(session)) == 3
    said = [message.text for message in kept.history(session) if isinstance(message, AssistantMessage)]
    assert said == ["First.", "Second.", "Third."]


async def test_a_line_is_there_before_what_follows_from_it(kept: Bench) -> None:
    """Whatever is asked or run next, the journal on the disk knows what led to it."""
    lay_out(kept.root, {"a.txt": b"one\n"})
    file = kept.state.parent / "sessions" / "s-1.jsonl"
    seen: list[str] = []
    copy = f"cat '{file}' > seen.txt"
    kept.says(
        answer("I look.", call("read_file", path="a.txt"), call("terminal", command=copy)),
        answer("Done."),
        acts={number: lambda: seen.append(file.read_text()) for number in (0, 1)},
    )
    await kept.turn()
    assert '"kind":"begun"' in seen[0]
    assert '"role":"user"' in seen[0]
    ran = (kept.root / "seen.txt").read_text()
    assert "I look." in ran, "the calls"
    assert '"kind":"answered"' in ran, "the result of the call before it"
    assert '"role":"tool"' in seen[1]


async def test_a_fork_has_the_conversation_up_to_a_turn(kept: Bench) -> None:
    kept.says(answer("First."), answer("Second."))
    first = await kept.turn()
    await kept.turn(first.session)
    fork = await kept.host.fork(first.session, first.turn)
    assert [type(message) for message in kept.history(fork)] == [UserMessage, AssistantMessage]
    assert len(kept.history(first.session)) == 4
    kept.says(answer(""), answer("Third."))
    assert (await kept.turn(fork)).answer == "Third."
    infos = await kept.host.archive.journals.list()
    assert {info.id for info in infos} == {first.session, fork}
    with pytest.raises(UnknownSession, match="t-99"):
        await kept.host.fork(first.session, "t-99")


async def test_lost_results_are_looked_for_in_the_documents(kept: Bench) -> None:
    lay_out(
        kept.root,
        {"a.txt": b"THE FIRST LINE OF IT\n", "b.txt": b"the other line\n", "c.txt": b"quite another\n"},
    )
    texts = (("a.txt", "the first line of it"), ("b.txt", "the other line"), ("c.txt", "what was there"))
    edits = [
        ToolCall(
            id=f"c{n}",
            name="patch",
            arguments=json.dumps({"path": path, "old_string": old, "new_string": old.upper()}),
        )
        for n, (path, old) in enumerate(texts)
    ]
    lost = (*edits, ToolCall(id="c9", name="ask_user", arguments="{}"))
    kept.host.archive.journals.append(
        "s-1",
        [
            TurnBegun(turn="t-1", prompt="Do it.", mode="edit"),
            Said(message=UserMessage(text="Do it.")),
            Said(message=AssistantMessage(text="", calls=lost)),
        ],
    )
    (told,) = await kept.host.resume("s-1")
    assert told.state is None
    there, not_there, changed, unknown = kept.texts("s-1")
    assert "a.txt: the edit landed." in there
    assert "b.txt: the edit did not land" in not_there
    assert "c.txt: it is unknown whether the edit landed. Read the document." in changed
    assert "unknown whether the call had any effect" in unknown
    assert is_well_formed(kept.history("s-1"))


# ---- Kills ------------------------------------------------------------------------------------------

TURN = """
import asyncio, pathlib, sys
sys.path.insert(0, sys.argv[1])
from bench import Bench
from handrail.adapters.models.scripted import Scripted
from handrail.adapters.state.session_log import SessionLog
from handrail.agent.archive import Archive

async def main():
    folder = pathlib.Path(sys.argv[2])
    bench = Bench(folder / "work", folder / "state")
    bench.host.archive = Archive(journals=SessionLog(lambda: folder / "sessions"))
    bench.provider = Scripted(folder / "script.json")
    print("begun", flush=True)
    await bench.turn()
    print("ended", flush=True)

asyncio.run(main())
"""
STEPS = 12
ROWS = 400


@pytest.mark.parametrize("number", range(KILLS))
async def test_a_turn_that_is_killed_can_be_gone_on_with(number: int, kept: Bench) -> None:
    """At a random moment of a turn; the journal resumes, and every document is a whole one."""
    folder = kept.state.parent
    versions = {b"".join(b"%d\n" % n for n in [*range(ROWS), step]) for step in range(STEPS + 1)}
    lay_out(kept.root, {"a.txt": b"".join(b"%d\n" % n for n in [*range(ROWS), 0])})
    script(
        folder / "script.json",
        *(
            answer(
                f"Step {step}.",
                call("read_file", path="a.txt"),
                call("patch", path="a.txt", old_string=f"399\n{step}", new_string=f"399\n{step + 1}"),
                call("write_file", path=f"new/{step}.txt", content="whole\n" * 50),
            )
            for step in range(STEPS)
        ),
        answer("Done."),
    )
    tests = str(Path(__file__).resolve().parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", TURN, tests, str(folder)], stdout=subprocess.PIPE, bufsize=0
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    chance = random.Random(number)
    wanted = chance.randrange(1, 6 * STEPS)
    file = folder / "sessions" / "s-1.jsonl"
    while process.poll() is None and (not file.exists() or file.read_bytes().count(b"\n") < wanted):
        os.sched_yield()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    assert (kept.root / "a.txt").read_bytes() in versions
    assert all(path.read_bytes() == b"whole\n" * 50 for path in (kept.root / "new").glob("*.txt"))
    await kept.host.resume("s-1")
    history = kept.history("s-1")
    assert is_well_formed(history)
    assert isinstance(history[0], UserMessage)
    done = sum(isinstance(message, AssistantMessage) for message in history)
    ended = script(folder / "more.json", *([answer("")] * done), answer("I go on."), answer("I go on."))
    kept.says(*json.loads(Path(ended.removeprefix("scripted:")).read_text()))
    report = await kept.turn("s-1")
    assert (report.state, report.answer) == (State.FINISHED, "I go on.")
    assert _grew(history, kept.history("s-1"))


def _grew(before: tuple[Message, ...], after: tuple[Message, ...]) -> bool:
    return after[: len(before)] == before


async def test_no_key_is_written_down(tmp_path: Path) -> None:
    log = SessionLog(lambda: tmp_path, lambda: ('sk-"quoted"-0123',))
    log.append("s-1", [TurnBegun(turn="t-1", prompt='use sk-"quoted"-0123 now', mode="edit")])
    entries = await log.load("s-1")
    assert entries is not None
    (begun,) = entries
    assert isinstance(begun, TurnBegun)
    assert begun.prompt == f"use {REDACTED} now"
    assert b"quoted" not in (tmp_path / "s-1.jsonl").read_bytes()
