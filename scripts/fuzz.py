"""
Feed random patches to random files, and see that nothing raises and nothing is lost.

    fuzz.py --seconds 60 --seed N

Patches are made of the notations' markers and of lines of the file, or are right ones in every notation, some
of them mutated; files mix line ends, encodings and characters that break things. What must hold: each request
is answered; one that failed changed nothing; what was written can be read again; a right edit comes to what
replacing the string would. Prints the request that broke a rule and ends with 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from handrail.core.documents import diff
from handrail.core.documents.change import PlannedHunk, Status
from handrail.core.documents.text import Text
from handrail.core.engine import engine
from handrail.core.engine.engine import Patch, Replace, Reply, Request
from handrail.core.failure import Failure
from handrail.core.patches import notations, reply
from handrail.core.patches.hunk import Hunk
from handrail.core.planning import plan

EOLS = ("\n", "\n", "\r\n", "\r")
WORDS = (
    "def f(x):", "return x", "if (a == b) {", "}", "", "", "  ", "x = 1", "'a'", '"b"', "\u201cc\u201d",
    "it\u2019s", "\u2026", "...", "\u2014 d -- e", "\u00a0e", "\u3000f", "\u2028", "\x85", "\x0c", "\x1c",
    "\ufeff", "\U0001f642", "# ... existing code ...", "rest unchanged", "\\n", '\\"', "\\\\", "\t", "\ta\tb",
    "else:", "class A:", "=======",
)  # fmt: skip
NO_TEXT = ("\0", "\ud800", "\udfff\ud83d", "\udc80")
INDENTS = ("", "", "", "  ", "    ", "        ", "\t", "\t\t", " ", "\u00a0 ")
MARKERS = (
    "*** Begin Patch", "*** End Patch", "*** Update File: a", "*** Update File: b", "*** Add File: c",
    "*** Delete File: a", "*** Move to: d", "*** End of File", "@@", "@@ def f(x):", "@@ class A:",
    "@@ -1,2 +1,3 @@", "@@ -9 +1 @@ def f(x):", "--- a/a", "+++ b/a", "--- /dev/null", "+++ /dev/null",
    "diff --git a/a b/a", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "------- SEARCH", "+++++++ REPLACE",
    ":start_line:2", "-------", "```", "```python", "a", "b", "**`a`**", "\\ No newline at end of file",
    "\\=======", "apply_patch <<'EOF'", "EOF", "%%bash", " *** Begin Patch", " *** End Patch",
    "*** update file:`a`",
    "--- SEARCH", "+++ REPLACE", "<<< search", ">>>>>>>", "---a/a", "+++b/a", "--- a/a.orig", "rename from a",
    "rename to d", ":start_line:5",
)  # fmt: skip
MARKS = (("utf-8", False),) * 4 + (("utf-8", True), ("utf-16-le", True), ("utf-16-be", True))


@dataclass(frozen=True)
class Broken(Exception):
    """A rule that does not hold, and the request that broke it."""

    rule: str
    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A request that is right, and what its file must be afterwards."""

    request: Request
    after: bytes


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz for a while; 1 if a rule was broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    ends = time.monotonic() + options.seconds
    counts: Counter[str] = Counter()
    chance = random.Random(options.seed)
    while time.monotonic() < ends:
        made = request(chance)
        try:
            counts[check(made)] += 1
        except Broken as broken:
            print(f"BROKEN: {broken.rule}\n{broken.request}")
            return 1
        except BaseException:
            print(f"RAISED by:\n{made}")
            raise
    told = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
    print(f"{sum(counts.values()):,} requests with seed {options.seed}: {told}.")
    return 0


# ---- What must hold ---------------------------------------------------------------------------------


def check(made: Request | Right) -> str:
    """Carry out one request; its status, or the code of its failure. Raises Broken, or whatever is raised."""
    asked = made.request if isinstance(made, Right) else made
    done = engine.carry_out(asked)
    if done.status is not Status.LANDED and done.files:
        raise Broken(f"{done.status.value} and yet changed", asked)
    if done.status is Status.LANDED and not done.files:
        raise Broken("landed and changed nothing", asked)
    for raw in done.files.values():
        if raw is not None and not isinstance(Text.parse(raw), Text):
            raise Broken("what was written cannot be read again", asked)
    before = {asked.path: asked.before} if isinstance(asked, Replace) else asked.files
    if any(before.get(path) == raw for path, raw in done.files.items()):
        raise Broken("said to be changed and the same", asked)
    if isinstance(made, Right) and done.files and done.files != {"a": made.after}:
        raise Broken(f"must be {made.after!r}, not {done.files!r}", asked)
    _told(asked, done)
    return done.failure.code.value if done.failure else done.status.value


