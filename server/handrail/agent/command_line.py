"""
Parse a command line and find everything that it reads.

A line that can run without a shell becomes a script; each of its commands is either known, with everything
that it reads, or unknown. For any other line, and for an unknown command, everything that looks like a path
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from handrail.core.failure import Failure
from handrail.core.policy import shell
from handrail.core.policy.commands import git
from handrail.core.policy.commands.known import Known, find_command
from handrail.core.policy.commands.line import NeedsShell
from handrail.core.policy.commands.script import Environment, Script, Stage, Step
from handrail.core.policy.place import Place
from handrail.core.policy.shell import ParsedCommand
from handrail.ports import Ports
from handrail.values import dataclass, field, replace

LIMIT_NAMES = 1_000  # of files whose contents git would show


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """
    The meaning of a command line in a folder.

    Attributes:
        script: The parsed script; None if only a shell can run the line.
        places: Everything that it reads or seems to name.
        beneath: The protected files, and other names of them, below folders that it reads as a whole.
        written: The places that redirects write.
    """

    parsed: ParsedCommand
    script: Script | None
    places: tuple[Place, ...]
    written: tuple[Place, ...]
    beneath: tuple[Place, ...] = ()


async def understand(line: str, folder: Place, ports: Ports) -> CommandLine:
    """Determines what *line* means in *folder*."""
    parsed = await ports.process.parse(line)
    if not folder.uri.startswith("file:"):  # then nothing can run there
        parsed = replace(parsed, pipelines=(), needs_shell="its folder")
    script = await ports.process.prepare(parsed.pipelines, folder.uri) if parsed.pipelines else None
    if isinstance(script, NeedsShell):
        parsed, script = replace(parsed, pipelines=(), needs_shell=script.why), None
    if script is None:
        places, written = (
            _places(paths, folder.uri, ports) for paths in (shell.paths(parsed), shell.written_files(parsed))
        )
        places, written = (tuple(each.add_names(folder) for each in found) for found in (places, written))
        return CommandLine(parsed=parsed, script=None, places=places, written=written)
    steps: list[Step] = []
    seen = _Seen(folder=folder)
    for step in script.steps:
        stages = [await _judge(stage, ports, seen) for stage in step.stages]
        steps.append(replace(step, stages=tuple(stages)))
    return CommandLine(
        parsed=parsed,
        script=Script(steps=tuple(steps)),
        places=tuple(dict.fromkeys(each.add_names(folder) for each in seen.places)),
        written=(),
        beneath=tuple(dict.fromkeys(seen.beneath)),
    )


@dataclass(kw_only=True)
class _Seen:
    """The places that commands of a line in *folder* read: those that they name, and those below."""

    folder: Place
    places: list[Place] = field(default_factory=list)
    beneath: list[Place] = field(default_factory=list)


async def _judge(stage: Stage, ports: Ports, seen: _Seen) -> Stage:
    """Returns a stage that is known or says why it is not; adds what it reads to *seen*."""
    if stage.why_not:
        seen.places += _places(shell.named_files(stage.words), stage.folder, ports)
        return stage
    if stage.words[0] == "cd":
        entered = _places([stage.enters], "", ports) if stage.enters else ()
        seen.places += entered or _places(stage.words[1:], stage.folder, ports)
        return stage
    known = find_command(stage.words, stage.text)
    reads = _Seen(folder=seen.folder)
    why = await _reads(stage, known, ports, reads) if isinstance(known, Known) else known
    if isinstance(known, Known) and not why:
        seen.places += reads.places
        seen.beneath += reads.beneath
        return replace(stage, arguments=known.arguments, environment=known.environment)
    seen.places += _places(shell.named_files(stage.words), stage.folder, ports)
    return replace(stage, why_not=why)


async def _reads(stage: Stage, command: Known, ports: Ports, seen: _Seen) -> str:
    """Adds everything that a known command reads to *seen*; returns why, if that is unclear."""
    if command.environment is Environment.GIT:
        found = await _seen_by_git(stage, command, ports)
        if isinstance(found, str):
            return found
        seen.places += found
    for each in command.meant.reads:
        if each.path == shell.NOWHERE:
            continue
        place = ports.workspace.resolve(uri_in(stage.folder, each.path))
        if isinstance(place, Failure):
            return f"{each.path!r} is not a valid path."
        place = place.add_names(seen.folder)
        below = await ports.workspace.reached_places(place, each.below)
        if below is None:
            return f"{place.path} has too many files to check whether any of them are protected."
        seen.places.append(place)
        seen.beneath += below
    return ""


async def _seen_by_git(stage: Stage, command: Known, ports: Ports) -> tuple[Place, ...] | str:
    """Adds what git reads: the work tree, named paths, and files whose contents it shows."""
    named = [*command.meant.objects, *command.meant.paths]
    objects = [each for each in command.meant.objects if command.names and not git.IN_TREE.fullmatch(each)]
    repository = await ports.process.repository(stage.folder, command.names, objects)
    if isinstance(repository, Failure):
        return repository.message
    if repository is None:  # git says so, unless it can compare files without a repository
        return "The command does not run in a git repository." if named and command.names else ()
    if programs := git.programs(repository.settings):
        return (
            f"Settings of the repository make git run a program or use another folder: {', '.join(programs)}."
        )
    if command.shows_addresses and repository.has_password:
        return "The address of a remote may contain a password."
    if repository.other:
        return (
            f"The command shows an object that is neither a commit nor a file: {', '.join(repository.other)}."
        )
    if len(repository.names) > LIMIT_NAMES:
        return "The command shows more files than handrail can check."
    if command.names and any(_is_beyond(each, stage.folder, repository.top, ports) for each in named):
        return "The command may compare files outside the repository."
    paths = [path for each in named for path in _in_tree(each)]
    return (
        *_places([repository.top], "", ports),
        *_places(paths, stage.folder, ports),
        *_places([*repository.names, *paths], repository.top, ports),
    )


def _is_beyond(named: str, folder: str, top: str, ports: Ports) -> bool:
    """Whether an operand of git in *folder* may be a path that does not lie below *top*."""
    place, above = ports.workspace.resolve(uri_in(folder, named)), ports.workspace.resolve(top)
    if isinstance(place, Failure) or isinstance(above, Failure):
        return True
    return place.identity != above.identity and not place.identity.startswith(
        f"{above.identity.rstrip('/')}/"
    )


def _in_tree(named: str) -> tuple[str, ...]:
    """Returns the paths that an operand of git may mean."""
    match = git.IN_TREE.fullmatch(named)
    return (named, match[1], named.rpartition(":")[2]) if match else (named,)


def _places(paths: Sequence[str], folder: str, ports: Ports) -> tuple[Place, ...]:
    """Resolves *paths* in *folder*; without a folder they are URIs."""
    resolved = (ports.workspace.resolve(uri_in(folder, path) if folder else path) for path in paths)
    return tuple(
        dict.fromkeys(place for place in resolved if isinstance(place, Place))
    )  # otherwise not a path


def uri_in(folder: str, path: str) -> str:
    """Returns the URI of *path* in *folder*, a URI."""
    named = quote(path, safe="/", errors="surrogateescape")
    return f"file://{named}" if path.startswith("/") else f"{folder.rstrip('/')}/{named}"
