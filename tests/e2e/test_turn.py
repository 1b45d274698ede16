"""A turn with four patches, from the prompt to the last byte restored."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.prompts import block, patch, statuses
from handrail.testing import answer, snapshot
from handrail.testing.texts import Json

pytestmark = pytest.mark.any_client

AREA = """\
def area(width, height):
    return width * height


def volume(width, height, depth):
    return width * height * depth
"""
FILES = {
    "crlf.txt": b"alpha\r\nbeta\r\ngamma\r\n",
    "unsaved.txt": b"one\ntwo\nthree",
    "area.py": AREA.encode(),
    "closed.txt": b"\tfirst\n\tsecond\n\tthird\n",
}
PATCHES = (
    ("crlf.txt", "beta\ngamma", "BETA\nbeta and a half\ngamma"),
    ("unsaved.txt", "two, as typed", "2"),
    ("area.py", "    return width * hight", "    return abs(width * height)"),
    ("closed.txt", "\tsecond", "\tsecond\n\tsecond and a half"),
)


@dataclass
class Desk:
    """An editor with three of the four files open, one of them with unsaved text."""

    stage: Stage
    editor: Editor
    uris: dict[str, str]

    @property
    def held(self) -> dict[str, str]:
        """The open documents."""
        return {name: self.editor.desk[uri] for name, uri in self.uris.items()}

    @property
    def disk(self) -> dict[str, bytes]:
        """The files."""
        return snapshot(self.stage.root)

    def shown(self) -> list[Json]:
        """The diagnostics of area.py."""
        return self.editor.shown_diagnostics(self.uris["area.py"])

    def saved(self, name: str) -> bytes:
        """The bytes of a document once the user saves it."""
        self.editor.desk.save(self.uris[name])
        return self.disk[name]


@pytest.fixture
def desk(stage: Stage, editor: Editor) -> Desk:
    uris = {}
    for name, raw in FILES.items():
        path = stage.put(name, raw)
        if name != "closed.txt":
            uris[name] = editor.desk.open(path)
    editor.desk.type(uris["unsaved.txt"], ", as typed", after="two")
    editor.desk.tell()
    return Desk(stage, editor, uris)


@pytest.fixture
async def report(desk: Desk) -> Json:
    return await desk.editor.turn("Here you are:\n" + "".join(block(*each) for each in PATCHES))


async def test_three_land_byte_exact(desk: Desk, report: Json) -> None:
    assert statuses(report) == ["landed", "landed", "no-match", "landed"]
    assert report["state"] == "finished"
    assert report["answer"] == "Here you are:"
    assert desk.held["unsaved.txt"] == "one\n2\nthree"
    assert desk.held["area.py"] == AREA
    assert desk.disk["closed.txt"] == b"\tfirst\n\tsecond\n\tsecond and a half\n\tthird\n"
    assert desk.disk["unsaved.txt"] == FILES["unsaved.txt"]
    assert desk.saved("crlf.txt") == b"alpha\r\nBETA\r\nbeta and a half\r\ngamma\r\n"
    assert desk.saved("unsaved.txt") == b"one\n2\nthree"


async def test_edits_are_minimal_and_versioned(desk: Desk, report: Json) -> None:
    for given in desk.editor.edits:
        (change,) = given["edit"]["documentChanges"]
        assert given["label"].startswith("handrail: ")
        assert all(
            edit["range"]["end"]["line"] - edit["range"]["start"]["line"] <= 1 for edit in change["edits"]
        )
    versions = {
        given["edit"]["documentChanges"][0]["textDocument"]["uri"]: given["edit"]["documentChanges"][0][
            "textDocument"
        ].get("version")
        for given in desk.editor.edits
    }
    held = desk.editor.desk.documents
    assert versions[desk.uris["crlf.txt"]] in (0, 1)  # 1 to Neovim, which takes 0 for none
    assert 0 < versions[desk.uris["unsaved.txt"]] < held[desk.uris["unsaved.txt"]].version
    closed = (desk.stage.root / "closed.txt").as_uri()
    assert (closed in versions) == desk.editor.habits.has_extension
    assert versions.get(closed) is None


async def test_the_fourth_is_a_diagnostic_at_the_nearest_place(desk: Desk, report: Json) -> None:
    (shown,) = desk.shown()
    assert (shown["source"], shown["code"], shown["severity"]) == ("handrail", "no-match", 2)
    place = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 25}}
    assert shown["range"] == place
    assert "line 2" in shown["message"]
    failure = report["outcomes"][2]["failure"]
    assert failure["range"] == place
    assert [each["range"]["start"]["line"] for each in failure["candidates"]] == [1, 5, 0]
    assert failure["candidates"][0]["score"] > failure["candidates"][1]["score"]
    others = [each["location"]["range"]["start"]["line"] for each in shown.get("relatedInformation") or ()]
    assert others == ([5, 0] if desk.editor.habits.shows_related else [])
    assert [each["uri"] for each in desk.editor.published] == [desk.uris["area.py"]]


async def test_its_quick_fix_applies(desk: Desk, report: Json) -> None:
    (shown,) = desk.shown()
    actions = await desk.editor.quick_fixes(desk.uris["area.py"], shown["range"])
    titles = [each["title"] for each in actions]
    places = [title.partition(":")[0] for title in titles]
    assert places == [
        "Apply at line 2",
        "Apply at line 6",
        "Apply at line 1",
        "Show the change",
        "Dismiss",
    ]
    assert len({title.partition(" → ")[0] for title in titles}) == 5, "each says what goes"
    assert {each["kind"] for each in actions} == {"quickfix"}
    (outcome,) = await desk.editor.choose(actions[0])
    assert outcome["status"] == "landed"
    assert desk.held["area.py"] == AREA.replace(
        "    return width * height\n", "    return abs(width * height)\n"
    )
    assert desk.shown() == []
    assert await desk.editor.request("failure.list") == []


async def test_its_other_quick_fix_applies_there(desk: Desk, report: Json) -> None:
    (shown,) = desk.shown()
    actions = await desk.editor.quick_fixes(desk.uris["area.py"], shown["range"])
    await desk.editor.choose(actions[1])
    assert desk.held["area.py"].splitlines()[1] == "    return width * height"
    assert desk.held["area.py"].splitlines()[5].startswith("    return abs(width * height")


async def test_dismiss_clears_it(desk: Desk, report: Json) -> None:
    (shown,) = desk.shown()
    *_, dismiss = await desk.editor.quick_fixes(desk.uris["area.py"], shown["range"])
    assert await desk.editor.choose(dismiss) is None
    await desk.editor.until(lambda: not desk.shown())
    assert await desk.editor.request("failure.list") == []
    assert desk.held["area.py"] == AREA


async def test_restore_brings_every_byte_back(desk: Desk, report: Json) -> None:
    held = {**desk.held, "unsaved.txt": "one\ntwo, as typed\nthree"}
    (shown,) = desk.shown()
    apply, *_ = await desk.editor.quick_fixes(desk.uris["area.py"], shown["range"])
    await desk.editor.choose(apply)
    fix, turn = await desk.editor.request("checkpoint.list")
    assert turn["id"] == report["checkpoint"] == report["turn"]
    assert [each["path"] for each in turn["paths"]] == ["crlf.txt", "unsaved.txt", "closed.txt"]
    assert [each["path"] for each in fix["paths"]] == ["area.py"]

    for checkpoint, count in ((fix, 1), (turn, 3)):
        restored = await desk.editor.request("checkpoint.restore", checkpoint=checkpoint["id"])
        assert len(restored["restored"]) == count
        assert [restored[key] for key in ("conflicts", "unchanged", "deleted")] == [[], [], []]
    crlf = "alpha\r\nbeta\r\ngamma\r\n"
    assert desk.held == {**held, "area.py": AREA, "crlf.txt": desk.editor.habits.text_and_eol(crlf)[0]}
    assert desk.disk == FILES
    assert desk.saved("crlf.txt") == FILES["crlf.txt"]
    assert desk.shown() == []


async def test_a_restore_can_be_taken_back(desk: Desk, report: Json) -> None:
    after = desk.held
    restored = await desk.editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["checkpoint"] != report["checkpoint"]
    await desk.editor.request("checkpoint.restore", checkpoint=restored["checkpoint"])
    assert desk.held == after
    assert desk.disk["closed.txt"] == b"\tfirst\n\tsecond\n\tsecond and a half\n\tthird\n"


async def test_only_some_documents_are_restored(desk: Desk, report: Json) -> None:
    uri = desk.uris["crlf.txt"]
    restored = await desk.editor.request("checkpoint.restore", checkpoint=report["checkpoint"], uris=[uri])
    assert restored["restored"] == [uri]
    assert "beta and a half" not in desk.held["crlf.txt"]
    assert desk.held["unsaved.txt"] == "one\n2\nthree"


async def test_the_scripted_model_makes_the_same_turn(stage: Stage, habits: object) -> None:
    calls = [patch(*each) for each in PATCHES]
    settings = stage.script(answer("I edit.", *calls), answer("Three of four."))
    editor = await stage.start(habits, settings=settings)  # type: ignore[arg-type]
    for name, raw in FILES.items():
        stage.put(name, raw)
    uri = editor.desk.open(stage.root / "unsaved.txt")
    editor.desk.type(uri, ", as typed", after="two")
    editor.desk.tell()
    report = await editor.turn("Edit.")
    assert statuses(report) == ["landed", "landed", "no-match", "landed"]
    assert report["answer"] == "Three of four."
    assert report["usage"]["steps"] == 2
    assert editor.desk[uri] == "one\n2\nthree"
    disk = snapshot(stage.root)
    assert disk["crlf.txt"] == b"alpha\r\nBETA\r\nbeta and a half\r\ngamma\r\n"
    assert disk["area.py"] == FILES["area.py"]
