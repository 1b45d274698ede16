"""Ports of their own kind, and `Ports`, which holds one of each; all are imported from `handrail.ports`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from handrail.core.checkpoint import Image
from handrail.core.conversation.prompt import Surroundings
from handrail.core.documents.change import Change, Landing
from handrail.core.documents.reading_back.agent_text import AgentText
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.core.policy.commands.line import NeedsShell, Pipeline
from handrail.core.policy.commands.options import Below
from handrail.core.policy.commands.script import Script
from handrail.core.policy.containment import Available
from handrail.core.policy.grants import Grant
from handrail.core.policy.place import Place
from handrail.core.policy.rules import Rule
from handrail.core.policy.shell import Appeared, ParsedCommand, Run, RunResult, SetAside
from handrail.core.results.search import Lines, Search
from handrail.ports.checkpoints import Checkpoints
from handrail.ports.heads import HasHeads
from handrail.ports.languages import Languages, NoLanguages
from handrail.ports.models import Provider
from handrail.ports.questions import Approver, Clock, MonotonicClock
from handrail.ports.removals import Removals
from handrail.ports.renames import Renames
from handrail.ports.review import NoReview, Review
from handrail.ports.spills import Spills
from handrail.ports.terms import Terms
from handrail.values import dataclass, field

# ---- Documents --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """
    The current state of a document.

    Attributes:
        uri: The URI as the client spells it, if the client has the document open.
        text: The editor's text if the document is open, otherwise the decoded bytes on disk.
        version: The client's version of an open document; None for a closed one.
        unsaved: Whether the text of an open document differs from the disk.
        saved: What the editor reported when it last saved an open document; the same object until the next
            save. None if it has not reported a save.
        is_removed: Whether an edit or a command of ours removed its file while an editor kept it open.
        is_notebook: Whether an editor shows it as a notebook, whose unsaved cells we cannot see.
    """

    uri: str
    text: Text
    version: int | None = None
    unsaved: bool = False
    saved: Text | None = None
    is_removed: bool = False
    is_notebook: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it is open in the editor."""
        return self.version is not None

    @property
    def has_file(self) -> bool:
        """Whether it is, or will be, a file on disk."""
        return self.uri.startswith("file:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """A value that changes when a file changes, found without reading the file."""

    size: int
    modified_ns: int
    file: int


class Editor(Protocol):
    """Reads and changes documents, and verifies each change."""

    async def read(self, uri: str) -> Document | Failure:
        """
        Reads the document *uri*.

        Failures: `no-such-file`, `unreadable-file`, `bad-encoding`, `too-large`, or `bad-arguments` for a
        folder.
        """
        ...

    async def empty_text(self, uri: str) -> Text:
        """Returns an empty text in the encoding that is configured for a file *uri*, with its mark or not."""
        ...

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        """
        Applies *changes* and reads each document back.

        Args:
            changes: The changes, in the order in which to make them.
            label: The label for the user's undo list.

        Returns:
            One landing for each change, in order. Raises EditorGone.
        """
        ...

    def when_shown(self, change: Change, tell: Callable[[Landing], None]) -> None:
        """
        Watches a change that did not land, or not whole: an editor may show it late.

        Args:
            change: The same object that was passed to `apply`.
            tell: Called with the new landing when more of it shows, until another edit of the document.
        """
        ...

    async def open_documents(self) -> tuple[Document, ...]:
        """Returns the open documents that can be read, including those without a file."""
        ...

    async def save(self, uris: Sequence[str]) -> frozenset[str]:
        """Asks the client to save open documents; returns the URIs that are now saved."""
        ...

    async def reload(self, uris: Sequence[str]) -> frozenset[str]:
        """
        Waits until the client has loaded open documents again whose files were changed.

        Returns:
            The URIs of those that still do not have the text of their files, unless these were removed.
        """
        ...

    async def read_bytes(self, uri: str) -> bytes | None:
        """Returns a file's bytes on disk; None if it does not exist or cannot be read."""
        ...

    async def put(self, uri: str, base: bytes | None, raw: bytes | None, mode: int | None) -> Failure | None:
        """
        Atomically writes the bytes and the mode of a document that is not open; None removes it.

        A file that contains neither *base* (None: no file) nor *raw* is left unchanged: `stale-document`.
        """
        ...

    async def read_image(self, uri: str) -> Image | None:
        """Returns the file or symbolic link at a place; None if there is neither."""
        ...

    async def put_image(self, uri: str, base: Image, wanted: Image) -> Failure | None:
        """Atomically puts *wanted* at the place, if *base* is still there."""
        ...

    async def remove_empty_folders(self, uris: Sequence[str]) -> None:
        """Removes those of the folders that are empty or contain only such folders."""
        ...


# ---- The workspace ----------------------------------------------------------------------------------


class Workspace(HasHeads, Protocol):
    """Knows the workspace folders, resolves paths in them, and lists their files."""

    def set_folders(self, uris: Sequence[str]) -> None:
        """Sets the workspace folders, in this order."""
        ...

    def resolve(self, path: str) -> Place | Failure:
        """
        Finds what *path* names.

        Args:
            path: The path as a model or a client wrote it: relative to a root, absolute, or a URI.

        Returns:
            The place, whether or not a file is there; `outside-workspace` if there is no folder at all.
        """
        ...

    async def reached_places(self, place: Place, below: Below) -> tuple[Place, ...] | None:
        """
        Returns the other files that a command reads if it reads *place*, and that handrail must ask about.

        Args:
            below: What the command reads of the files below a folder.

        Returns:
            Protected files below it, or of which it is another name, and those below it that the user's
            rules for `read_file` ask about or block; None if there are too many files to tell.
        """
        ...

    def set_rules(self, asked: Callable[[], Sequence[Rule]]) -> None:
        """Sets the function that returns the user's current rules."""
        ...

    async def ignored_uris(self, uris: Sequence[str]) -> frozenset[str]:
        """Returns those of the URIs that ignore rules leave out, or that are outside the folders."""
        ...

    async def files(self, within: Place | None, glob: str) -> tuple[str, ...] | Failure:
        """Returns the display paths of the files that ignore rules do not leave out, sorted. See `Search`."""
        ...

    async def search(self, wanted: Search, unsaved: Sequence[Document]) -> Lines | Failure:
        """
        Searches the files that ignore rules do not leave out. Protected files are searched only if named, or
        below a named folder that is protected for the same reason. Files that the user's rules block, or ask
        about without the user having been asked, are left out.

        Args:
            wanted: The pattern, and where to search.
            unsaved: Documents to search in the given text instead of the text on disk.
        """
        ...


class Watch(Protocol):
    """Watches files for changes that the client does not report."""

    def follow(self, uris: Sequence[str], tell: Callable[[str], None]) -> None:
        """Calls *tell* on the event loop, with a URI of *uris*, whenever its file has changed."""
        ...

    def close(self) -> None:
        """Stops watching."""
        ...


# ---- Commands ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """
    A git repository.

    Attributes:
        top: The URI of its work tree.
        settings: The names of the settings that it has itself.
        has_password: Whether the address of a remote may hold a password.
        names: The requested names, relative to the top.
        other: The requested objects that are not commits.
    """

    top: str
    settings: tuple[str, ...]
    has_password: bool = False
    names: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


class Process(Protocol):
    """Runs command lines."""

    async def parse(self, line: str) -> ParsedCommand:
        """Parses *line* without running anything."""
        ...

    async def prepare(self, pipelines: Sequence[Pipeline], folder: str) -> Script | NeedsShell:
        """Prepares *pipelines* to run in *folder*, a URI: expands words, follows `cd`, finds programs."""
        ...

    async def repository(
        self, folder: str, names: Sequence[str], objects: Sequence[str]
    ) -> Repository | Failure | None:
        """
        Describes the git repository that contains *folder*, a URI; None if there is none.

        Args:
            names: Arguments with which git prints names, each ending in a zero byte; empty to skip this.
            objects: Revisions and ranges that must be commits.
        """
        ...

    async def available(self) -> Available:
        """Returns how far commands can be contained in the workspace."""
        ...

    def note_folders(self, uris: Sequence[str]) -> None:
        """Notes folders that commands of this server created and no snapshot covers."""
        ...

    def allow(self, uris: Sequence[str]) -> None:
        """Notes documents that edits changed: no running command made them."""
        ...

    async def put_back(self, uri: str) -> Failure | None:
        """Puts back files that a contained command made and that were moved away."""
        ...

    async def put_back_saved(self, uri: str, saved: Mapping[str, Text]) -> tuple[Appeared, ...]:
        """Puts back, of what was moved away, the files that still have a saved text; returns the rest."""
        ...

    async def set_aside(self, name: str) -> SetAside:
        """Moves away files that must not appear, and did since the running command *name* began."""
        ...

    async def run(self, run: Run, stop: asyncio.Event, tell: Callable[[str], None]) -> RunResult | Failure:
        """
        Runs a command line, without keys in its environment, until all of its processes have ended.

        Args:
            stop: Set to stop the command.
            tell: Called with the output as it arrives.

        Returns:
            The result; `tool-failed` or `no-such-file` if the command could not be started or contained.
        """
        ...


# ---- Questions --------------------------------------------------------------------------------------


class Grants(Protocol):
    """Stores the rules that the user's answers added to this workspace."""

    async def load(self) -> frozenset[Grant]:
        """Returns all stored rules."""
        ...

    async def add(self, grants: frozenset[Grant]) -> None:
        """Adds rules."""
        ...

    async def remove(self, grants: frozenset[Grant]) -> None:
        """Removes rules, so that handrail asks again."""
        ...


async def _nowhere() -> Surroundings:
    return Surroundings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """
    Everything that the agent can reach.

    Attributes:
        terms: The settings that apply to its tools.
        rules_now: Returns the user's current rules, if they may change while a turn runs.
        surroundings: Describes where a turn takes place; the open documents come from the editor.
        secrets: The values of keys, which no output may show. A keyring's are known once it was read.
        model_keys: Those of the models that handrail uses, which no command may inherit.
        pause: Waits for a number of seconds.
        clock: The clock that limits waiting for reports.
        review: Notified of the agent's changes.
        removals: The prompts that the first edit of a turn removes from a document.
        agent_texts: What the agent's edits have made of open documents since their last save, by URI.
        renames: The names that the user gives documents.
        languages: Asks the editor's language servers.
    """

    editor: Editor
    workspace: Workspace
    provider: Provider
    checkpoints: Checkpoints
    approver: Approver
    grants: Grants
    process: Process
    spills: Spills
    terms: Terms = field(default_factory=Terms)
    surroundings: Callable[[], Awaitable[Surroundings]] = _nowhere
    secrets: Callable[[], Sequence[str]] = lambda: ()
    model_keys: Callable[[], Sequence[str]] = lambda: ()
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Clock = field(default_factory=MonotonicClock)
    rules_now: Callable[[], tuple[Rule, ...]] | None = None
    review: Review = field(default_factory=NoReview)
    removals: Removals = field(default_factory=Removals)
    agent_texts: dict[str, AgentText] = field(default_factory=dict)
    renames: Renames = field(default_factory=Renames)
    languages: Languages = field(default_factory=NoLanguages)

    def rules(self) -> tuple[Rule, ...]:
        """The user's rules."""
        return self.terms.rules if self.rules_now is None else self.rules_now()
