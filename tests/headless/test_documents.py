"""The documents of the headless client: positions, text edits and workspace edits, against naive models."""

import asyncio
import codecs
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.headless import lock, text
from handrail.headless.errors import EditRefusedError
from handrail.headless.text import ENCODINGS, Encoding, Position, TextEdit
from handrail.headless.workspace import Sync, Unsaved, Workspace
from holder import held_by_another_process

Sent = list[tuple[str, dict[str, Any]]]

STRANGE = "a\fb\u2028c🙂é"  # a form feed and U+2028 end no line; the emoji is 4, 2 and 1 units long
UNITS: dict[Encoding, int] = {"utf-8": 13, "utf-16": 8, "utf-32": 7}


# ---- Positions and text edits against a naive model ---------------------------------------------------


def places(whole: str, encoding: Encoding) -> dict[Position, int]:
    """Every position of a text, found by walking through it character by character."""
    width = {
        "utf-8": lambda c: len(c.encode()),
        "utf-16": lambda c: 1 + (c > "\uffff"),
        "utf-32": lambda c: 1,
    }
    found, line, units, offset = {}, 0, 0, 0
    while offset < len(whole):
        found[Position(line, units)] = offset
        if whole[offset] in "\r\n":
            offset += 2 if whole.startswith("\r\n", offset) else 1
            line, units = line + 1, 0
        else:
            units += width[encoding](whole[offset])
            offset += 1
    return {**found, Position(line, units): offset}


texts = st.text(st.sampled_from("ab\r\n\f\u2028é🙂"), max_size=12)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, Encoding, list[tuple[int, int, str]]]:
    """A text, an encoding, and spans of it that do not overlap, with what replaces them."""
    whole, encoding = draw(texts), draw(st.sampled_from(ENCODINGS))
    offsets = st.sampled_from(sorted(places(whole, encoding).values()))
    cuts = sorted(draw(st.lists(offsets, max_size=8)))
    return whole, encoding, [(a, b, draw(texts)) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]


@given(edited())
def test_edits_do_what_they_do_one_by_one_from_the_back(case: tuple[str, Encoding, list[Any]]) -> None:
    whole, encoding, spans = case
    position = {offset: place for place, offset in places(whole, encoding).items()}
    edits = [TextEdit(start=position[a], end=position[b], new_text=new) for a, b, new in spans]
    expected = whole
    for a, b, new in reversed(spans):
        expected = expected[:a] + new + expected[b:]

    splices = text.plan(whole, edits, encoding)

    assert text.apply(whole, splices) == expected
    assert mirror(whole, text.content_changes(whole, splices, encoding), encoding) == expected


def mirror(whole: str, changes: list[Any], encoding: Encoding) -> str:
    """What a server makes of `contentChanges`."""
    for change in changes:
        if "range" not in change:
            whole = change["text"]
            continue
        start, end = (places(whole, encoding)[Position(**change["range"][at])] for at in ("start", "end"))
        whole = whole[:start] + change["text"] + whole[end:]
    return whole


def test_inserts_at_one_place_keep_their_order() -> None:
    here = Position(0, 1)
    edits = [TextEdit(start=here, end=here, new_text=new) for new in "123"]
    assert text.apply("ab", text.plan("ab", edits, "utf-8")) == "a123b"


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([(0, 2), (1, 3)], "two edits overlap at line 1"),
        ([(0, 3), (1, 1)], "two edits overlap at line 1"),
        ([(2, 1)], "the end of a range lies before its start"),
        ([(0, 5)], "the position at line 1, unit 5 is inside a character"),
    ],
)
def test_edits_that_make_no_sense_are_refused(spans: list[tuple[int, int]], reason: str) -> None:
    edits = [TextEdit(start=Position(0, a), end=Position(0, b), new_text="") for a, b in spans]
    with pytest.raises(EditRefusedError, match=reason):
        text.plan("abcd🙂", edits, "utf-8")


