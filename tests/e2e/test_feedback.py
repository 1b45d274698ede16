"""
The model is told what its edits broke, by what the client passes on of other language servers.

The client here finds fault with each line that has BAD in it, in the text that it holds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import EDITORS, Habits, opt_in
from handrail.testing import answer, call
from handrail.testing.texts import Json

POEM = "one\nBAD old\nthree\nfour\n"
NEW = "error: This is bad. (other bad-word)"
Answering = Callable[[Editor, Json], Any]
one_editor = pytest.mark.parametrize("habits", EDITORS[:1], ids=lambda habits: habits.name)


def diagnostics(text: str) -> list[Json]:
    """What another server says of a text."""
    return [
        {
            "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 3}},
            "message": "This is bad.",
            "severity": 1,
            "source": "other",
            "code": "bad-word",
        }
        for line, row in enumerate(text.splitlines())
        if "BAD" in row
    ]


def report(editor: Editor, uri: str, *, later: int = 0) -> Json:
    held = editor.desk.documents[uri]
    return {"uri": uri, "version": held.version + later, "diagnostics": diagnostics(held.text)}


def pass_on(editor: Editor, params: Json) -> Json:
    """What a client answers that knows all."""
    asked = params["documents"]
    uris = [each["uri"] for each in asked] if asked is not None else list(editor.desk.documents)
    return {"documents": [report(editor, uri) for uri in uris]}


async def watched(
    stage: Stage, habits: Habits, *answers: dict[str, object], passes_on: Answering = pass_on
) -> tuple[Editor, str]:
    """An editor with POEM open, whose client passes on what other servers say."""
    stage.put("poem.txt", POEM)

    async def passed(editor: Editor, params: Json) -> Any:
        found = passes_on(editor, params)
        return await found if isinstance(found, Awaitable) else found

    def configure(editor: Editor) -> None:
        editor.handle("handrail/client/diagnostics", partial(passed, editor))

    editor = await stage.start(
        habits,
        settings=stage.script(*answers),
        options=opt_in("save", "diagnostics"),
        configure=configure,
    )
    return editor, editor.desk.open(stage.root / "poem.txt")


def replace(old: str, new: str) -> dict[str, object]:
    return call("patch", path="poem.txt", old_string=old, new_string=new)


def results(stage: Stage) -> list[str]:
    """What the model was told of its calls, as the journals have it."""
    return list(results_by_call(stage).values())


def results_by_call(stage: Stage) -> dict[tuple[Path, str], str]:
    """The same by journal and call."""
    found = dict[tuple[Path, str], str]()  # sessions name their calls alike
    for path in sorted(stage.state.rglob("*.jsonl")):
        for row in path.read_text().splitlines():
            found |= {(path, name): text for name, text in _texts(json.loads(row))}
    return found


def _texts(value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict) and "call" in value and isinstance(value.get("text"), str):
        return [(value["call"], value["text"])]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _texts(each)]


async def test_a_new_error_is_told_and_mended_in_the_next_step(stage: Stage, habits: Habits) -> None:
    editor, uri = await watched(
        stage,
        habits,
        answer("", replace("one\n", "zero\none\n"), replace("four", "BAD new")),
        answer("", replace("BAD new", "good")),
        answer("Done."),
    )
    await editor.turn("Write.")
    assert editor.desk[uri] == "zero\none\nBAD old\nthree\ngood\n"
    first, second, third = results(stage)
    assert "BAD" not in first
    assert "problem" not in first, "two calls of one answer are told of once"
    assert second.endswith(f"\nAfter your edits, there is a new problem:\npoem.txt:5: {NEW}")
    assert "problem" not in third


async def test_old_errors_that_move_are_not_told(stage: Stage, habits: Habits) -> None:
    editor, _ = await watched(
        stage,
        habits,
        answer("", replace("one\n", "one\n1\n1\n")),
        answer("", replace("three", "3")),
        answer(""),
    )
    await editor.turn("Write.")
    assert len(results(stage)) == 2
    assert "problem" not in "".join(results(stage))


async def test_a_report_on_another_version_does_not_count(stage: Stage, habits: Habits) -> None:
    asked = list[Json]()

    def passes_on(editor: Editor, params: Json) -> Json:
        asked.append(params)
        uri = params["documents"][0]["uri"]
        return {"documents": [report(editor, uri, later=-1 if len(asked) == 2 else 0)]}

    editor, _ = await watched(
        stage,
        habits,
        answer("", replace("three", "BAD 3")),
        answer("", replace("four", "4")),
        answer("Done."),
        passes_on=passes_on,
    )
    await editor.turn("Write.")
    first, second = results(stage)
    assert "whether your edits caused problems in poem.txt. No report came in time." in first
    assert NEW not in first
    assert f"poem.txt:3: {NEW}" in second, "what was not known then is told as soon as it is"
    versions = [each["documents"][0]["version"] for each in asked]
    assert versions[0] < versions[1] < versions[2]


async def never(editor: Editor, params: Json) -> None:
    await asyncio.Event().wait()


def too_many(editor: Editor, params: Json) -> Json:
    known = pass_on(editor, params)
    known["documents"][0]["diagnostics"] *= 5_000
    return known


def of_the_wrong_kind(editor: Editor, params: Json) -> Json:
    return {"documents": [{"uri": params["documents"][0]["uri"], "version": "1", "diagnostics": {"a": 1}}, 3]}


def broken(editor: Editor, params: Json) -> Json:
    known = pass_on(editor, params)
    known["documents"][0]["diagnostics"] = [{"message": 5}]
    return known


def nothing(editor: Editor, params: Json) -> None:
    return None


@one_editor
@pytest.mark.parametrize("passes_on", [never, too_many, of_the_wrong_kind, broken, nothing])
async def test_what_cannot_be_known_is_said_to_be_unknown(
    stage: Stage, habits: Habits, passes_on: Answering
) -> None:
    editor, uri = await watched(
        stage, habits, answer("", replace("three", "BAD")), answer("Done."), passes_on=passes_on
    )
    report_ = await editor.turn("Write.")
    assert report_["state"] == "finished"
    assert "BAD\nfour" in editor.desk[uri]
    (told,) = results(stage)
    assert told.endswith("whether your edits caused problems in poem.txt. No report came in time.")


@one_editor
async def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one(
    stage: Stage, habits: Habits
) -> None:
    asked, is_asked_again = list[Json](), asyncio.Event()

    async def late(editor: Editor, params: Json) -> Json:
        asked.append(params)
        known = pass_on(editor, params)
        if len(asked) == 2:
            await is_asked_again.wait()
        if len(asked) == 3:
            is_asked_again.set()
        return known

    editor, uri = await watched(
        stage,
        habits,
        answer("", replace("three", "BAD 3")),
        answer("", replace("BAD 3", "3")),
        answer("Done."),
        passes_on=late,
    )
    await editor.turn("Write.")
    assert len(asked) == 3
    assert editor.desk[uri] == "one\nBAD old\n3\nfour\n"
    first, second = results(stage)
    assert first.endswith("whether your edits caused problems in poem.txt. No report came in time.")
    assert "problem" not in second


@one_editor
async def test_a_document_that_no_server_watches_is_not_spoken_of(stage: Stage, habits: Habits) -> None:
    def unwatched(editor: Editor, params: Json) -> Json:
        return {"documents": [], "unwatched": [each["uri"] for each in params["documents"]]}

    editor, _ = await watched(
        stage, habits, answer("", replace("three", "BAD")), answer("Done."), passes_on=unwatched
    )
    await editor.turn("Write.")
    (told,) = results(stage)
    assert "problem" not in told


@one_editor
@pytest.mark.parametrize("source", ["handrail", "handrail review"])
async def test_our_own_diagnostics_are_not_passed_on(stage: Stage, habits: Habits, source: str) -> None:
    def ours(editor: Editor, params: Json) -> Json:
        known = pass_on(editor, params)
        for each in known["documents"][0]["diagnostics"]:
            each["source"] = source
        return known

    edits, looks = answer("", replace("three", "BAD")), answer("", call("problems"))
    editor, _ = await watched(stage, habits, edits, looks, answer(""), passes_on=ours)
    await editor.turn("Write.")
    told, listed = results(stage)
    assert "problem" not in told
    assert listed == "No problems are known. Give a path to ask about one file."


@one_editor
async def test_what_is_reported_after_the_last_edit_is_told_at_the_end(stage: Stage, habits: Habits) -> None:
    asked = list[Json]()

    def late(editor: Editor, params: Json) -> Json:
        asked.append(params)
        return {"documents": []} if len(asked) == 2 else pass_on(editor, params)

    editor, uri = await watched(
        stage,
        habits,
        answer("", replace("three", "BAD 3")),
        answer("Done."),
        answer("", replace("BAD 3", "3")),
        answer("Done now."),
        passes_on=late,
    )
    report_ = await editor.turn("Write.")
    assert report_["answer"] == "Done now."
    assert editor.desk[uri] == "one\nBAD old\n3\nfour\n"


@one_editor
async def test_the_tool_lists_problems_and_is_there_only_with_a_bridge(stage: Stage, habits: Habits) -> None:
    calls = [call("problems"), call("problems", path="poem.txt"), call("problems", path="gone.txt")]
    editor, _ = await watched(stage, habits, answer("", *calls), answer("Done."))
    await editor.turn("Look.")
    of_all, of_one, of_none = results(stage)
    assert of_all == of_one == f"poem.txt:2: {NEW}"
    assert "no-such-file" in of_none

    without = await stage.start(
        habits, settings=stage.script(answer("", call("problems")), answer("")), options=opt_in("save")
    )
    await without.turn("Look.")
    told = next(text for text in results(stage) if "unknown-tool" in text)
    assert "The tool 'problems' does not exist. Available tools: read_file," in told
    assert "problems," not in told


@one_editor
async def test_problems_of_files_that_the_model_may_not_read_are_not_listed(
    stage: Stage, habits: Habits
) -> None:
    secret, outside = stage.put(".env", "BAD=1\n"), stage.folder / "other.txt"
    outside.write_text("BAD\n")

    editor, _ = await watched(stage, habits, answer("", call("problems")), answer("Done."))
    for path in (secret, outside):
        editor.desk.open(path)
    await editor.turn("Look.")
    assert results(stage) == [f"poem.txt:2: {NEW}"]


@one_editor
async def test_texts_that_an_editor_only_shows_have_no_problems(stage: Stage, habits: Habits) -> None:
    def beside(editor: Editor, params: Json) -> Any:
        found = pass_on(editor, params)
        (poem,) = found["documents"]
        return {"documents": [poem, {**poem, "uri": poem["uri"].replace("file://", "before:")}]}

    editor, _ = await watched(stage, habits, answer("", call("problems")), answer("Done."), passes_on=beside)
    await editor.turn("Look.")
    assert results(stage) == [f"poem.txt:2: {NEW}"]


# ---- Documents that the turn does not edit ------------------------------------------------------------

CALLER = "x\nNEEDS three\n"
BROKEN = "caller.txt:2: error: This is missing. (other missing-word)"


def needs(editor: Editor, uri: str) -> Json:
    """What another server says of a document whose lines need words of the poem."""
    held = editor.desk.documents[uri]
    poem = next(each.text for name, each in editor.desk.documents.items() if name.endswith("poem.txt"))
    rows = enumerate(held.text.splitlines())
    missing = [at for at, row in rows if row.startswith("NEEDS") and row.split()[-1] not in poem]
    found = [
        {
            "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 3}},
            "message": "This is missing.",
            "severity": 1,
            "source": "other",
            "code": "missing-word",
        }
        for line in missing
    ]
    return {"uri": uri, "version": held.version, "diagnostics": [*found, *diagnostics(held.text)]}


def pass_on_others(editor: Editor, params: Json) -> Json:
    """What a client answers that tells of other documents, too."""
    others = [needs(editor, each["uri"]) for each in params.get("others") or ()]
    return {**pass_on(editor, params), "others": others}


async def beside(
    stage: Stage,
    habits: Habits,
    *answers: dict[str, object],
    passes_on: Answering = pass_on_others,
    files: dict[str, str] | None = None,
) -> Editor:
    """As `watched`, with other documents open."""
    editor, _ = await watched(stage, habits, *answers, passes_on=passes_on)
    for name, text in (files or {"caller.txt": CALLER}).items():
        editor.desk.open(stage.put(name, text))
    return editor


async def test_a_problem_that_an_edit_causes_in_another_document_is_told(
    stage: Stage, habits: Habits
) -> None:
    files = {"caller.txt": "BAD old\nNEEDS three\n", "far/away/b.txt": CALLER, "a.txt": CALLER}
    editor = await beside(
        stage,
        habits,
        answer("", replace("three", "BAD 3")),
        answer("", replace("BAD 3", "three")),
        answer("Done."),
        files=files,
    )
    await editor.turn("Write.")
    first, second = results(stage)
    assert first.partition("After your edits, ")[2].splitlines() == [
        "there are 4 new problems:",
        f"poem.txt:3: {NEW}",
        BROKEN.replace("caller.txt", "a.txt"),
        BROKEN,
        BROKEN.replace("caller.txt", "far/away/b.txt"),
    ]
    assert "problem" not in second


@one_editor
async def test_what_is_reported_late_on_another_document_is_told_with_the_next_edit(
    stage: Stage, habits: Habits
) -> None:
    asked = list[Json]()

    def late(editor: Editor, params: Json) -> Json:
        asked.append(params)
        known = pass_on_others(editor, params)
        if len(asked) == 2:
            known["others"] = [{**each, "diagnostics": []} for each in known["others"]]
        return known

    editor = await beside(
        stage,
        habits,
        answer("", replace("three", "3")),
        answer("", replace("four", "4")),
        answer("Done."),
        passes_on=late,
    )
    await editor.turn("Write.")
    first, second = results(stage)
    assert "problem" not in first
    assert second.endswith(f"After your edits, there is a new problem:\n{BROKEN}")


@one_editor
async def test_what_is_reported_on_another_document_after_the_last_edit_is_told_at_the_end(
    stage: Stage, habits: Habits
) -> None:
    asked = list[Json]()

    def late(editor: Editor, params: Json) -> Json:
        asked.append(params)
        known = pass_on_others(editor, params)
        if len(asked) == 2:
            del known["others"]
        return known

    editor = await beside(
        stage,
        habits,
        answer("", replace("three", "3")),
        answer("Done."),
        answer("", replace("3", "three")),
        answer("Done now."),
        passes_on=late,
    )
    report_ = await editor.turn("Write.")
    assert report_["answer"] == "Done now."
    first, _ = results(stage)
    assert first.endswith(
        "caused problems in other open documents. The language servers did not finish in time."
    )


@one_editor
async def test_a_document_edited_before_is_looked_at_as_well(stage: Stage, habits: Habits) -> None:
    needs_three = call("patch", path="caller.txt", old_string="x\n", new_string="NEEDS three\n")
    editor = await beside(
        stage,
        habits,
        answer("", needs_three),
        answer("", replace("three", "3")),
        answer("Done."),
        files={"caller.txt": "x\n"},
    )
    await editor.turn("Write.")
    first, second = results(stage)
    assert "problem" not in first
    assert second.endswith(BROKEN.replace(":2:", ":1:"))


def of_another_version(editor: Editor, params: Json) -> Json:
    known = pass_on_others(editor, params)
    known["others"] = [{**each, "version": each["version"] + 1} for each in known["others"]]
    return known


def thousands(editor: Editor, params: Json) -> Json:
    known = pass_on_others(editor, params)
    known["others"] = [{**each, "diagnostics": each["diagnostics"] * 5_000} for each in known["others"]]
    return known


def never_asked_for(editor: Editor, params: Json) -> Json:
    known = pass_on_others(editor, params)
    known["others"] = [{**each, "uri": each["uri"] + ".txt"} for each in known["others"]]
    return known


def nonsense(editor: Editor, params: Json) -> Json:
    known = pass_on_others(editor, params)
    known["others"] = [1, None, {"uri": 5}, {**known["others"][0], "diagnostics": [{"message": 1}]}]
    return known


@one_editor
@pytest.mark.parametrize("passes_on", [of_another_version, thousands, never_asked_for, nonsense, pass_on])
async def test_what_does_not_count_of_others_is_not_told(
    stage: Stage, habits: Habits, passes_on: Answering
) -> None:
    editor = await beside(
        stage, habits, answer("", replace("three", "3")), answer("Done."), passes_on=passes_on
    )
    report_ = await editor.turn("Write.")
    assert report_["answer"] == "Done."
    (told,) = results(stage)
    assert "problem" not in told


@one_editor
async def test_what_the_user_types_elsewhere_is_not_laid_to_the_edit(stage: Stage, habits: Habits) -> None:
    asked = list[Json]()

    def typing(editor: Editor, params: Json) -> Json:
        asked.append(params)
        if len(asked) == 2:
            uri = next(name for name in editor.desk.documents if name.endswith("caller.txt"))
            editor.desk.type(uri, "BAD ", before="x")
            editor.desk.tell()
        return pass_on_others(editor, params)

    editor = await beside(
        stage,
        habits,
        answer("", replace("three", "3")),
        answer("", replace("four", "4")),
        answer("Done."),
        passes_on=typing,
    )
    await editor.turn("Write.")
    first, second = results(stage)
    assert (first + second).count(BROKEN) == 1
    assert "This is bad" not in first + second


@one_editor
async def test_problems_of_other_documents_that_the_model_may_not_read_are_not_told(
    stage: Stage, habits: Habits
) -> None:
    asked = list[Json]()

    def noting(editor: Editor, params: Json) -> Json:
        asked.append(params)
        return pass_on_others(editor, params)

    outside = stage.folder / "outside.txt"
    outside.write_text(CALLER)
    editor = await beside(
        stage,
        habits,
        answer("", replace("three", "3")),
        answer("Done."),
        passes_on=noting,
        files={".env": CALLER},
    )
    editor.desk.open(outside)
    await editor.turn("Write.")
    (told,) = results(stage)
    assert "problem" not in told
    assert not [each for params in asked for each in params.get("others") or ()]