def _told(asked: Request, done: Reply) -> None:
    """What is said of a request, and what a chat's reader makes of it, must not raise either."""
    if done.failure is not None:
        "".join((done.failure.message, *done.failure.steps)).encode()
    if isinstance(asked, Patch):
        reply.read(asked.patch)
        return
    text = Text.parse(asked.before)
    for each in plan.plan(text, asked.hunks) if isinstance(text, Text) else ():
        if isinstance(each.result, PlannedHunk):
            diff.unified_diff(asked.path, text, each.result.edits)
        else:
            _chosen(text, each.hunk, each.result)


def _chosen(text: Text, hunk: Hunk, failure: Failure) -> None:
    for near in failure.near:
        plan.plan_at(text, hunk, near.span)


# ---- Requests ---------------------------------------------------------------------------------------


def request(chance: random.Random) -> Request | Right:
    """Any request."""
    text, content = document(chance), document(chance)
    if chance.random() < 0.3:
        return _scrap(chance, text, content)
    right = _right(chance, text)
    if right is None or chance.random() < 0.3:
        return _strings(chance, text)
    return right if chance.random() < 0.4 else _mutated(chance, right.request)


def document(chance: random.Random) -> Text:
    """Any text; lines often resemble each other."""
    words = chance.sample(WORDS, chance.randint(1, 8))
    eols = [chance.choice(EOLS)] * 4 if chance.random() < 0.7 else EOLS
    rows = [chance.choice(INDENTS) + _row(chance, words) for _ in range(chance.choice((0, 1, 3, 8, 30)))]
    content = "".join(row + chance.choice(eols) for row in rows)
    if chance.random() < 0.2:
        content = content.rstrip("\r\n")
    encoding, bom = chance.choice(MARKS)
    return Text(content, encoding, bom)


def _row(chance: random.Random, words: Sequence[str]) -> str:
    numbered = f" {chance.randint(0, 99)}" if chance.random() < 0.5 else ""
    return " ".join(chance.choice(words) for _ in range(chance.randint(0, 3))) + numbered


def _raw(chance: random.Random, text: Text) -> bytes:
    raw = text.raw
    if chance.random() < 0.03:
        at = chance.randint(0, len(raw))
        raw = raw[:at] + chance.choice((b"\0", b"\xff", b"\xed\xa0\x80", b"\xe9")) + raw[at:]
    return raw


def _lines(chance: random.Random, text: Text, least: int = 0) -> list[str]:
    """Some rows of *text* that follow each other, or others."""
    if not text.rows or (chance.random() < 0.1 and not least):
        return [_row(chance, WORDS) for _ in range(chance.randint(least, 3))]
    first = chance.randrange(len(text.rows))
    return list(text.rows[first : first + chance.randint(max(1, least), 6)])


def _right(chance: random.Random, text: Text) -> Right | None:
    """An edit whose old rows stand once, in any notation; None if there is none in *text*."""
    if text.eol == "\r" or not text.has_one_eol or not text.rows or not text.eols[-1]:
        return None
    first = chance.randrange(len(text.rows))
    end = min(len(text.rows), first + chance.randint(1, 6))
    old = list(text.rows[first:end])
    new = [row for row in old if chance.random() < 0.8]
    new.insert(chance.randint(0, len(new)), f"new = {chance.randint(0, 99)}")
    around = text.flat.count("\n".join(old))
    if around != 1 or not old[0].strip() or not old[-1].strip() or not all(map(_is_plain, (*old, *new))):
        return None
    after = Text("".join(row + text.eol for row in (*text.rows[:first], *new, *text.rows[end:])))
    raw = replace(text, content=after.content).raw
    return Right(request=_rendered(chance, text, old, new), after=raw)


def _is_plain(row: str) -> bool:
    """Whether a row can be written in every notation: no marker, no end of line to some reader."""
    return "=======" not in row and "..." not in row and "unchanged" not in row and "\\" not in row