def test_positions_past_the_end_mean_the_end() -> None:
    lines = text.Lines("ab\r\nc", "utf-16")
    assert [lines.offset(Position(0, 9)), lines.offset(Position(1, 9)), lines.offset(Position(7, 0))] == [
        2,
        5,
        5,
    ]


# ---- Workspace edits ---------------------------------------------------------------------------------


class Held:
    """A workspace of which every notification is kept."""

    def __init__(self, root: Path) -> None:
        self.sent: Sent = []
        self.root = root.resolve()
        self.workspace = Workspace(self.root, lambda method, params: self.sent.append((method, params)))

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def edit(self, name: str, *edits: Any, version: int | None = None) -> dict[str, Any]:
        return {"textDocument": {"uri": self.uri(name), "version": version}, "edits": list(edits)}

    def apply(self, *changes: Any) -> dict[str, Any]:
        return asyncio.run(self.workspace.apply({"documentChanges": list(changes)}))

    def save(self, *names: str) -> list[str]:
        return asyncio.run(self.workspace.save([self.uri(name) for name in names]))

    def save_all(self) -> tuple[Unsaved, ...]:
        return asyncio.run(self.workspace.save_all())

    @property
    def methods(self) -> list[str]:
        return [method.removeprefix("textDocument/") for method, _ in self.sent]


def replacing(line: int, start: int, end: int, new: str) -> dict[str, Any]:
    at = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
    return {"range": at, "newText": new}


@pytest.fixture
def held(tmp_path: Path) -> Held:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return Held(folder)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_edit_behind_strange_characters_lands_at_its_place(held: Held, encoding: Encoding) -> None:
    (held.root / "a.txt").write_bytes(f"{STRANGE}one\r\ntwo\r\n".encode())
    held.workspace.sync = Sync(encoding=encoding)
    at = UNITS[encoding]

    assert held.apply(held.edit("a.txt", replacing(0, at, at + 3, "1"), replacing(1, 0, 3, "2\r\n3")))[
        "applied"
    ]

    assert held.save("a.txt") == [held.uri("a.txt")]
    assert (held.root / "a.txt").read_bytes() == f"{STRANGE}1\r\n2\r\n3\r\n".encode()
    assert held.methods == ["didOpen", "didChange", "didSave"]
    opened, changed = (params for _, params in held.sent[:2])
    whole = opened["textDocument"]["text"]
    assert mirror(whole, changed["contentChanges"], encoding) == f"{STRANGE}1\r\n2\r\n3\r\n"
    assert changed["textDocument"]["version"] > opened["textDocument"]["version"]


def test_a_stale_version_is_refused_and_nothing_of_the_edit_happens(held: Held) -> None:
    for name in ("a.txt", "b.txt"):
        (held.root / name).write_bytes(b"one\n")
    held.apply(held.edit("a.txt", replacing(0, 0, 0, "x")))
    version = held.sent[-1][1]["textDocument"]["version"]

    result = held.apply(
        held.edit("b.txt", replacing(0, 0, 0, "y")),
        held.edit("a.txt", replacing(0, 0, 0, "z"), version=version - 1),
    )

    assert result["applied"] is False
    assert f"is at version {version}, the edit was made for {version - 1}" in result["failureReason"]
    assert result["failedChange"] == 1
    assert held.methods == ["didOpen", "didChange"]
    assert held.apply(held.edit("a.txt", replacing(0, 0, 1, "z"), version=version)) == {"applied": True}


def test_all_edits_of_one_document_are_relative_to_the_text_before(held: Held) -> None:
    (held.root / "a.txt").write_bytes(b"one two\n")
    edits = held.edit("a.txt", replacing(0, 0, 3, "1")), held.edit("a.txt", replacing(0, 4, 7, "2"))
    assert held.apply(*edits) == {"applied": True}
    held.save_all()
    assert (held.root / "a.txt").read_bytes() == b"1 2\n"


