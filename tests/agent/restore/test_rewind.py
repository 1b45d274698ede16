"""Going back in a session with a checkpoint: its conversation, with or without its documents, and again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench import Bench
from handrail.adapters.files.disk import Disk
from handrail.adapters.state.session_log import SessionLog
from handrail.agent.archive import Archive, Busy, UnknownSession
from handrail.agent.turns import UnknownId
from handrail.core.checkpoint import Snapshot, StepId
from handrail.core.conversation import journal
from handrail.core.conversation.journal import Entry, Rewound, Said, TurnBegun
from handrail.core.conversation.message import AssistantMessage, UserMessage
from handrail.core.documents.change import Change, Landing
from handrail.core.ledger.report import State
from handrail.ports import CheckpointError
from handrail.testing import answer, call, lay_out, snapshot


@pytest.fixture
def kept(bench: Bench) -> Bench:
    """A bench that writes its sessions down, with one file."""
    bench.host.archive = Archive(journals=SessionLog(lambda: bench.state.parent / "sessions"))
    lay_out(bench.root, {"a.txt": b"0\n"})
    return bench


async def turns(bench: Bench, count: int) -> list[str]:
    """Turns of one session, each with two steps, each of which changes the file; the ids of the turns."""
    answers: list[dict[str, object]] = []
    for number in range(count):
        for step in (1, 2):
            content = f"{number + 1}.{step}\n"
            answers.append(answer(f"I write {content}", call("write_file", path="a.txt", content=content)))
        answers.append(answer(f"Done {number + 1}."))
    bench.says(*answers)
    found = []
    for number in range(count):
        report = await bench.turn("s-1" if number else None)
        found.append(report.turn)
    return found


def said(bench: Bench) -> list[str]:
    return [each.text.strip() for each in bench.history() if isinstance(each, AssistantMessage)]


def restarted(bench: Bench) -> None:
    """Another server, which knows only what is written down."""
    bench.host.sessions.clear()
    bench.host.turns.clear()
    bench.host.archive = Archive(journals=bench.host.archive.journals)


FIRST = ["I write 1.1", "I write 1.2", "Done 1."]
SECOND = ["I write 2.1", "I write 2.2", "Done 2."]


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_session_goes_back_to_before_a_turn(kept: Bench, is_restarted: bool) -> None:
    first, second = await turns(kept, 2)
    if is_restarted:
        restarted(kept)
    report = await kept.restore(second, conversation=True)
    assert report.conversation is not None
    assert report.conversation.session == "s-1"
    assert [each.turn for each in report.conversation.turns] == [first]
    assert snapshot(kept.root) == {"a.txt": b"1.2\n"}
    assert said(kept) == FIRST
    restarted(kept)
    assert [each.turn for each in await kept.host.resume("s-1")] == [first]
    assert said(kept) == FIRST
    kept.says(*[answer("")] * 3, answer("Otherwise."))
    await kept.turn("s-1")
    assert said(kept) == [*FIRST, "Otherwise."]


async def test_to_before_a_step_and_before_the_first_turn(kept: Bench) -> None:
    first, second = await turns(kept, 2)
    await kept.restore(f"{second}.2", conversation=True)
    assert (said(kept), snapshot(kept.root)) == ([*FIRST, SECOND[0]], {"a.txt": b"2.1\n"})
    report = await kept.restore(first, following=True, conversation=True)
    assert report.conversation is not None
    assert report.conversation.turns == ()
    assert (said(kept), snapshot(kept.root)) == ([], {"a.txt": b"0\n"})


async def test_the_conversation_alone_and_back_again(kept: Bench) -> None:
    first, second = await turns(kept, 2)
    report = await kept.restore(first, files=False, conversation=True)
    assert said(kept) == []
    assert snapshot(kept.root) == {"a.txt": b"2.2\n"}
    assert report.checkpoint is not None
    restarted(kept)
    redone = await kept.restore(report.checkpoint, conversation=True)
    assert said(kept) == FIRST + SECOND
    assert redone.conversation is not None
    assert [each.turn for each in redone.conversation.turns] == [first, second]
    assert redone.checkpoint is not None
    await kept.restore(redone.checkpoint, conversation=True)
    assert said(kept) == []


async def test_documents_and_conversation_are_redone_together(kept: Bench) -> None:
    _, second = await turns(kept, 2)
    report = await kept.restore(second, conversation=True)
    assert report.checkpoint is not None
    await kept.restore(report.checkpoint, conversation=True)
    assert (said(kept), snapshot(kept.root)) == (FIRST + SECOND, {"a.txt": b"2.2\n"})


async def test_nothing_is_cut_off_the_journal(kept: Bench) -> None:
    first, second = await turns(kept, 2)
    before = await kept.host.archive.journals.load("s-1")
    assert before is not None
    await kept.restore(first, files=False, conversation=True)
    after = await kept.host.archive.journals.load("s-1")
    assert after is not None
    assert after[: len(before)] == before
    fork = await kept.host.fork("s-1", second)
    assert len(kept.history(fork)) == 12, "what was taken back can still be gone on with elsewhere"


async def test_a_turn_that_was_taken_back_is_not_taken_back_twice(kept: Bench) -> None:
    first, second = await turns(kept, 2)
    await kept.restore(first, files=False, conversation=True)
    kept.says(answer("Anew."))
    await kept.turn("s-1")
    report = await kept.restore(second, files=False, conversation=True)
    assert report.conversation is not None
    assert len(report.conversation.turns) == 1
    assert said(kept) == ["Anew."]


async def test_a_running_turn_is_not_taken_from_under_its_feet(kept: Bench) -> None:
    first, *_ = await turns(kept, 1)
    kept.provider = type(kept)(kept.root, kept.state).provider  # one that does not answer
    running = kept.host.start("Go on.", "s-1")
    with pytest.raises(UnknownId, match="has a running turn"):
        await kept.restore(first, conversation=True)
    assert snapshot(kept.root) == {"a.txt": b"1.2\n"}
    await kept.host.cancel(running.id)
    await kept.restore(first, conversation=True)
    assert snapshot(kept.root) == {"a.txt": b"0\n"}


async def test_no_turn_begins_while_its_session_goes_back(kept: Bench) -> None:
    first, *_ = await turns(kept, 1)
    refused = []

    class Hasty(Disk):
        """Begins a turn whenever a document is changed."""

        async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
            with pytest.raises(UnknownId, match="being rewound"):
                kept.host.start("Go on.", "s-1")
            refused.append(label)
            return await super().apply(changes, label)

    kept.editor = Hasty()
    await kept.restore(first, conversation=True)
    assert refused
    assert said(kept) == []


async def test_what_has_no_conversation_is_refused_before_anything_is_touched(kept: Bench) -> None:
    step = StepId(session="", turn="q-7", number=1, label="A quick fix")
    await kept.repo.after_command(step, await changed(kept, step))
    with pytest.raises(CheckpointError, match="does not belong to a conversation"):
        await kept.restore("q-7", conversation=True)
    step = StepId(session="s-9", turn="t-7", number=1, label="Of another journal")
    await kept.repo.after_command(step, await changed(kept, step))
    with pytest.raises(UnknownSession, match=r"s-9\) does not have the turn 't-7'.* `--conversation`"):
        await kept.restore("t-7", conversation=True)
    with pytest.raises(CheckpointError, match="no checkpoint t-8"):
        await kept.restore("t-8", conversation=True)
    assert snapshot(kept.root) == {"a.txt": b"t-7\n"}


async def changed(bench: Bench, step: StepId) -> Snapshot:
    """The snapshot before a command that writes the turn's name."""
    taken = await bench.repo.before_command(step)
    (bench.root / "a.txt").write_text(f"{step.turn}\n")
    return taken


