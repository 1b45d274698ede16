"""The specification of what may run: policy, rules, command lines, and what a terminal shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from handrail.adapters.commands import shell_parser
from handrail.agent.tools import TOOLS
from handrail.core import surfaces
from handrail.core.failure import Failure
from handrail.core.policy import grants, place, rules, shell, verdict
from handrail.core.policy.commands.known import Known, find_command
from handrail.core.policy.commands.options import Below, Read
from handrail.core.policy.commands.script import Script, Stage, Step
from handrail.core.policy.containment import NOTHING_AVAILABLE, Available, Contained, Need, Sandbox, needs
from handrail.core.policy.shell import ParsedCommand
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results import screen
from spec import Case, cases


@pytest.mark.parametrize("case", cases("policy/verdict"))
def test_policy(case: Case) -> None:
    """
    The `verdict` on a call of `tool` that touches these `places`, or runs this `command`, whose redirects
    write the last of them if it has `written=yes`.

    Given are `rules`, one a line (tool, verdict, pattern), and the subjects that were `granted` before, for
    the command as it is `contained` if that is said, with a place that it `names`. With `sandbox`, all can be
    contained that this lets; the model has `declared` needs, or asks to have the places `opened`. It may be
    said how it is `contained`, or that it is so `by=landlock`; or that the machine has no sandbox for the
    workspace (`by=nothing`), or only one for what is read-only (`by=look`). With `background=yes` the command
    is to run on.
    """
    command = shell_parser.parse(case["command"].removesuffix("\n")) if case.block("command") else None
    tool = case["tool"].strip() if case.block("tool") else "terminal" if command else "patch"
    places = [_place_of(line) for line in case["places"].splitlines()] if case.block("places") else []
    written = tuple(places[-1:]) if case.get("command", "written") else ()
    given = case["rules"].splitlines() if case.block("rules") else []
    read = rules.read(
        [{"tool": t, "match": m, "verdict": v} for t, v, m in (line.split(" ", 2) for line in given)]
    )
    assert isinstance(read, tuple), read
    granted = case["granted"].splitlines() if case.block("granted") else []
    marks = {"": "", "yes": "\0work", "look": "\0look", "landlock": "\0weak-work"}
    named = case.get("granted", "names", "")
    mark = marks[case.get("granted", "contained", "")] + (f"\0{named}" if named else "")
    rights = grants.Rights(
        rules=read,
        grants=frozenset(
            grants.Grant(tool=tool, subject=f"w\n{each}{mark}" if command else each) for each in granted
        ),
    )
    request = verdict.Request(
        tool=tool,
        kind=TOOLS[tool].kind if tool in TOOLS else ToolKind.READ,
        places=tuple(places),
        written=written,
        command=command,
        script=_script(command) if command else None,
        folder="w",
        is_background=bool(command and case.get("command", "background", "")),
    )
    if case.block("sandbox"):
        request = _contained(case, request)
    found = verdict.verdict(request, rights)
    if case.block("contained"):
        case.check(contained=_shown_of(verdict.containment_of(request, verdict.script_of(request, found))))
    match found:
        case verdict.Allow():
            case.check(verdict="allow\n")
        case verdict.Ask():
            case.check(verdict="".join(_questions(request, rights)))
        case verdict.Block(failure=failure):
            case.check(verdict=f"block: {_failure(failure)}")


def _contained(case: Case, request: verdict.Request) -> verdict.Request:
    """The request where commands can be contained."""
    assert request.command is not None
    declared = frozenset(map(Need, case["declared"].split() if case.block("declared") else ()))
    by = case.get("sandbox", "by", "")
    is_there = Available(by="a program", works=by != "look", is_weak=by == "landlock")
    return replace(
        request,
        sandbox=Sandbox(case["sandbox"].strip()),
        available=NOTHING_AVAILABLE if by == "nothing" else is_there,
        declared=declared,
        needs=declared | needs(part.words for part in request.command.parts),
        opened=request.places if case.get("places", "opened") else (),
    )


def _questions(request: verdict.Request, rights: grants.Rights) -> Iterator[str]:
    """The questions that are asked one after another, each after a yes to the one before it."""
    while isinstance(found := verdict.verdict(request, rights), verdict.Ask):
        yield f"ask about {surfaces.visible(found.subject)}: {found.detail}\n"
        assert not found.grants <= rights.grants
        rights = replace(rights, grants=rights.grants | found.grants)
    assert isinstance(found, verdict.Allow)


def _shown_of(contained: Contained) -> str:
    opened = [f"opened: {', '.join(contained.opened)}"] if contained.opened else []
    return " ".join([contained.profile, *sorted(contained.needs), *opened]) + "\n"


@pytest.mark.parametrize("case", cases("policy/rules"))
def test_rules(case: Case) -> None:
    """What is `wrong` with a `setting` (JSON), or what the last rule that matches `says` of each `path`."""
    found = rules.read(json.loads(case["setting"]))
    if isinstance(found, str):
        case.check(wrong=found + "\n")
        return
    said = ""
    for path in case["paths"].splitlines():
        tool = case.get("paths", "tool", "patch")
        decision = rules.decision_for_path(found, tool, TOOLS[tool].kind, [path])
        said += f"{path}: {decision or 'nothing'}\n"
    case.check(says=said)


@pytest.mark.parametrize("case", cases("policy/shell"))
def test_shell(case: Case) -> None:
    """
    Whether a command `line` is known to change nothing (`verdict`); the files it reads, or may name
    (`paths`).

    No file is there, so patterns stay as they are. What is said of a path is what is seen below it.
    """
    command = shell_parser.parse(case["line"].removesuffix("\n"))
    why = shell.why_not_read_only(command, _script(command))
    paths = [_shown(read) for read in _reads(command)] if command.pipelines else shell.paths(command)
    case.check(verdict=f"{why or 'changes nothing'}\n", paths="".join(f"{path}\n" for path in paths) or None)


@pytest.mark.parametrize("case", cases("results/screen"))
def test_screen(case: Case) -> None:
    """What a terminal would show of an `output`."""
    case.check(shown=screen.plain(case["output"]))


# ---- Reading and showing the parts of a case ------------------------------------------------------


def _commands(command: ParsedCommand) -> list[tuple[str, tuple[str, ...]]]:
    """The commands of a line that needs no shell: as they are written, and their words."""
    commands = [each for pipeline in command.pipelines for each in pipeline.commands]
    return [(each.text, tuple(word.text for word in each.words)) for each in commands]


def _script(command: ParsedCommand) -> Script | None:
    """What a line runs; None if it needs a shell."""
    stages = []
    for text, words in _commands(command):
        found = "" if words[0] == "cd" else find_command(words, text)
        why = found if isinstance(found, str) else ""
        stages.append(Stage(text=text, words=words, folder="file:///w", why_not=why))
    return Script(steps=(Step(after=";", negated=False, stages=tuple(stages)),)) if stages else None


def _reads(command: ParsedCommand) -> Iterator[Read]:
    for text, words in _commands(command):
        found = find_command(words, text)
        if isinstance(found, Known):
            named = (*found.meant.objects, *found.meant.paths)
            yield from (*found.meant.reads, *(Read(path=path) for path in named))
        else:
            yield from (Read(path=path) for path in shell.named_files(words))


def _shown(read: Read) -> str:
    return read.path if read.below is Below.NOTHING else f"{read.path} ({read.below} of all below)"


def _place_of(line: str) -> place.Place:
    """A place: its kind, its path, and why it is protected."""
    kind, path, *why = line.split()
    return place.Place(
        uri=f"file:///w/{path}",
        identity=path,
        path=path,
        kind=place.PlaceKind(kind),
        why=" ".join(why),
    )


def _failure(failure: Failure) -> str:
    return f"{failure.code}: {failure.message}\n"