def test_changes_without_versions_are_applied_too(held: Held) -> None:
    (held.root / "a.txt").write_bytes(b"one\n")
    edit = {"changes": {held.uri("a.txt"): [replacing(0, 0, 3, "1")]}}
    assert asyncio.run(held.workspace.apply(edit)) == {"applied": True}
    held.save_all()
    assert (held.root / "a.txt").read_bytes() == b"1\n"


def test_files_are_created_renamed_and_deleted(held: Held) -> None:
    (held.root / "old.txt").write_bytes(b"old\n")
    (held.root / "gone.txt").write_bytes(b"gone\n")
    result = held.apply(
        {"kind": "create", "uri": held.uri("new/made.txt")},
        held.edit("new/made.txt", replacing(0, 0, 0, "made\n")),
        held.edit("old.txt", replacing(0, 0, 3, "unsaved")),
        {"kind": "rename", "oldUri": held.uri("old.txt"), "newUri": held.uri("new/moved.txt")},
        {"kind": "delete", "uri": held.uri("gone.txt")},
    )
    assert result == {"applied": True}
    assert held.methods == ["didOpen", "didChange", "didOpen", "didChange", "didClose", "didOpen"]
    assert held.sent[-1][1]["textDocument"]["text"] == "unsaved\n"
    assert held.save_all() == ()
    files = {str(path.relative_to(held.root)): path.read_bytes() for path in held.root.rglob("*.txt")}
    assert files == {"new/made.txt": b"made\n", "new/moved.txt": b"unsaved\n"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "create", "uri": "a.txt"}, "already exists"),
        ({"kind": "rename", "oldUri": "a.txt", "newUri": "b.txt"}, "already exists"),
        ({"kind": "rename", "oldUri": "none.txt", "newUri": "c.txt"}, "does not exist"),
        ({"kind": "delete", "uri": "none.txt"}, "does not exist"),
        ({"kind": "delete", "uri": "full"}, "not empty"),
        ({"kind": "delete", "uri": ""}, "not inside the workspace"),
        ({"kind": "chmod", "uri": "a.txt"}, "is unknown"),
        ({"kind": "create", "uri": "../out.txt"}, "not inside the workspace"),
        ({"kind": "create", "uri": "link/out.txt"}, "not inside the workspace"),
        ({"kind": "rename", "oldUri": "a.txt", "newUri": "../out.txt"}, "not inside the workspace"),
        ({"kind": "rename", "oldUri": "../outside.txt", "newUri": "c.txt"}, "not inside the workspace"),
        ({"textDocument": {"uri": "../outside.txt"}, "edits": []}, "not inside the workspace"),
        ({"textDocument": {"uri": "link/outside.txt"}, "edits": []}, "not inside the workspace"),
        ({"textDocument": {"uri": "none.txt"}, "edits": []}, "does not exist"),
        ({"textDocument": {"uri": "full"}, "edits": []}, "is not a regular file"),
        ({"textDocument": {"uri": "latin.txt"}, "edits": []}, "is not valid UTF-8 .byte 3"),
        ({"textDocument": {"uri": "a.txt", "version": 1}, "edits": []}, "is not open"),
        ({"textDocument": {"uri": "a.txt"}, "edits": [{"newText": ""}]}, "has no `range`"),
        ({"textDocument": {"uri": "a.txt"}, "edits": [replacing(0, 0, 0, "\ud83d")]}, "surrogate"),
        ({"textDocument": {"uri": "a.txt"}, "edits": [replacing(0, -1, 0, "")]}, "whole numbers"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(
    held: Held, change: dict[str, Any], reason: str
) -> None:
    for name, content in (
        ("a.txt", b"a\n"),
        ("b.txt", b"b\n"),
        ("latin.txt", b"caf\xe9\n"),
        ("full/c.txt", b""),
    ):
        (held.root / name).parent.mkdir(exist_ok=True)
        (held.root / name).write_bytes(content)
    (held.root.parent / "outside.txt").write_bytes(b"outside\n")
    (held.root / "link").symlink_to(held.root.parent)
    named = {name: with_uri(name, value, held) for name, value in change.items()}
    before = snapshot(held.root.parent)

    result = held.apply(named)

    assert result["applied"] is False
    assert re.search(reason, result["failureReason"])
    assert held.sent == []
    assert snapshot(held.root.parent) == before


def with_uri(name: str, value: Any, held: Held) -> Any:
    """Make a URI of every path in a change; `..` stays in it."""
    if name == "textDocument":
        return {**value, "uri": held.root.as_uri() + "/" + value["uri"]}
    return held.root.as_uri() + "/" + value if name in ("uri", "oldUri", "newUri") else value


def snapshot(folder: Path) -> list[tuple[Path, bytes | None]]:
    return sorted((path, path.read_bytes() if path.is_file() else None) for path in folder.rglob("*"))


def test_saving_keeps_mode_link_byte_order_mark_and_line_ends(held: Held) -> None:
    target = held.root / "real.sh"
    target.write_bytes(codecs.BOM_UTF8 + b"one\r\ntwo\nthree\rfour")
    target.chmod(0o750)
    (held.root / "link.sh").symlink_to("real.sh")

    assert held.apply(held.edit("link.sh", replacing(0, 0, 3, "1"))) == {"applied": True}
    assert held.save("real.sh") == [held.uri("real.sh")]

    assert target.read_bytes() == codecs.BOM_UTF8 + b"1\r\ntwo\nthree\rfour"
    assert target.stat().st_mode & 0o777 == 0o750
    assert (held.root / "link.sh").is_symlink()
    assert sorted(path.name for path in held.root.iterdir()) == ["link.sh", "real.sh"]


def test_what_somebody_else_wrote_is_not_overwritten(held: Held) -> None:
    path = held.root / "a.txt"
    path.write_bytes(b"one\n")
    held.apply(held.edit("a.txt", replacing(0, 0, 3, "ours")))
    path.write_bytes(b"theirs, and longer\n")
    assert held.save("a.txt") == []
    (unsaved,) = held.save_all()
    assert "another program changed" in unsaved.reason
    assert path.read_bytes() == b"theirs, and longer\n"


def test_what_somebody_else_did_to_other_lines_is_saved_with_ours(held: Held) -> None:
    path = held.root / "a.txt"
    path.write_bytes(b"one\n\ntwo\n\nthree\n")
    held.apply(held.edit("a.txt", replacing(2, 0, 3, "ours,\nand more")))
    path.write_bytes(b"first\n\ntwo\n\nthree\n")
    assert held.save("a.txt") == [held.uri("a.txt")]
    path.write_bytes(path.read_bytes() + b"last\n")
    held.apply(held.edit("a.txt", replacing(2, 0, 4, "OURS")))
    path.write_bytes(path.read_bytes() + b"the very last\n")
    assert held.save_all() == ()
    saved = "first\n\nOURS,\nand more\n\nthree\nlast\nthe very last\n"
    assert path.read_text() == saved
    whole = held.sent[0][1]["textDocument"]["text"]
    for method, params in held.sent:
        if method == "textDocument/didChange":
            whole = mirror(whole, params["contentChanges"], held.workspace.sync.encoding)
    assert whole == saved, "the server was told"


def test_a_file_that_is_no_text_any_more_is_not_overwritten(held: Held) -> None:
    path = held.root / "a.txt"
    path.write_bytes(b"one\n\ntwo\n")
    held.apply(held.edit("a.txt", replacing(0, 0, 3, "ours")))
    for theirs in (b"one\n\ncaf\xe9\n", codecs.BOM_UTF8 + b"one\n\ntwo\n"):
        path.write_bytes(theirs)
        (unsaved,) = held.save_all()
        assert unsaved.path == path
        assert path.read_bytes() == theirs


lines = st.lists(st.sampled_from(["a", "b", "é🙂", ""]), min_size=1, max_size=4).map("\n".join)


@given(st.lists(lines, min_size=3, max_size=3), lines, lines)
def test_changes_of_lines_apart_are_both_kept(parts: list[str], ours: str, theirs: str) -> None:
    first, middle, last = parts
    base, mine, other = (
        f"{one}\n--- {middle}\n---\n{two}\n" for one, two in ((first, last), (ours, last), (first, theirs))
    )
    if base in (mine, other):
        return
    joined = f"{ours}\n--- {middle}\n---\n{theirs}\n"
    splice, back = text.carry(base, mine, other), text.carry(base, other, mine)
    assert splice is not None
    assert back is not None
    assert text.apply(mine, [splice]) == text.apply(other, [back]) == joined


@given(st.lists(lines, min_size=3, max_size=3))
def test_what_is_carried_over_loses_nothing(versions: list[str]) -> None:
    """Either both changes touch, or each side ends with the same text."""
    base, mine, other = versions
    splice, back = text.carry(base, mine, other), text.carry(base, other, mine)
    assert (splice is None) == (back is None)
    if splice is not None and back is not None:
        assert text.apply(mine, [splice]) == text.apply(other, [back])


def test_nothing_is_changed_in_a_folder_that_somebody_keeps_locked(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "WAIT_S", 0.02)
    for name in ("a.txt", "b.txt"):
        (held.root / name).write_bytes(b"one\n")
    held.apply(held.edit("a.txt", replacing(0, 0, 3, "ours")))
    before = snapshot(held.root)
    with held_by_another_process(held.root) as holder:
        for change in (
            {"kind": "create", "uri": held.uri("new/c.txt")},
            {"kind": "rename", "oldUri": held.uri("b.txt"), "newUri": held.uri("c.txt")},
            {"kind": "delete", "uri": held.uri("b.txt")},
        ):
            result = held.apply(change)
            assert result["applied"] is False
            assert f"process {holder} has kept the folder of this file locked" in result["failureReason"]
        assert held.save("a.txt") == []
        (unsaved,) = held.save_all()
        assert f"process {holder} has kept the folder of this file locked" in unsaved.reason
    assert snapshot(held.root) == before
    assert held.save_all() == ()
    assert (held.root / "a.txt").read_bytes() == b"ours\n"


def test_a_file_that_somebody_else_changed_is_not_deleted(held: Held) -> None:
    path = held.root / "a.txt"
    path.write_bytes(b"one\n")
    held.apply(held.edit("a.txt", replacing(0, 0, 3, "ours")))
    path.write_bytes(b"theirs\n")
    result = held.apply({"kind": "delete", "uri": held.uri("a.txt")})
    assert "has been changed by another program" in result["failureReason"]
    assert path.read_bytes() == b"theirs\n"


def test_what_somebody_else_wrote_is_taken_over_when_nothing_is_unsaved(held: Held) -> None:
    path = held.root / "a.txt"
    path.write_bytes(b"one\n")
    held.apply(held.edit("a.txt", replacing(0, 0, 3, "ours")))
    held.save_all()
    path.write_bytes(b"theirs, and longer\n")
    known = held.sent[1][1]["textDocument"]["version"]

    assert held.apply(held.edit("a.txt", replacing(0, 0, 3, "1"), version=known))["applied"] is False
    version = held.sent[-1][1]["textDocument"]["version"]
    assert held.sent[-1][1]["contentChanges"] == [{"text": "theirs, and longer\n"}]
    assert held.apply(held.edit("a.txt", replacing(0, 0, 6, "1"), version=version)) == {"applied": True}
    assert held.save_all() == ()
    assert path.read_bytes() == b"1, and longer\n"
