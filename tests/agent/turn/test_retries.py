"""What a retry makes good is closed, whatever was wrong with the call; what none makes good stays open."""

from __future__ import annotations

from typing import Any

import pytest

from bench import Bench
from handrail.core.documents.change import Status
from handrail.core.ledger.report import Superseded
from handrail.testing import answer, call, lay_out

FILES = {
    "src/a.txt": b"one\ntwo\nthree\n",
    "b.txt": b"four\n",
    ".editorconfig": b"[latin.txt]\ncharset = latin1\n",
    "latin.txt": "Caf\u00e9\nGr\u00fc\u00dfe\n".encode("latin-1"),
}


def edit(path: str, old: str, new: str) -> dict[str, object]:
    return call("patch", path=path, old_string=old, new_string=new)


def raw(name: str, arguments: str) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


def v4a(*rows: str) -> dict[str, object]:
    return call("patch", mode="v4a", patch="\n".join(("*** Begin Patch", *rows, "*** End Patch")))


GOOD = edit("src/a.txt", "two", "2")
OF_ONE = edit("src/a.txt", "one", "1")
WRITTEN = call("write_file", path="new.txt", content="x\n")
NOWHERE = edit("src/a.txt", "zzzzz qqqqq", "wwww")
MADE_GOOD: dict[str, tuple[Any, ...]] = {
    "an argument is missing": (call("patch", path="src/a.txt", old_string="two"), GOOD),
    "the path is missing": (call("patch", old_string="two", new_string="2"), GOOD),
    "the path has another name": (call("patch", file_path="src/a.txt", old_string="t", new_string="2"), GOOD),
    "an argument of another kind": (call("patch", path="src/a.txt", old_string=2, new_string="2"), GOOD),
    "an unknown mode": (call("patch", mode="regex", path="src/a.txt", old_string="t"), GOOD),
    "no JSON": (raw("patch", '{"path": "src/a.txt", "old_string": "two", "new_'), GOOD),
    "no JSON, and no path": (raw("patch", '{"old_string": "two", "new_'), GOOD),
    "no JSON, and a wrong path": (
        raw("patch", '{"path": "lib/a.txt", "old_'),
        edit("lib/a.txt", "two", "z"),
        GOOD,
    ),
    "no object": (raw("patch", '["src/a.txt"]'), GOOD),
    "nothing at all": (raw("patch", ""), GOOD),
    "twice no JSON": (raw("patch", "{"), raw("patch", "{{"), GOOD),
    "a wrong path": (edit("lib/a.txt", "two", "2"), GOOD),
    "a wrong path, and other texts": (edit("lib/other.txt", "tow", "22"), GOOD),
    "two wrong paths": (edit("lib/a.txt", "two", "2"), edit("a/a.txt", "two", "2"), GOOD),
    "a text like none": (NOWHERE, GOOD),
    "two texts like none": (NOWHERE, edit("src/a.txt", "kkkkkkk", "wvwv"), GOOD),
    "a text like none, then the whole file": (NOWHERE, call("write_file", path="src/a.txt", content="x\n")),
    "the same again": (NOWHERE, NOWHERE, GOOD),
    "nearly right twice": (edit("src/a.txt", "t wo", "2"), edit("src/a.txt", "t wo", "2"), GOOD),
    "an unreadable patch": (v4a("*** Update File: src/a.txt", "nonsense"), GOOD),
    "a file that is there already": (v4a("*** Add File: src/a.txt", "+x"), GOOD),
    "no content": (call("write_file", path="new.txt"), WRITTEN),
    "no name": (call("write_file", content="x\n"), WRITTEN),
    "content cut off": (raw("write_file", '{"path": "new.txt", "content": "x'), WRITTEN),
    "unreadable content, then an edit": (raw("write_file", '{"path": "src/a.txt", "content": "x'), GOOD),
    "what it does stands there already": (NOWHERE, edit("src/a.txt", "2", "two"), GOOD),
    "in between it reads": (raw("patch", "{"), call("read_file", path="src/a.txt"), GOOD),
    "in between it errs nearly": (raw("patch", "{"), edit("src/a.txt", "t wo", "2"), GOOD),
    "two at once, two retries": ([raw("patch", "{"), raw("patch", "[")], [GOOD, edit("b.txt", "four", "4")]),
    "two at once, two retries in one document": ([raw("patch", "{"), raw("patch", "[")], [GOOD, OF_ONE]),
    "two at once, two retries, a read between": (
        [raw("patch", "{"), raw("patch", "[")],
        [GOOD, call("read_file", path="src/a.txt"), OF_ONE],
    ),
    "three at once, three retries in two documents": (
        [raw("patch", "{"), raw("patch", "["), raw("patch", "(")],
        [GOOD, edit("b.txt", "four", "4"), OF_ONE],
    ),
    "a character that no text can have": (edit("src/a.txt", "two", "2\0"), GOOD),
    "half of a character": (edit("src/a.txt", "two", "2\ud83d"), GOOD),
    "a whole file with such a character": (call("write_file", path="new.txt", content="x\0\n"), WRITTEN),
    "a whole file with such a character, then an edit": (
        call("write_file", path="src/a.txt", content="x\0\n"),
        GOOD,
    ),
    "a character that the document's encoding lacks": (
        edit("latin.txt", "Gr\u00fc\u00dfe", "\u20ac 5"),
        edit("latin.txt", "Gr\u00fc\u00dfe", "5 Euro"),
    ),
    "such a character, and another line": (
        edit("latin.txt", "Gr\u00fc\u00dfe", "\u20ac 5"),
        edit("latin.txt", "Caf\u00e9", "5 Euro"),
    ),
    "a patch of two hunks": (
        v4a("*** Update File: src/a.txt", "@@", "-zzzzz", "+Z", "@@", "-two", "+2"),
        v4a("*** Update File: src/a.txt", "@@", "-one", "+Z", "@@", "-two", "+2"),
    ),
}


