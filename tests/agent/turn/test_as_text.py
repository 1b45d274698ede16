"""Answers in which the work stands as text, or is only announced: it is done, or the user hears of it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from bench import Bench
from handrail.agent.turn.loop import QUOTED as QUOTED_BY_THE_USER
from handrail.core.conversation.message import AssistantMessage, Excerpt, UserMessage
from handrail.core.conversation.prompt import Mode
from handrail.core.ledger.report import Notice, State, TurnReport
from handrail.testing import answer, call, lay_out, snapshot

EMPTY = "The model's answer was empty twice in a row. Send your message again, or choose another model."
V4A = """*** Begin Patch
*** Update File: a.txt
@@
-one
+1
*** End Patch"""
BLOCK = """<<<<<<< SEARCH
one
=======
1
>>>>>>> REPLACE"""
DIFF = """--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
-one
+1
 two"""
ARGUMENTS = {"path": "a.txt", "old_string": "one", "new_string": "1"}
MADE = json.dumps({"name": "patch", "arguments": ARGUMENTS}, indent=1)
CALLED = json.dumps({"type": "function", "function": {"name": "patch", "arguments": json.dumps(ARGUMENTS)}})
BARE = json.dumps({"tool": "patch", "parameters": ARGUMENTS})

WRITTEN = {
    "V4A": V4A,
    "V4A in prose": f"Here is the change:\n\n{V4A}\n\nThat should do.",
    "V4A in a fence": f"I fix it so:\n```diff\n{V4A}\n```\n",
    "SEARCH/REPLACE": f"a.txt\n{BLOCK}",
    "SEARCH/REPLACE in a fence": f"Change `a.txt`:\n\na.txt\n```python\n{BLOCK}\n```\nDone.",
    "a diff": f"This is the diff.\n\n```diff\n{DIFF}\n```\n",
    "a bare diff": f"{DIFF}\n",
    "JSON after a sentence": f"I will change it.\n\n```json\n{MADE}\n```",
    "JSON before a sentence": f"```json\n{MADE}\n```\nThis changes it.",
    "JSON in a bare fence": f"Now:\n```\n{MADE}\n```",
    "JSON without a fence": f"I will change it.\n{MADE}",
    "JSON in tags": f"I will change it.\n<tool_call>\n{MADE}\n</tool_call>",
    "JSON in tags of a function": f"<function=patch>{json.dumps(ARGUMENTS)}</function>",
    "JSON behind a token": f"[TOOL_CALLS] [{MADE}]",
    "JSON as a list": f"[{MADE}]",
    "JSON as servers have it": f"So:\n```json\n{CALLED}\n```",
    "JSON by other names": f"So:\n```tool_call\n{BARE}\n```",
    "JSON with a name of another space": f"So:\n```json\n{MADE.replace('patch', 'functions.patch', 1)}\n```",
    "a tag for each argument": "I do it.\n<tool_call>\n<function=patch>\n"
    + "".join(f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in ARGUMENTS.items())
    + "</function>\n</tool_call>",
    "tags with names": '<function_calls>\n<invoke name="patch">\n'
    + "".join(f'<parameter name="{name}">{value}</parameter>\n' for name, value in ARGUMENTS.items())
    + "</invoke>\n</function_calls>",
    "V4A, indented": "1. Change it:\n\n" + "\n".join(f"   {row}" for row in V4A.split("\n")),
    "V4A in a heredoc": f"```bash\napply_patch <<'EOF'\n{V4A}\nEOF\n```",
    "JSON with line ends in strings": '{"name": "patch", "arguments": {"mode": "v4a", "patch": "'
    + V4A
    + '"}}',
}


async def played(bench: Bench, *texts: str) -> TurnReport:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n"})
    bench.says(*map(answer, texts))
    return await bench.turn()


def notices(bench: Bench) -> list[str]:
    return [event.text for event in bench.events if isinstance(event, Notice)]


def nudges(bench: Bench) -> Sequence[str]:
    return [message.text for message in bench.history() if isinstance(message, UserMessage)][1:]


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
async def test_an_edit_that_is_written_as_text_is_made_and_this_is_said(bench: Bench, text: str) -> None:
    report = await played(bench, text, "Done.")
    assert (report.state, report.answer) == (State.FINISHED, "Done.")
    assert snapshot(bench.root) == {"a.txt": b"1\ntwo\n"}
    assert notices(bench) == ["The model wrote a tool call as plain text. handrail runs it all the same."]
    assert not nudges(bench)
    assert report.checkpoint is not None
    made = bench.history()[1]
    assert isinstance(made, AssistantMessage)
    assert len(made.calls) == 1
    assert not any(sign in made.text for sign in ("-one", '"arguments"', "```"))


async def test_edits_of_two_files_are_two_calls(bench: Bench) -> None:
    lay_out(bench.root, {"b.txt": b"one\n"})
    await played(bench, f"a.txt\n{BLOCK}\n\nb.txt\n{BLOCK}", "Done.")
    assert snapshot(bench.root) == {"a.txt": b"1\ntwo\n", "b.txt": b"1\n"}
    assert notices(bench) == ["The model wrote 2 tool calls as plain text. handrail runs them all the same."]


async def test_what_was_made_once_is_an_answer_the_next_time(bench: Bench) -> None:
    report = await played(bench, V4A, f"I have made this change:\n{V4A}")
    assert report.state is State.FINISHED
    assert len(bench.results()) == 1


async def test_a_diff_after_an_edit_by_a_call_shows_what_was_done(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n"})
    bench.says(answer("", call("patch", **ARGUMENTS)), answer(f"I changed it:\n```diff\n{DIFF}\n```"))
    report = await bench.turn()
    assert (report.state, len(bench.results()), notices(bench)) == (State.FINISHED, 1, [])


QUOTED = {
    "a whole file": "a.txt looks so:\n```text a.txt\n1\n2\n```",
    "a diff of no file": "```diff\n-one\n+1\n```",
    "a call of no tool": 'So:\n```json\n{"name": "launch", "arguments": {}}\n```',
    "JSON that is data": 'So:\n```json\n{"name": "patch", "size": 3}\n```',
    "a call within a line": f"It would be {json.dumps({'name': 'patch', 'arguments': ARGUMENTS})}.",
}


@pytest.mark.parametrize("text", QUOTED.values(), ids=QUOTED.keys())
async def test_what_an_answer_quotes_is_left_alone(bench: Bench, text: str) -> None:
    report = await played(bench, text)
    assert (report.state, report.answer.strip()) == (State.FINISHED, text)
    assert snapshot(bench.root) == {"a.txt": b"one\ntwo\n"}
    assert not notices(bench)


LISTED = {
    "as it is": "{text}",
    "with line numbers": "{numbered}",
    "in a message": "",
    "in a commit": "commit 0a1b\n    Add x.md\n\n@@ -0,0 +1,9 @@\n{added}",
    "in a search": "docs/x.md\n{searched}",
    "in grep": "{grepped}",
}
STANDS = {
    "V4A in a fence": f"docs/x.md says:\n\n# How to\n```\n{V4A}\n```\nThat is all.",
    "V4A alone": f"notes say:\n\n{V4A}",
    "V4A, indented": "It says:\n\n" + "\n".join(f"    {row}" for row in V4A.split("\n")),
    "a deletion": "It says\n```\n*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n```",
    "a diff": f"It is this diff:\n```diff\n{DIFF}\n```\n",
    "a diff, and it ends so": f"It is this diff:\n```diff\n{DIFF}",
    "a diff of git": f"The last commit:\n```\ndiff --git a/a.txt b/a.txt\nindex 1..2 100644\n{DIFF}\n```",
    "SEARCH/REPLACE": f"README explains it:\n\n```\na.txt\n{BLOCK}\n```\nSo it is.",
    "SEARCH/REPLACE without a file": f"README explains it:\n\n```\n{BLOCK}\n```\nSo it is.",
    "JSON": f"The log has:\n{MADE}",
    "JSON in a fence": f"The log has:\n```json\n{MADE}\n```",
    "JSON on one line": f"The log has:\n```json\n{json.dumps(json.loads(MADE))}\n```",
    "JSON in tags": f"The log has\n<tool_call>\n{MADE}\n</tool_call>\nwhich is a call.",
    "JSON as servers have it": f"The log has:\n{CALLED}",
    "a tag for each argument": WRITTEN["a tag for each argument"],
    "tags with names": WRITTEN["tags with names"],
}


def listed(text: str, how: str) -> str:
    rows = text.split("\n")
    return how.format(
        text=text,
        numbered="\n".join(f"{number}|{row}" for number, row in enumerate(rows, 1)),
        added="\n".join(f"+{row}" for row in rows),
        searched="\n".join(f"  {number}|{row}" for number, row in enumerate(rows, 1)),
        grepped="\n".join(f"docs/x.md:{number}:{row}" for number, row in enumerate(rows, 1)),
    )


@pytest.mark.parametrize("how", LISTED.values(), ids=LISTED.keys())
@pytest.mark.parametrize("text", STANDS.values(), ids=STANDS.keys())
async def test_what_stands_in_a_result_or_a_message_is_a_quotation(bench: Bench, text: str, how: str) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n", "x.md": (listed(text, how) + "\n").encode()})
    bench.says(answer("", call("read_file", path="x.md")), answer(text), answer("Wrong."))
    prompt = "What does x.md say? Change nothing." + ("" if how else f"\n\n{text}")
    report = await bench.host.wait(bench.host.start(prompt, None).id)
    assert (report.state, report.answer.strip()) == (State.FINISHED, text.strip())
    assert snapshot(bench.root)["a.txt"] == b"one\ntwo\n"
    assert (len(bench.results()), nudges(bench), report.usage.steps) == (1, [], 2)
    told = [] if how or text == STANDS["SEARCH/REPLACE without a file"] else [QUOTED_BY_THE_USER]
    assert notices(bench) == told


async def test_what_stands_in_an_attached_file_is_a_quotation(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n"})
    bench.says(answer(STANDS["a deletion"]), answer("Wrong."))
    context = (Excerpt(path="x.md", first_line=1, text=f"# How to\n{STANDS['a deletion']}"),)
    report = await bench.host.wait(bench.host.start("Explain.", None, context).id)
    assert (report.state, report.usage.steps, notices(bench)) == (State.FINISHED, 1, [])
    assert snapshot(bench.root) == {"a.txt": b"one\ntwo\n"}


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("read", [None, 1, 4])
async def test_blanks_and_escapes_make_no_difference(
    bench: Bench, read: int | None, indent: int | None
) -> None:
    wanted = {"name": "write_file", "arguments": {"path": "a.txt", "content": 'a "b"\n\tc\n'}}
    file, said = json.dumps(wanted, indent=read), json.dumps(wanted, indent=indent)
    lay_out(
        bench.root, {"a.txt": b"one\n", "x.json": file.encode(), "y.log": json.dumps({"m": file}).encode()}
    )
    for name in ("x.json", "y.log"):
        bench.host.sessions.clear()
        bench.says(answer("", call("read_file", path=name)), answer(f"It has:\n{said}"), answer("Wrong."))
        assert (await bench.turn()).usage.steps == 2
    assert snapshot(bench.root)["a.txt"] == b"one\n"


async def test_a_quotation_may_leave_lines_out(bench: Bench) -> None:
    two = f"{DIFF}\n@@ -9 +9 @@\n-nine\n+9\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+B"
    lay_out(bench.root, {"a.txt": b"one\ntwo\n", "b.txt": b"b\n", "x.diff": two.encode()})
    short = f"Of it:\n```diff\n{DIFF}\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+B\n```"
    bench.says(answer("", call("read_file", path="x.diff")), answer(short), answer("Wrong."))
    assert (await bench.turn()).usage.steps == 2
    assert snapshot(bench.root)["b.txt"] == b"b\n"


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
async def test_a_call_is_made_even_if_what_was_read_is_like_it(bench: Bench, text: str) -> None:
    """Another file, another value or the lines to replace are in it, but not the call itself."""
    like = (
        text.replace("+1", "+2").replace('"1"', '"2"').replace("\n1\n", "\n2\n").replace("a.txt", "b.txt")
        + "\none\ntwo\n"
        + "Use `*** Begin Patch`, `*** Update File: NAME`, `*** End Patch`.\n"
    )
    lay_out(bench.root, {"a.txt": b"one\ntwo\n", "x.md": like.encode()})
    look = (call("read_file", path="x.md"), call("read_file", path="a.txt"))
    bench.says(answer("", *look), answer(text), answer("Done."))
    report = await bench.turn()
    assert (report.state, report.answer) == (State.FINISHED, "Done.")
    assert snapshot(bench.root)["a.txt"] == b"1\ntwo\n"


async def test_a_quotation_and_a_call_in_one_answer(bench: Bench) -> None:
    gone = STANDS["a deletion"].removeprefix("It says\n")
    lay_out(bench.root, {"a.txt": b"one\ntwo\n", "x.md": gone.encode()})
    bench.says(
        answer("", call("read_file", path="x.md")),
        answer(f"{gone}\nI change it:\n```\n{V4A}\n```"),
        answer("Done."),
    )
    await bench.turn()
    assert snapshot(bench.root)["a.txt"] == b"1\ntwo\n"
    assert len(bench.results()) == 2


async def test_an_edit_that_names_no_file_is_asked_for_once(bench: Bench) -> None:
    report = await played(bench, BLOCK, BLOCK)
    assert report.state is State.FINISHED
    assert len(nudges(bench)) == 1
    assert notices(bench) == ["The model wrote an edit as text without naming a file, so it was not made."]


PROMISES = (
    "I will now edit the file.",
    "The bug is in a.txt. I'll fix it by renaming x:",
    "Let me make that change.",
    "Next, I'm going to update the tests...",
    "Applying the fix now.",
    "Ich werde die Datei jetzt ändern.",
)


@pytest.mark.parametrize("text", PROMISES)
async def test_a_promise_without_a_call_is_kept_after_a_nudge(bench: Bench, text: str) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(answer(text), answer("", call("patch", **ARGUMENTS)), answer("Done."))
    report = await bench.turn()
    assert (report.state, report.answer) == (State.FINISHED, "Done.")
    assert snapshot(bench.root) == {"a.txt": b"1\n"}
    assert len(nudges(bench)) == 1


async def test_a_promise_is_asked_for_once_and_then_told_of(bench: Bench) -> None:
    report = await played(bench, PROMISES[0], PROMISES[2])
    assert (report.state, report.answer) == (State.FINISHED, PROMISES[2])
    assert len(nudges(bench)) == 1
    assert notices(bench) == ["The model said that it would call a tool, but did not."]


@pytest.mark.parametrize(
    "text",
    [
        "Let me know if you need more.",
        "If you like, I will add tests.",
        "I changed it. I'll be happy to help with more.",
        "Should I edit it, or will you? I will do it then?",
        "I won't change it: the function will update the file itself.",
        "The tests pass now.",
    ],
)
async def test_what_only_sounds_like_a_promise_is_an_answer(bench: Bench, text: str) -> None:
    assert (await played(bench, text)).usage.steps == 1


async def test_text_before_the_last_result_is_no_answer(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    look = answer("Let me look.", call("read_file", path="a.txt"))
    bench.says(look, answer(""), answer("It says one."))
    report = await bench.turn()
    assert (report.state, report.answer) == (State.FINISHED, "It says one.")
    bench.says(look, answer(""), answer(""))
    report = await bench.turn()
    assert (report.state, report.reason) == (State.STOPPED, EMPTY)


async def test_a_turn_that_finishes_without_anything_done_is_told_of(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    lost = call("patch", path="a.txt", old_string="nowhere", new_string="x")
    bench.says(answer("", lost, call("edit_file", path="a.txt")), answer("I have fixed it."))
    report = await bench.turn()
    assert report.state is State.FINISHED
    assert notices(bench) == ["Nothing was changed in this turn: no edit or command succeeded."]


async def test_a_turn_that_only_reads_has_nothing_to_tell(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(answer("", call("read_file", path="a.txt")), answer("It says one."))
    await bench.turn()
    bench.says(
        answer("", call("patch", path="a.txt", old_string="two", new_string="one")), answer("It is so.")
    )
    assert not notices(bench)


async def test_where_nothing_may_be_changed_an_edit_as_text_is_an_answer(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(answer(V4A))
    report = await bench.host.wait(bench.host.start("How?", None, mode=Mode.PLAN).id)
    assert (report.answer, snapshot(bench.root)) == (V4A, {"a.txt": b"one\n"})


def block(path: str, old: str, new: str) -> str:
    return f"{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"


def written(path: str, old: str, new: str) -> str:
    arguments = {"path": path, "old_string": old, "new_string": new}
    return f"```json\n{json.dumps({'name': 'patch', 'arguments': arguments})}\n```"


def made(path: str, old: str, new: str) -> dict[str, object]:
    return call("patch", path=path, old_string=old, new_string=new)


EDITS = (("a.txt", "one", "1"), ("a.txt", "two", "2"), ("b.txt", "three", "3"))
FAMILIES = {
    "calls at once": [
        answer("Let me read both.", call("read_file", path="a.txt"), call("read_file", path="b.txt")),
        answer("Now I will make the edits.", *(made(*edit) for edit in EDITS)),
    ],
    "V4A in prose": [
        answer("I'll look at the files first."),
        answer("", call("read_file", path="a.txt")),
        answer(
            "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n-two\n+1\n+2\n"
            "*** Update File: b.txt\n@@\n-three\n+3\n*** End Patch"
        ),
    ],
    "prose and fences": [
        answer(f"First I change the beginning.\n\n{written(*EDITS[0])}"),
        answer(f"Then the rest:\n\n{block(*EDITS[1])}"),
        answer("Now I will edit the other file."),
        answer(f"<think>Which tool?</think>{written(*EDITS[2])}"),
    ],
}


@pytest.mark.parametrize("answers", FAMILIES.values(), ids=FAMILIES.keys())
async def test_three_edits_in_two_files_are_made_by_whatever_habit(
    bench: Bench, answers: list[dict[str, object]]
) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n", "b.txt": b"three\n"})
    bench.says(*answers, answer("All three edits are made."))
    report = await bench.turn()
    assert (report.state, report.answer) == (State.FINISHED, "All three edits are made.")
    assert snapshot(bench.root) == {"a.txt": b"1\n2\n", "b.txt": b"3\n"}
    assert all(outcome.failure is None for outcome in report.outcomes)