def _rendered(chance: random.Random, text: Text, old: Sequence[str], new: Sequence[str]) -> Request:
    body = "".join(f"-{row}\n" for row in old) + "".join(f"+{row}\n" for row in new)
    match chance.choice(("replace", *notations.NOTATIONS.values())):
        case notations.V4A:
            patch = f"*** Begin Patch\n*** Update File: a\n@@\n{body}*** End Patch\n"
            return Patch(notation=notations.V4A, files={"a": text.raw}, patch=patch)
        case notations.UNIFIED:
            number = chance.randint(1, 40)
            patch = f"--- a/a\n+++ b/a\n@@ -{number},3 +{number},4 @@\n{body}"
            return Patch(notation=notations.UNIFIED, files={"a": text.raw}, patch=patch)
        case notations.SEARCH_REPLACE:
            parts = ("".join(f"{row}\n" for row in rows) for rows in (old, new))
            patch = "<<<<<<< SEARCH\n" + "=======\n".join(parts) + ">>>>>>> REPLACE\n"
            return Patch(notation=notations.SEARCH_REPLACE, files={"a": text.raw}, patch=patch)
        case "replace":
            strings = Hunk(number=1, old="\n".join(old), new="\n".join(new), whole_lines=False)
            return Replace(path="a", before=text.raw, hunks=(strings,))
        case other:
            raise NotImplementedError(f"scripts/fuzz.py: `_rendered` writes no patch in {other}.")


def _strings(chance: random.Random, text: Text) -> Request:
    """Search and replacement strings, cut out of the text anywhere and mutated."""
    hunks = []
    for number in range(1, chance.choice((2, 2, 3, 6))):
        old = "\n".join(_lines(chance, text))
        start, end = sorted((chance.randint(0, len(old)), chance.randint(0, len(old))))
        old = old if chance.random() < 0.5 else old[start:end]
        new = _mangled(chance, old) if chance.random() < 0.8 else _row(chance, WORDS)
        old = _mangled(chance, old) if chance.random() < 0.5 else old
        hint = chance.randint(1, 40) if chance.random() < 0.3 else None
        everywhere = chance.random() < 0.2
        hunks.append(
            Hunk(
                number=number,
                old=old.replace("\r", ""),
                new=new.replace("\r", ""),
                whole_lines=False,
                line_number=hint,
                replace_all=everywhere,
            )
        )
    return Replace(path="a", before=_raw(chance, text), hunks=tuple(hunks))


def _scrap(chance: random.Random, text: Text, other: Text) -> Request:
    """A patch of markers and lines, in any order."""
    lines = []
    for _ in range(chance.randint(0, 20)):
        line = chance.choice(_lines(chance, text, 1)) if chance.random() < 0.6 else chance.choice(MARKERS)
        lines.append(chance.choice(("", "", "+", "-", " ")) + line)
    notation = chance.choice(list(notations.NOTATIONS.values()))
    frame = {
        notations.V4A: ("*** Begin Patch\n*** Update File: a\n", "\n*** End Patch"),
        notations.UNIFIED: ("--- a/a\n+++ b/a\n@@ -1 +1 @@\n", ""),
        notations.SEARCH_REPLACE: ("<<<<<<< SEARCH\n", "\n>>>>>>> REPLACE\n"),
    }[notation] if chance.random() < 0.7 else ("", "")  # fmt: skip
    files: Mapping[str, bytes] = {"a": _raw(chance, text), "b": _raw(chance, other)}
    if not notation.names_files and chance.random() < 0.7:
        files = {"a": files["a"]}
    return Patch(notation=notation, files=files, patch=("\n".join(lines)).join(frame))


def _mutated(chance: random.Random, asked: Request) -> Request:
    if isinstance(asked, Patch):
        return replace(asked, patch=_mangled(chance, asked.patch))
    hunks = (replace(hunk, old=_mangled(chance, hunk.old).replace("\r", "")) for hunk in asked.hunks)
    return replace(asked, hunks=tuple(hunks))


def _mangled(chance: random.Random, text: str) -> str:
    """*text* with one thing done to it that models, transports or enemies do."""
    rows = text.split("\n")
    at, other = chance.randrange(len(rows)), chance.randrange(len(rows))
    match chance.randint(0, 9):
        case 0:
            rows.pop(at)
        case 1:
            rows.insert(at, rows[other])
        case 2:
            rows[at], rows[other] = rows[other], rows[at]
        case 3:
            rows[at] = chance.choice(INDENTS) + rows[at].lstrip()
        case 4:
            rows[at] += chance.choice((" ", "\t", "\r", *NO_TEXT))
        case 5:
            rows[at] = rows[at].replace("'", "\u2019").replace('"', '\\"').replace(" ", "\u00a0", 1)
        case 6:
            rows.insert(at, chance.choice(MARKERS))
        case 7:
            cut = chance.randint(0, len(rows[at]))
            rows[at] = rows[at][:cut] + chance.choice((*WORDS, *NO_TEXT)) + rows[at][cut + 1 :]
        case 8:
            return text.replace("\n", chance.choice(("\r\n", "\r", "\\n", "\n\n")))
        case _:
            rows[at] = chance.choice(WORDS)
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