async def play(bench: Bench, *steps: Any) -> tuple[set[str], list[bool]]:
    """The failures of a turn that nothing made good, and for each that is open whether it is a mere hint."""
    lay_out(bench.root, FILES)
    calls = [step if isinstance(step, list) else [step] for step in steps]
    bench.says(*(answer("", *made) for made in calls), answer("Done."))
    report = await bench.turn()
    failed = {each.mutation.id for each in report.outcomes if each.status is Status.FAILED}
    good = {event.failure for event in bench.events if isinstance(event, Superseded)}
    return failed - good, [known.lowered for known in bench.host.ledger.open]


@pytest.mark.parametrize("steps", MADE_GOOD.values(), ids=MADE_GOOD.keys())
async def test_a_retry_closes_what_it_makes_good(bench: Bench, steps: tuple[Any, ...]) -> None:
    assert await play(bench, *steps) == (set(), [])


STAYS: dict[str, tuple[Any, ...]] = {
    "no retry": (raw("patch", "{"),),
    "a sibling": ([raw("patch", "{"), GOOD],),
    "the retry fails": (raw("patch", "{"), edit("src/a.txt", "t wo", "2")),
    "another tool": (raw("patch", "{"), WRITTEN),
    "one of two calls": (raw("patch", "{"), [GOOD, edit("b.txt", "four", "4")]),
    "another document": (call("patch", path="src/a.txt"), edit("b.txt", "four", "4")),
    "a text like none, another document": (NOWHERE, edit("b.txt", "four", "4")),
    "one of two texts like none": ([NOWHERE, edit("src/a.txt", "kkkkk", "mmm")], GOOD),
    "a character that no text can have, another document": (
        edit("src/a.txt", "two", "2\0"),
        edit("b.txt", "four", "4"),
    ),
    "one hunk is left out": (
        v4a("*** Update File: src/a.txt", "@@", "-zzzzz", "+Z", "@@", "-two", "+2"),
        v4a("*** Update File: src/a.txt", "@@", "-two", "+2"),
    ),
    "a text with a place": (edit("src/a.txt", "threee", "3\n"), edit("src/a.txt", "one", "1")),
    "one of two at once": ([raw("patch", "{"), raw("patch", "[")], GOOD),
    "two calls of one document": (raw("patch", "{"), [GOOD, OF_ONE]),
    "three calls, of which one document has two": (
        [raw("patch", "{"), raw("patch", "[")],
        [GOOD, OF_ONE, edit("b.txt", "four", "4")],
    ),
    "a call that fails is counted": (
        [raw("patch", "{"), raw("patch", "[")],
        [edit("src/a.txt", "t wo", "2"), OF_ONE, edit("src/a.txt", "three", "3")],
    ),
    "a retry of another failure is counted": (
        [raw("patch", "{"), raw("patch", "["), edit("src/a.txt", "t wo", "2")],
        [OF_ONE, edit("src/a.txt", "three", "3"), GOOD],
    ),
    "two calls of one document, then one": (raw("patch", "{"), [GOOD, OF_ONE], edit("b.txt", "four", "4")),
    "one of three, then one more": (
        [raw("patch", "{"), raw("patch", "["), raw("patch", "(")],
        [GOOD, OF_ONE],
        edit("b.txt", "four", "4"),
    ),
}
LEFT = {  # of those of which more than one is left, or could be
    "one of two texts like none": 1,
    "one of two at once": 1,
    "three calls, of which one document has two": 2,
    "a call that fails is counted": 3,
    "a retry of another failure is counted": 2,
    "one of three, then one more": 1,
}


@pytest.mark.parametrize("name", STAYS)
async def test_what_no_retry_makes_good_stays_open(bench: Bench, name: str) -> None:
    left, shown = await play(bench, *STAYS[name])
    assert left
    assert len(shown) == LEFT.get(name, len(left))


async def test_a_landing_of_another_turn_is_no_retry(bench: Bench) -> None:
    assert (await play(bench, raw("patch", "{")))[0]
    bench.says(answer(""), answer(""), answer(""), answer("", GOOD), answer("Done."))
    await bench.turn()
    assert len(bench.host.ledger.open) == 1