async def test_the_record_says_where_in_the_conversation(kept: Bench) -> None:
    (first,) = await turns(kept, 1)
    (checkpoint,) = await kept.repo.list()
    calls = [each.calls[0].id for each in kept.history() if isinstance(each, AssistantMessage) and each.calls]
    assert [step.call for step in checkpoint.steps] == calls
    assert (checkpoint.session, checkpoint.turn) == ("s-1", first)


async def test_a_turn_that_changed_nothing_can_be_gone_back_to(kept: Bench) -> None:
    kept.says(
        answer("Only words."),
        answer("I write.", call("write_file", path="a.txt", content="1\n")),
        answer("Done."),
    )
    said_only = (await kept.turn()).turn
    changed_too = (await kept.turn("s-1")).turn
    report = await kept.restore(said_only, conversation=True)
    assert report.conversation is not None
    assert (report.conversation.session, report.conversation.turns) == ("s-1", ())
    assert snapshot(kept.root) == {"a.txt": b"1\n"}, "that turn changed no document"
    assert report.checkpoint is not None
    await kept.restore(report.checkpoint, conversation=True)
    assert said(kept) == ["Only words.", "I write.", "Done."]
    restarted(kept)
    report = await kept.restore(said_only, conversation=True, following=True)
    assert snapshot(kept.root) == {"a.txt": b"0\n"}
    assert report.restored
    with pytest.raises(CheckpointError, match=f"no checkpoint {said_only}"):
        await kept.restore(said_only)
    assert changed_too in {each.id for each in await kept.repo.list()}


