"""What a model is advised after several failures in a row agrees with the failure, and its candidates too."""

from __future__ import annotations

from bench import Bench
from handrail.agent.turn.edit import outcomes
from handrail.agent.turn.edit.plan import Part, PlannedFile
from handrail.core.conversation.message import ToolMessage
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.core.ledger import report
from handrail.core.ledger.outcome import Mutation, Outcome
from handrail.core.patches.hunk import Hunk
from handrail.core.planning import plan
from handrail.testing import answer, call, lay_out

SAME_AGAIN = "copy its exact lines as the search text"


def result(bench: Bench) -> str:
    """The text of the last result that the model got."""
    results = [message for message in bench.history() if isinstance(message, ToolMessage)]
    return results[-1].results[-1].text


def v4a(*sections: str) -> str:
    return f"*** Begin Patch\n{''.join(sections)}*** End Patch\n"


async def send_three_times(bench: Bench, patch: str) -> tuple[Outcome, ...]:
    """The outcomes of one patch that is sent in three steps."""
    sent = [answer("", call("patch", mode="v4a", patch=patch)) for _ in range(3)]
    bench.says(*sent, answer("Done."))
    return (await bench.turn()).outcomes


async def test_of_an_edit_that_was_held_back_the_search_text_is_not_called_wrong(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n", "b.txt": b"two\n"})
    fits = "*** Update File: a.txt\n-one\n+ONE\n"
    await send_three_times(bench, v4a(fits, "*** Update File: b.txt\n-zwei\n+TWO\n"))
    of_a, of_b = (
        row for row in result(bench).splitlines() if row.startswith("3 calls in a row have failed to edit")
    )
    assert of_a == "3 calls in a row have failed to edit a.txt. Do what the numbered steps say."
    assert SAME_AGAIN in of_b


async def test_the_advice_is_about_the_hunk_that_does_not_fit(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n" + b"x\n" * 100 + b"two\n"})
    hunks = "*** Update File: a.txt\n@@\n-one\n+ONE\n@@\n-two!\n+TWO\n"
    await send_three_times(bench, v4a(hunks))
    assert "Do not send hunk 2 again unchanged: read the document" in result(bench)
    assert "102|two" in result(bench)


async def test_a_held_back_edit_that_fits_roughly_has_its_real_likeness(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"f( a, b )\n", "b.txt": b"two\n"})
    fits = "*** Update File: a.txt\n-f(a,b)\n+g()\n"
    held, _ = (await send_three_times(bench, v4a(fits, "*** Update File: b.txt\n-zwei\n+TWO\n")))[-2:]
    assert held.failure is not None
    assert held.failure.message.startswith("This edit fits")
    assert 0.5 < held.failure.near[0].score < 1


async def test_a_reverted_edit_is_not_called_wrong(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n", "last.txt": b"x\n"})
    (bench.root / "last.txt").chmod(0o444)
    await send_three_times(
        bench, v4a("*** Update File: a.txt\n-one\n+ONE\n", "*** Update File: last.txt\n-x\n+y\n")
    )
    assert "This edit landed, but the edit of last.txt" in result(bench)
    assert SAME_AGAIN not in result(bench)


async def test_a_deletion_is_not_advised_to_write_the_file(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    patch = "--- a/a.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-two\n"
    sent = [answer("", call("patch", mode="udiff", patch=patch)) for _ in range(3)]
    bench.says(*sent, answer("Done."))
    await bench.turn()
    assert "3 calls in a row have failed to edit a.txt. Do what the numbered steps say." in result(bench)
    assert "write_file" not in result(bench)


async def test_a_text_outside_its_scope_is_not_called_wrong(bench: Bench) -> None:
    lay_out(bench.root, {"a.py": b"def f():\n    x = 1\n\n\ndef g():\n    pass\n"})
    await send_three_times(bench, v4a("*** Update File: a.py\n@@ def g():\n-    x = 1\n+    x = 2\n"))
    assert "not in the scope of 'def g():'" in result(bench)
    assert SAME_AGAIN not in result(bench)


async def test_an_edit_that_fits_by_now_is_to_be_sent_again(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"f( a, b )\n"})
    uri = (bench.root / "a.txt").as_uri()
    hunk = Hunk(number=1, old="f(a,b)", new="g()", whole_lines=True)
    before = Text("f( a, c )\n")
    failure = plan.plan_hunk(before, hunk)
    assert isinstance(failure, Failure)
    mutation = Mutation(
        id="m", turn="t", call="c", tool="patch", order=1, uri=uri, identity=uri, path="a.txt", hunk=hunk
    )
    part = Part(mutation=mutation, text=before, planned=failure)
    file = PlannedFile(path="a.txt", parts=(part,), changes=())
    found = await outcomes.outcomes(bench.editor, file, [])
    text = report.result_text(found, {uri: 3})
    assert "it fits now, at line 1." in text
    assert "1. Send the edit again." in text
    assert "Do not send" not in text
