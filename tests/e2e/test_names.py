"""
The model asks for definitions, references and symbols, which the client answers from its language servers.

The client here answers what each test has it answer, for the text that it holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import EDITORS, Habits, opt_in
from e2e.test_feedback import results_by_call
from handrail.testing import answer, call
from handrail.testing.texts import Json
from handrail.testing.wire import RefusedError

SHOP = "# Ä😀\nfrom prices import total\n\nprint('😀', total([1]))\n"
PRICES = "def total(items):\n    return sum(items)\n"
Answering = Callable[[Editor, Json], Any]
one_editor = pytest.mark.parametrize("habits", EDITORS[:1], ids=lambda habits: habits.name)


def results(stage: Stage) -> list[str]:
    """What the model was told of its calls, in their order: one that cannot be read is answered first."""
    return [text for _, text in sorted(results_by_call(stage).items())]


def location(uri: str, line: int) -> Json:
    return {
        "uri": uri,
        "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}},
    }


async def opened(
    stage: Stage, habits: Habits, calls: list[Any], **answering: Answering
) -> tuple[Editor, dict[str, list[Json]]]:
    """An editor with shop.py open, which answers the services that *answering* names; what it was asked."""
    stage.put("shop.py", SHOP)
    stage.put("prices.py", PRICES)
    asked: dict[str, list[Json]] = {name: [] for name in answering}

    async def answered(editor: Editor, service: str, params: Json) -> Any:
        asked[service].append(params)
        found = answering[service](editor, params)
        return await found if asyncio.iscoroutine(found) else found

    def configure(editor: Editor) -> None:
        for service in answering:
            editor.handle(f"handrail/client/{service}", partial(answered, editor, service))

    editor = await stage.start(
        habits,
        settings=stage.script(answer("", *calls), answer("Done.")),
        options=opt_in(*answering),
        configure=configure,
    )
    editor.desk.open(stage.root / "shop.py")
    return editor, asked


def at(stage: Stage, *places: tuple[str, int]) -> Answering:
    return lambda editor, params: {
        "locations": [location((stage.root / path).as_uri(), line) for path, line in places]
    }


async def test_a_definition_and_its_uses_are_shown_with_their_lines(stage: Stage, habits: Habits) -> None:
    calls = [
        call("definition", path="shop.py", name="total", line=4),
        call("references", path="shop.py", name="total"),
    ]
    editor, asked = await opened(
        stage,
        habits,
        calls,
        definition=at(stage, ("prices.py", 0)),
        references=at(stage, ("shop.py", 3), ("prices.py", 0), ("shop.py", 1), ("shop.py", 1)),
    )
    await editor.turn("Look.")
    definition, references = results(stage)
    assert definition == "1 line in 1 file.\nprices.py\n  1|def total(items):"
    assert references == (
        "3 lines in 2 files.\nprices.py\n  1|def total(items):\n"
        "shop.py\n  2|from prices import total\n  4|print('😀', total([1]))"
    )
    (where,) = asked["definition"]
    held = editor.desk.documents[where["uri"]]
    assert where["position"] == editor.position(where["uri"], "total([")
    assert where["version"] == held.version
    (first,) = asked["references"]
    assert first["position"]["line"] == 1, "without a line: the first that has the name"


async def test_symbols_of_a_document_and_of_the_workspace(stage: Stage, habits: Habits) -> None:
    def symbols(editor: Editor, params: Json) -> Json:
        uri = (stage.root / "prices.py").as_uri()
        method = {"name": "total", "kind": 12, "containerName": "Shop", "location": location(uri, 0)}
        return {"symbols": [method, {"name": "other", "location": location(uri, 1)}]}

    calls = [call("symbols", path="prices.py", query="TOTAL"), call("symbols", query="tot"), call("symbols")]
    editor, asked = await opened(stage, habits, calls, symbols=symbols)
    await editor.turn("Look.")
    of_one, of_all, of_none = results(stage)
    assert of_one == "1 line in 1 file.\nprices.py\n  1|def total(items):  [function Shop.total]"
    assert of_all == of_one.replace("1 line ", "2 lines ") + "\n  2|    return sum(items)  [other]"
    assert "bad-arguments" in of_none
    document, workspace = sorted(asked["symbols"], key=lambda params: str(params["query"]))
    assert (document["uri"], document["query"]) == ((stage.root / "prices.py").as_uri(), "")
    assert (workspace.get("uri"), workspace["query"]) == (None, "tot")


@one_editor
async def test_places_that_the_model_may_not_read_are_named_and_not_shown(
    stage: Stage, habits: Habits
) -> None:
    stage.put(".env", "SECRET=1\n")
    (stage.folder / "library.py").write_text("def hidden(): ...\n")
    (stage.root / "leads_out.py").symlink_to(stage.folder / "library.py")
    outside = (stage.folder / "library.py").as_posix()

    def places(editor: Editor, params: Json) -> Json:
        names = (".env", "../library.py", "leads_out.py", "gone.py", "shop.py")
        found = [location((stage.root / name).as_uri(), 0) for name in names]
        found.append(location("jdt://contents/java.base/List.class", 7))
        return {"locations": [*found, location((stage.root / "prices.py").as_uri(), 99)]}

    calls = [call("definition", path="shop.py", name="total")]
    editor, _ = await opened(stage, habits, calls, definition=places)
    await editor.turn("Look.")
    (told,) = results(stage)
    assert "SECRET" not in told
    assert "hidden" not in told
    shown, _, hidden = told.partition("\nNot shown:\n")
    assert shown == (
        "2 lines in 2 files.\nprices.py\n  100|(the document no longer has this line)\nshop.py\n  1|# Ä😀"
    )
    rows = hidden.splitlines()
    assert rows[0] == ("  .env:1 (Such files hold keys, or settings of an editor, an agent or a CI system.)")
    assert rows[1] == f"  {outside}:1 (It is outside the workspace folders.)"
    assert "(It is outside the workspace folders.)" in told
    assert any("gone.py" in row for row in rows)
    assert any("jdt://contents" in row for row in rows)


async def never(editor: Editor, params: Json) -> None:
    await asyncio.Event().wait()


def broken(editor: Editor, params: Json) -> Json:
    return {"locations": [{"uri": 5}]}


def no_list(editor: Editor, params: Json) -> Json:
    return {"locations": {"a": 1}}


def fails(editor: Editor, params: Json) -> Json:
    raise RefusedError(message="The server is not ready.", code=-32803)


def typed_over(editor: Editor, params: Json) -> Json:
    editor.desk.type(params["uri"], "# typed\n", before="from")
    return {"locations": [location(params["uri"], 0)]}


@one_editor
@pytest.mark.parametrize("answering", [never, broken, no_list, fails, lambda _, __: None, typed_over])
async def test_an_answer_that_cannot_be_used_is_said_to_be_missing(
    stage: Stage, habits: Habits, answering: Answering
) -> None:
    calls = [call("definition", path="shop.py", name="total")]
    editor, _ = await opened(stage, habits, calls, definition=answering)
    report = await editor.turn("Look.")
    assert report["state"] == "finished"
    assert results(stage) == [
        "Unknown: the editor did not answer in time. Call the tool again, or use search."
    ]


@one_editor
async def test_more_places_than_anyone_reads_are_cut_short(stage: Stage, habits: Habits) -> None:
    def many(editor: Editor, params: Json) -> Json:
        inside = [location((stage.root / "prices.py").as_uri(), line) for line in range(900)]
        outside = [location(f"file:///elsewhere/{n}\n.py", 0) for n in range(10_000)]
        return {"locations": inside + outside}

    calls = [call("references", path="shop.py", name="total")]
    editor, _ = await opened(stage, habits, calls, references=many)
    await editor.turn("Look.")
    (told,) = results(stage)
    rows = told.splitlines()
    assert rows[0] == "200 lines in 1 file; more are not shown: search for the name in the files that matter."
    assert rows[-1] == "  and 80 more"
    assert len(rows) == 2 + 200 + 1 + 20 + 1


@one_editor
async def test_a_name_that_is_not_in_its_line_is_said_with_the_lines_that_have_it(
    stage: Stage, habits: Habits
) -> None:
    calls = [
        call("definition", path="shop.py", name="total", line=1),
        call("definition", path="shop.py", name="tot"),
        call("definition", path="shop.py", name="total", line=0),
        call("definition", path="gone.py", name="total"),
        call("definition", path="shop.py", name=" "),
    ]
    editor, asked = await opened(stage, habits, calls, definition=at(stage))
    await editor.turn("Look.")
    elsewhere, part, zeroth, gone, blank = results(stage)
    assert "The name 'total' is not on line 1 of shop.py; it is on: 2, 4." in elsewhere
    assert "The name 'tot' does not occur in shop.py." in part, "only whole names count"
    assert "bad-arguments" in zeroth
    assert "no-such-file" in gone
    assert "bad-arguments" in blank
    assert asked["definition"] == []


@one_editor
async def test_no_answer_and_no_place_differ(stage: Stage, habits: Habits) -> None:
    calls = [
        call("definition", path="shop.py", name="total"),
        call("references", path="shop.py", name="total"),
        call("symbols", query="x"),
    ]
    editor, _ = await opened(
        stage, habits, calls, definition=lambda _, __: {}, references=at(stage), symbols=lambda _, __: {}
    )
    await editor.turn("Look.")
    unwatched, none, no_symbols = results(stage)
    assert unwatched == "Unknown: no language server in the editor covers shop.py. Use search."
    assert none == "The editor's language servers found nothing."
    assert no_symbols == "Unknown: no language server in the editor offers this. Use search."


@one_editor
async def test_a_tool_is_there_only_if_the_client_offers_its_service(stage: Stage, habits: Habits) -> None:
    calls = [call("definition", path="shop.py", name="total"), call("references", path="shop.py", name="x")]
    editor, _ = await opened(stage, habits, calls, definition=at(stage, ("prices.py", 0)))
    await editor.turn("Look.")
    definition, references = results(stage)
    assert "1|def total" in definition
    assert "The tool 'references' does not exist" in references
    assert "symbols" not in references
