"""
Read specifications: Markdown in `specs/<folder>/*.md`, one case a second-level heading.

A case is prose and fenced blocks; the word after the fence names the block. What a case gives is read
here, what it must come to is computed by the one check function of its folder and compared, or with
`--update` written back. `tests/README.md` describes the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import pytest

SPECS = Path(__file__).parent / "specs"
EOLS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
HEADING = re.compile(r"^## (.+?)\s*$")
FENCE = re.compile(r"^(`{3,})([a-z]+)((?: [a-z_]+=[^\s`]+)*)\s*$")
ESCAPE = re.compile(r"\{(?:U\+([0-9A-F]{4,6})|TAB)\}")
TERMINATOR = re.compile(r"\r\n|\n|\r")

update = False  # set by conftest for `pytest --update`


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """
    One fenced block.

    Attributes:
        name, attributes: From its first line.
        text: What it stands for: escapes decoded, line ends as `eol` says, a last one unless `final=none`.
        lines: Where it stands in the file, fences included: the first line and the one past the last.
    """

    name: str
    attributes: Mapping[str, str]
    text: str
    lines: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case; `case["name"]` is the text of a block that must be there."""

    name: str
    path: Path
    blocks: tuple[Block, ...]

    def __getitem__(self, name: str) -> str:
        block = self.block(name)
        assert block is not None, f"{self.path.name}: {self.name!r} has no block {name!r}"
        return block.text

    def block(self, name: str) -> Block | None:
        """The first block of that name."""
        return next((block for block in self.blocks if block.name == name), None)

    def get(self, name: str, attribute: str, default: str = "") -> str:
        """An attribute of a block; *default* if either is not there."""
        block = self.block(name)
        return block.attributes.get(attribute, default) if block is not None else default

    def check(self, **found: str | None) -> None:
        """
        Compare what was computed with what the case says.

        Args:
            found: By name, every block that this folder's cases can expect; None for one that must be absent.
        """
        wanted = {block.name: block.text for block in self.blocks if block.name in found}
        there = {name: text for name, text in found.items() if text is not None}
        assert there, f"{self.name!r} comes to nothing at all"
        if wanted == there:
            return
        if update:
            _rewrite(self, found)
            return
        shown = [list(_shown(blocks)) for blocks in (wanted, there)]
        difference = "\n".join(unified_diff(*shown, "the case says", "it comes to", lineterm="", n=99))
        pytest.fail(f"{self.path.name}: {self.name}\n{difference}", pytrace=False)


def cases(folder: str) -> list[object]:
    """All cases of `specs/<folder>`, as parameters for pytest."""
    found = [case for path in sorted((SPECS / folder).glob("*.md")) for case in read(path)]
    assert found, f"no case in specs/{folder}"
    return [pytest.param(case, id=f"{case.path.stem}: {case.name}") for case in found]


def read(path: Path) -> list[Case]:
    """The cases of one file."""
    lines = path.read_text(encoding="utf-8").split("\n")
    heads = [(at, found[1]) for at, found in _headings(lines)]
    names = [name for _, name in heads]
    assert len(set(names)) == len(names), f"{path}: two cases have one name"
    ends = [at for at, _ in heads[1:]] + [len(lines)]
    return [
        Case(name=name, path=path, blocks=tuple(_blocks(lines, (at, end), path)))
        for (at, name), end in zip(heads, ends, strict=True)
    ]


def _headings(lines: list[str]) -> Iterator[tuple[int, re.Match[str]]]:
    closing = ""
    for at, line in enumerate(lines):
        if closing:
            closing = "" if line.rstrip() == closing else closing
        elif found := FENCE.match(line):
            closing = found[1]
        elif found := HEADING.match(line):
            yield at, found


def _blocks(lines: list[str], part: tuple[int, int], path: Path) -> Iterator[Block]:
    at, end = part
    while at < end:
        fence = FENCE.match(lines[at])
        if fence is None:
            assert not lines[at].startswith("```"), f"{path}:{at + 1}: not the first line of a block"
            at += 1
            continue
        closing = next((i for i in range(at + 1, end) if lines[i].rstrip() == fence[1]), None)
        assert closing is not None, f"{path}:{at + 1}: the block is never closed"
        attributes = dict(_decoded(pair).split("=", 1) for pair in fence[3].split())
        text = _text(lines[at + 1 : closing], attributes)
        yield Block(name=fence[2], attributes=attributes, text=text, lines=(at, closing + 1))
        at = closing + 1


def _text(body: list[str], attributes: Mapping[str, str]) -> str:
    eol = EOLS[attributes.get("eol", "lf")]
    text = eol.join(body) + (eol if body and attributes.get("final") != "none" else "")
    return _decoded(text)


def _decoded(text: str) -> str:
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "\t", text)


# ---- Writing --------------------------------------------------------------------------------------


def _rewrite(case: Case, found: Mapping[str, str | None]) -> None:
    """Replace the blocks named in *found* in the case's file; new ones go where the first one stood."""
    now = next(other for other in read(case.path) if other.name == case.name)
    old = [block for block in now.blocks if block.name in found]
    given = [block for block in now.blocks if block.name not in found]
    place = old[0].lines[0] if old else given[-1].lines[1]
    lines = case.path.read_text(encoding="utf-8").split("\n")
    for block in reversed(old):
        del lines[block.lines[0] : block.lines[1]]
    lines[place:place] = _shown({name: text for name, text in found.items() if text is not None})
    case.path.write_text("\n".join(lines), encoding="utf-8")


def _shown(blocks: Mapping[str, str]) -> Iterator[str]:
    for name, text in blocks.items():
        yield from show(name, text)


def show(name: str, text: str) -> list[str]:
    """The lines of a block that stands for *text*."""
    used = set(TERMINATOR.findall(text))
    key = next((key for key, eol in EOLS.items() if used == {eol}), "lf")
    body = text.split(EOLS[key])
    info = name + (f" eol={key}" if key != "lf" else "")
    if not body[-1]:
        body.pop()
    else:
        info += " final=none"
    body = [_escaped(row) for row in body]
    longest = max((len(found[0]) for row in body for found in re.finditer(r"`{3,}", row)), default=2)
    fence = "`" * (longest + 1)
    return [fence + info, *body, fence]


def _escaped(row: str) -> str:
    row = ESCAPE.sub(lambda found: "{U+007B}" + found[0][1:], row)
    visible = row.rstrip(" ")
    return "".join(map(_character, visible)) + "{U+0020}" * (len(row) - len(visible))


def _character(character: str) -> str:
    if character == "\t":
        return "{TAB}"
    return character if character.isprintable() else f"{{U+{ord(character):04X}}}"