async def test_a_copied_turn_belongs_to_the_session_that_had_it(kept: Bench) -> None:
    kept.says(answer("Only words."), answer("More."))
    only = (await kept.turn()).turn
    fork = await kept.host.fork("s-1", only)
    report = await kept.restore(only, files=False, conversation=True)
    assert report.conversation is not None
    assert report.conversation.session == "s-1"
    assert said_in(kept, fork) == ["Only words."]


def said_in(bench: Bench, session: str) -> list[str]:
    return [each.text for each in bench.history(session) if isinstance(each, AssistantMessage)]


async def test_what_another_process_took_back_stays_taken_back(kept: Bench) -> None:
    first, _ = await turns(kept, 2)
    other = Bench(kept.root, kept.state)
    other.host.archive = Archive(journals=SessionLog(lambda: kept.state.parent / "sessions"))
    await other.restore(first, files=False, conversation=True)
    assert said(kept) == FIRST + SECOND, "it does not know yet"
    kept.says(answer("Anew."))
    await kept.host.catch_up("s-1")
    await kept.turn("s-1")
    assert said(kept) == ["Anew."]
    restarted(kept)
    await kept.host.resume("s-1")
    assert said(kept) == ["Anew."]


async def test_what_only_this_process_wrote_is_not_read_again(kept: Bench) -> None:
    await turns(kept, 2)
    before = kept.host.sessions["s-1"]
    await kept.host.catch_up("s-1")
    assert kept.host.sessions["s-1"] is before


async def test_a_session_outlives_its_journal(kept: Bench) -> None:
    """Somebody has removed it; what is lost is lost, but not what is known here."""
    await turns(kept, 1)
    (journal_file,) = kept.state.parent.glob("sessions/*.jsonl")
    journal_file.unlink()
    for number in (1, 2, 3):
        kept.says(*[answer("")] * (2 + number), answer("Anew. " * 1000))
        await kept.host.catch_up("s-1")
        report = await kept.turn("s-1")
        assert report.state is State.FINISHED
    assert said(kept)[:3] == FIRST


async def test_no_two_processes_have_turns_in_a_session(kept: Bench) -> None:
    first, *_ = await turns(kept, 1)
    other = Bench(kept.root, kept.state)
    other.host.archive = Archive(journals=SessionLog(lambda: kept.state.parent / "sessions"))
    await other.host.resume("s-1")
    kept.provider = type(kept)(kept.root, kept.state).provider  # one that does not answer
    running = kept.host.start("Go on.", "s-1")
    with pytest.raises(Busy, match="Another window or process is working in"):
        other.host.start("Me too.", "s-1")
    with pytest.raises(Busy, match="Another window or process is working in"):
        await other.restore(first, conversation=True)
    assert snapshot(kept.root) == {"a.txt": b"1.2\n"}
    await kept.host.cancel(running.id)
    await other.restore(first, conversation=True)
    assert snapshot(kept.root) == {"a.txt": b"0\n"}


# ---- The journal alone ------------------------------------------------------------------------------


def told(entries: Sequence[Entry]) -> list[str]:
    return [getattr(message, "text", "") for message in journal.replay(entries).messages]


def test_any_number_of_ways_back() -> None:
    entries: list[Entry] = []
    for number in (1, 2, 3):
        entries.append(TurnBegun(turn=f"t-{number}", prompt="", mode="edit"))
        entries.append(Said(message=UserMessage(text=str(number))))
    entries.append(Rewound(id="r-1", before="t-2"))
    assert told(entries) == ["1"]
    entries += [TurnBegun(turn="t-4", prompt="", mode="edit"), Said(message=UserMessage(text="4"))]
    assert told(entries) == ["1", "4"]
    entries.append(Rewound(id="r-2", before="r-1"))
    assert told(entries) == ["1", "2", "3"]
    entries.append(Rewound(id="r-3", before="t-3"))
    assert told(entries) == ["1", "2"]
    entries.append(Rewound(id="r-4", before="r-2"))
    assert told(entries) == ["1", "4"]
    entries.append(Rewound(id="r-5", before="t-1"))
    assert told(entries) == []
    entries.append(Rewound(id="r-6", before="nothing known"))
    assert told(entries) == []
