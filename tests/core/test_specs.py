"""The specification of the core: one check for each folder of `specs`, see README.md."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pytest

from handrail.core.documents import diff, edit
from handrail.core.documents.change import PlannedHunk, Tier
from handrail.core.documents.readback import Fate, fates, which_are_intact
from handrail.core.documents.revert import revert
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.core.matching import match
from handrail.core.matching.result import Match
from handrail.core.matching.tie_break import Bounds
from handrail.core.patches import notations, reply
from handrail.core.patches.notations import FilePatch, Hunk
from handrail.core.planning import plan
from handrail.core.planning.plan_file import plan_file
from handrail.core.policy import schedule
from handrail.core.results import redact, truncate
from ledger_play import Play
from spec import Block, Case, cases


@pytest.mark.parametrize("case", cases("documents/text"))
def test_text(case: Case) -> None:
    """`bytes` (as Python writes them) read as `text`, and `new` written back in their encoding."""
    raw = ast.literal_eval(case["bytes"].strip())
    text = Text.parse(raw, case.get("bytes", "named") or None)
    if isinstance(text, Failure):
        case.check(text=None, facts=None, written=None, failure=_failure(text))
        return
    assert text.raw == raw
    new = case.block("new")
    written = text.encode(new.text) if new is not None else None
    ends = sorted({repr(eol)[1:-1] for eol in text.eols if eol})
    facts = [f"{text.encoding}{' with BOM' if text.bom else ''}{', plain' if text.is_plain else ''}"]
    facts.append(f"lines end in {', '.join(ends) or 'nothing'}; new ones in {repr(text.eol)[1:-1]}")
    facts.append(f"lines start at {' '.join(map(str, text.starts))}")
    case.check(
        text=text.content,
        facts="\n".join(facts) + "\n",
        written=f"{written!r}\n" if isinstance(written, bytes) else None,
        failure=_failure(written) if isinstance(written, Failure) else None,
    )


@pytest.mark.parametrize("case", cases("documents/edit"))
def test_edit(case: Case) -> None:
    """The `edits` that turn `before` into `after`, as offsets and texts."""
    edits = edit.edits_between(case["before"], case["after"])
    assert edit.apply(case["before"], edits) == case["after"]
    lines = [f"{e.span.start}-{e.span.end} {e.new!r}\n" for e in edits]
    case.check(edits="".join(lines) or "none\n")


@pytest.mark.parametrize("case", cases("documents/rebase"))
def test_rebase(case: Case) -> None:
    """What `base` → `ours` makes of the document once it reads `now`; conflicts are left out, and named."""
    base, now = Text(case["base"]), case["now"]
    moved = edit.rebase(base, edit.edits_between(base.content, case["ours"]), now)
    merged = edit.apply(now, [each.edit for each in moved if not each.conflict])
    conflicts = [str(number) for number, each in enumerate(moved, 1) if each.conflict]
    case.check(
        merged=merged if merged != now else None,
        conflicts=f"edit {', '.join(conflicts)} of {len(moved)}\n" if conflicts else None,
    )


@pytest.mark.parametrize("case", cases("documents/revert"))
def test_revert(case: Case) -> None:
    """What taking back `before` → `left`, or what of it touches `lines`, makes of `now`; or a conflict."""
    now, given = Text(case["now"]), case.get("now", "lines")
    first, last = map(int, given.split("-")) if given else (0, 0)
    stretches = [(Text(case["before"]), Text(case["left"]))]
    back = revert(now, stretches, (first - 1, last - 1) if given else None)
    case.check(
        restored=None if back is None else edit.apply(now.content, back),
        conflict="others may have changed the same lines\n" if back is None else None,
    )


@pytest.mark.parametrize("case", cases("documents/readback"))
def test_readback(case: Case) -> None:
    """What became in `now` of the edits of `base` → `ours`; that one stands as written is said twice over."""
    base = Text(case["base"])
    edits = edit.edits_between(base.content, case["ours"])
    found = fates(base, edits, case["now"])
    assert [fate is Fate.INTACT for fate in found] == list(which_are_intact(base, edits, case["now"]))
    shown = [f"{e.new!r}: {fate}\n" for e, fate in zip(edits, found, strict=True)]
    case.check(fates="".join(shown))


@pytest.mark.parametrize("case", cases("documents/diff"))
def test_diff(case: Case) -> None:
    """The unified diff that people see of `before` → `after`."""
    edits = edit.edits_between(case["before"], case["after"])
    case.check(diff=diff.unified_diff("doc", Text(case["before"]), edits))


@pytest.mark.parametrize("path", ["/tmp/a.py", "C:/a.py", "C:\\a.py"])
def test_an_absolute_path_in_a_diff_has_no_letter_before_it(path: str) -> None:
    edits = edit.edits_between("one\n", "two\n")
    assert diff.unified_diff(path, Text("one\n"), edits).startswith(f"--- {path}\n+++ {path}\n")
    assert f"+++ {path}\n" in diff.creation_diff(path, Text("one\n"))
    assert f"--- {path}\n" in diff.deletion_diff(path, Text("one\n"))


@pytest.mark.parametrize("case", cases("patches/patch"))
def test_patch(case: Case) -> None:
    """What a `patch` says, whatever its notation, or the failure to read it."""
    files = _parsed(case)
    if isinstance(files, Failure):
        case.check(files=None, failure=_failure(files))
        return
    case.check(files="".join(line + "\n" for file in files for line in _file(file)), failure=None)


@pytest.mark.parametrize("case", cases("matching/match"))
def test_match(case: Case) -> None:
    """Where the hunk whose old text is `search` belongs in `before`."""
    text, search = Text(case["before"]), case.block("search")
    assert search is not None
    after = text.starts[int(search.attributes.get("after", "0"))]
    scope = tuple(case["scope"].splitlines()) if case.block("scope") else ()
    found = match.locate(text, _hunk(search, "", scope), Bounds(after=after))
    if isinstance(found, Failure):
        case.check(found=None, failure=_failure(found))
        return
    lines = [f"{text.content[m.span.start : m.span.end]!r} {_place(text, m)}\n" for m in found]
    case.check(found="".join(lines), failure=None)


@pytest.mark.parametrize("case", cases("planning/plan"))
def test_plan(case: Case) -> None:
    """`before` edited by `old` and `new`, by a `patch`, or by a whole new text to `write`."""
    text = Text(case["before"])
    results = _planned(case, text)
    if isinstance(results, Failure):
        case.check(after=None, note=None, failure=_failure(results))
        return
    edits, notes, failures = [], [], []
    for number, result in enumerate(results, 1):
        of = f"hunk {number}: " if len(results) > 1 else ""
        if isinstance(result, Failure):
            failures.append(of + _failure(result))
            continue
        assert result.tier is Tier.SAFE or result.notes, "what is not exact is said"
        edits += result.edits
        if result.within is not None:
            notes.append(f"{of}made by the edits of hunk {result.within} ({' '.join(result.notes)})\n")
        elif not result.edits:
            notes.append(f"{of}already there\n")
        elif result.tier is not Tier.SAFE:
            notes.append(f"{of}{' '.join((result.tier, *(f'({note})' for note in result.notes)))}\n")
    edits.sort(key=lambda e: (e.span.start, e.span.end))
    after = edit.apply(text.content, edits)
    case.check(after=after if edits else None, note="".join(notes) or None, failure="".join(failures) or None)


@pytest.mark.parametrize("case", cases("matching/indent"))
def test_indent(case: Case) -> None:
    """How new lines are indented; given and expected as in `plan`."""
    test_plan(case)


@pytest.mark.parametrize("case", cases("patches/reply"))
def test_reply(case: Case) -> None:
    """The edit blocks in a pasted reply, and its prose."""
    found = reply.read(case["reply"])
    lines: list[str] = []
    for block in found.blocks:
        lines.append(
            f"{block.notation or 'whole_file'} {' or '.join((block.path or '(no file name)', *block.others))}"
        )
        lines += ["| " + line for line in block.text.split("\n")]
        lines[-1:] = [] if lines[-1] == "| " else lines[-1:]
    case.check(blocks="".join(line + "\n" for line in lines) or "none\n", prose=found.prose + "\n")


@pytest.mark.parametrize("case", cases("ledger/ledger"))
def test_verify(case: Case) -> None:
    """Which failures are open once everything in the case has happened, in its order."""
    play = Play()
    for block in case.blocks:
        play.step(block)
    case.check(open="".join(line + "\n" for line in play.open()) or "none\n")


@pytest.mark.parametrize("case", cases("ledger/report"))
def test_report(case: Case) -> None:
    """What the model reads of the last step, and the diagnostics that the user sees."""
    play = Play()
    for block in case.blocks:
        play.step(block)
    case.check(result=play.result() + "\n", diagnostics="".join(play.diagnostics()) or None)


@pytest.mark.parametrize("case", cases("policy/schedule"))
def test_schedule(case: Case) -> None:
    """The `batches` in which `calls` run: one call a line, numbered from 1."""
    touches = [_touch(line) for line in case["calls"].splitlines()]
    batches = schedule.plan(touches)
    case.check(batches="".join(" ".join(str(i + 1) for i in batch) + "\n" for batch in batches) or "none\n")


@pytest.mark.parametrize("case", cases("results/truncate"))
def test_truncate(case: Case) -> None:
    """The `output`, as it is `shown` if so many characters may stay (`limit`); kept `as` that id."""
    output = case["output"] * int(case.get("output", "times", "1"))
    cut = truncate.head_tail(output, int(case.get("output", "limit")))
    if cut is None:
        case.check(shown="all of it\n")
        return
    missing = output[cut.missing.start : cut.missing.end]
    assert len(output) - len(missing) <= int(case.get("output", "limit"))
    assert output[: cut.missing.start] + missing + output[cut.missing.end :] == output
    case.check(shown=truncate.shorten(output, cut, case.get("output", "as") or None))


@pytest.mark.parametrize("case", cases("results/redact"))
def test_redact(case: Case) -> None:
    """
    The `text` without its `secrets`, one a line, is what is `read`; of text that comes with `pieces=N`
    characters at a time, what is told at once is given line by line in `told`.
    """
    secrets, size = case["secrets"].splitlines(), int(case.get("text", "pieces", "0"))
    if not size:
        case.check(read=redact.redact(case["text"], secrets))
        return
    told, held = list[str](), ""
    for start in range(0, len(case["text"]), size):
        now, held = redact.settle_tail(held + case["text"][start : start + size], secrets)
        told.append(now)
    told.append(redact.redact(held, secrets))
    assert "".join(told) == redact.redact(case["text"], secrets)
    case.check(told="".join(f"{piece!r}\n" for piece in told))


# ---- Reading the parts of a case ------------------------------------------------------------------


def _hunk(old: Block, new: str, scope: tuple[str, ...] = ()) -> Hunk:
    """A hunk of the replace mode, or of whole lines if the block says `lines=yes`."""
    whole = old.attributes.get("lines") == "yes"
    line_number = old.attributes.get("start_line")
    return Hunk(
        number=1,
        old=old.text.removesuffix("\n") if whole else old.text,
        new=new.removesuffix("\n") if whole else new,
        whole_lines=whole,
        line_number=int(line_number) if line_number else None,
        scope=scope,
        at_end=old.attributes.get("at_end") == "yes",
        replace_all=old.attributes.get("replace_all") == "yes",
    )


def _parsed(case: Case) -> tuple[FilePatch, ...] | Failure:
    notation = notations.NOTATIONS[case.get("patch", "notation", "search_replace")]
    return notation.read(case["patch"], case.get("patch", "path", "doc"), ())


def _planned(case: Case, text: Text) -> Sequence[PlannedHunk | Failure] | Failure:
    if case.block("write"):
        return [plan.plan_whole(text, case["write"])]
    if case.block("patch"):
        files = _parsed(case)
        made = files if isinstance(files, Failure) else plan_file(files[0], text)
        return made if isinstance(made, Failure) else [part.result for part in made.parts]
    old = case.block("old")
    assert old is not None
    hunk = _hunk(old, case["new"])
    result = plan.plan(text, [hunk])[0].result
    if chosen := old.attributes.get("choose"):
        assert isinstance(result, Failure), "there is nothing to choose from"
        result = plan.plan_at(text, hunk, result.near[int(chosen) - 1].span)
    return [result]


def _touch(line: str) -> schedule.Touch | None:
    if line == "not allowed":
        return None
    kind, _, names = line.partition(" ")
    names_set = frozenset(names.split())
    match kind:
        case "reads":
            return schedule.Touch(reads=names_set)
        case "changes":
            return schedule.Touch(changes=names_set)
        case _:
            return schedule.Touch(anything=True)


# ---- Showing what came of it ----------------------------------------------------------------------


def _failure(failure: Failure) -> str:
    near = ", ".join(f"line {each.line + 1} ({each.score:.2f})" for each in failure.near)
    return f"{failure.code}: {failure.message}\n" + (f"near: {near}\n" if near else "")


def _place(text: Text, found: Match) -> str:
    return f"on line {text.line_at(found.span.start) + 1}: {found.strategy} ({found.tier})"


def _file(file: FilePatch) -> list[str]:
    lines = [f"{file.operation} {file.path}" + (f" -> {file.move_to}" if file.move_to else "")]
    lines[0] += "".join(f", or {name}" for name in file.others)
    lines += [f"({note})" for note in file.notes]
    lines += ["| " + line for line in file.content.split("\n")] if file.content else []
    for hunk in file.hunks:
        at = f", line {hunk.line_number}" if hunk.line_number is not None else ""
        within = "".join(f", in `{scope}`" for scope in hunk.scope)
        lines.append(f"hunk {hunk.number}{at}{within}{', at the end' if hunk.at_end else ''}")
        lines += [f"({note})" for note in hunk.notes]
        lines += (
            [f"(refused unless the document has all rows so: {hunk.unsigned.message})"]
            if hunk.unsigned
            else []
        )
        lines += ["- " + row for row in hunk.old.split("\n")] if hunk.old else []
        lines += ["+ " + row for row in hunk.new.split("\n")] if hunk.new or hunk.leaves_blank else []
    return lines
