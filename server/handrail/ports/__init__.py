"""
The whole surface between the agent and the world, and the errors that end a turn.

Every port is a Protocol; adapters implement them, `handrail.cli` joins them. A path given to a port comes
with its root, or is a URI. Failures that the model or the user can mend are returned; what ends a turn is
raised as a `HandrailError` and caught once, at the outermost layer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from handrail.core.checkpoint import Image
from handrail.core.conversation.prompt import Surroundings
from handrail.core.documents.change import Change, Landing
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.core.policy.commands.line import NeedsShell, Pipeline
from handrail.core.policy.commands.options import Below
from handrail.core.policy.commands.script import Script
from handrail.core.policy.containment import Available
from handrail.core.policy.grants import Grant
from handrail.core.policy.place import Place
from handrail.core.policy.rules import Rule
from handrail.core.policy.shell import ParsedCommand, Ran, Run, SetAside
from handrail.core.results.search import Hit, Lines, Page, Search
from handrail.ports.checkpoints import Checkpoints as Checkpoints
from handrail.ports.errors import CheckpointError as CheckpointError
from handrail.ports.errors import EditorGone as EditorGone
from handrail.ports.errors import HandrailError as HandrailError
from handrail.ports.errors import ProviderDown as ProviderDown
from handrail.ports.errors import ProviderError as ProviderError
from handrail.ports.heads import HasHeads
from handrail.ports.languages import Languages, NoLanguages
from handrail.ports.models import KnownModel as KnownModel
from handrail.ports.models import ModelChoice as ModelChoice
from handrail.ports.models import Prepared as Prepared
from handrail.ports.models import Provider as Provider
from handrail.ports.models import Providers as Providers
from handrail.ports.models import Reasoning as Reasoning
from handrail.ports.models import provider_of as provider_of
from handrail.ports.questions import ALLOW as ALLOW
from handrail.ports.questions import ALWAYS as ALWAYS
from handrail.ports.questions import DENY as DENY
from handrail.ports.questions import FOR_SESSION as FOR_SESSION
from handrail.ports.questions import LEAVE as LEAVE
from handrail.ports.questions import Approver as Approver
from handrail.ports.questions import Clock as Clock
from handrail.ports.questions import Kind as Kind
from handrail.ports.questions import MonotonicClock as MonotonicClock
from handrail.ports.questions import Question as Question
from handrail.ports.removals import Removals
from handrail.ports.review import Review as Review
from handrail.ports.review import Unreviewed as Unreviewed
from handrail.ports.terms import Terms as Terms

# ---- Documents --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """
    A document as it stands now.

    Attributes:
        uri: As the client spells it, if the client has it open.
        text: The editor's text if open, else the bytes on disk read as text.
        version: The client's version of an open document; None for a closed one.
        unsaved: Whether the text of an open document differs from the disk.
        saved: What the editor said to have saved last of an open document, the same value until it does so
            again; None if it has said nothing.
        is_notebook: Whether an editor shows it as a notebook, whose unsaved cells we cannot see.
    """

    uri: str
    text: Text
    version: int | None = None
    unsaved: bool = False
    saved: Text | None = None
    is_notebook: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the editor holds it."""
        return self.version is not None

    @property
    def has_file(self) -> bool:
        """Whether it is, or will be, a file on disk."""
        return self.uri.startswith("file:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What tells one state of a file from another, without reading it."""

    size: int
    modified_ns: int
    file: int


class Editor(Protocol):
    """Reads and changes documents, and checks what became of a change."""

    async def read(self, uri: str) -> Document | Failure:
        """The document *uri*; `no-such-file`, `bad-encoding`, `too-large` if it cannot be had."""
        ...

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        """
        Applies *changes* and reads each back.

        Args:
            changes: In the order in which they are to happen.
            label: What the user's undo list shows.

        Returns:
            One landing for each change, in order. Raises EditorGone.
        """
        ...

    def when_shown(self, change: Change, tell: Callable[[Landing], None]) -> None:
        """
        Has a change watched that did not land, or not whole: an editor may show it late.

        Args:
            change: As it was given to `apply`, the same value.
            tell: Called with what became of it whenever more of it shows, until the document is edited anew.
        """
        ...

    async def open_documents(self) -> tuple[Document, ...]:
        """The documents that are open and can be read, those without a file among them."""
        ...

    async def save(self, uris: Sequence[str]) -> frozenset[str]:
        """Has the client save open documents; returns the URIs that are saved now."""
        ...

    async def read_bytes(self, uri: str) -> bytes | None:
        """The bytes of a file, whatever an editor holds; None if there is none, or it cannot be read."""
        ...

    async def put(self, uri: str, base: bytes | None, raw: bytes | None, mode: int | None) -> Failure | None:
        """
        Writes the bytes of a document that no editor holds, with its mode, at once; None removes it.

        A file that holds neither *base* (None for no file) nor *raw* is kept: `stale-document`.
        """
        ...

    async def read_image(self, uri: str) -> Image | None:
        """What lies at a place on disk, a symbolic link as such; None for anything else, or unreadable."""
        ...

    async def put_image(self, uri: str, base: Image, wanted: Image) -> Failure | None:
        """Has *wanted* lie there at once, if *base* is still what lies there."""
        ...

    async def remove_empty_folders(self, uris: Sequence[str]) -> None:
        """Removes those of the folders, innermost first, that are there and hold nothing but such folders."""
        ...


# ---- The workspace ----------------------------------------------------------------------------------


class Workspace(HasHeads, Protocol):
    """Knows the workspace folders, what a path means in them, and the files that they hold."""

    def set_folders(self, uris: Sequence[str]) -> None:
        """From now on these are the workspace folders, in this order."""
        ...

    def resolve(self, path: str) -> Place | Failure:
        """
        Finds what *path* names.

        Args:
            path: As a model or a client wrote it: relative to a root, absolute, or a URI.

        Returns:
            The place, whether or not a file is there; `outside-workspace` if there is no folder at all.
        """
        ...

    async def reached_places(self, place: Place, below: Below) -> tuple[Place, ...] | None:
        """
        What a command reads by *place*, besides it, that is asked about.

        Args:
            below: What it sees of the files below a folder.

        Returns:
            Protected files below it, or of which it is another name, and those below it that the user's
            rules for `read_file` ask about or block; None if there are too many files to tell.
        """
        ...

    def set_rules(self, asked: Callable[[], Sequence[Rule]]) -> None:
        """From now on, *asked* gives the user's rules, whenever they are needed."""
        ...

    async def ignored_uris(self, uris: Sequence[str]) -> frozenset[str]:
        """Those of the files that ignore rules leave out, and those outside the folders."""
        ...

    async def files(self, within: Place | None, glob: str) -> tuple[str, ...] | Failure:
        """The files that ignore rules do not leave out, as people read their paths; sorted. See `Search`."""
        ...

    async def search(self, wanted: Search, unsaved: Sequence[Document]) -> Lines | Failure:
        """
        Searches the files that ignore rules do not leave out, and protected ones only if named. Those that
        the user's rules block are left out, and those that they ask about unless the user was asked.

        Args:
            wanted: What, and where.
            unsaved: Documents to be searched as they are given here, not as they are on disk.
        """
        ...


class Watch(Protocol):
    """Tells of changes of files that no one else tells of."""

    def follow(self, uris: Sequence[str], tell: Callable[[str], None]) -> None:
        """From now on call *tell*, on the event loop, with a URI of *uris* whenever its file has changed."""
        ...

    def close(self) -> None:
        """Stops telling."""
        ...


# ---- Commands ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """
    A repository of git's.

    Attributes:
        top: The URI of its work tree.
        settings: The names of the settings that it has itself.
        has_password: Whether the address of a remote may hold a password.
        names: What was asked for, relative to the top.
        other: The objects that are no commits.
    """

    top: str
    settings: tuple[str, ...]
    has_password: bool = False
    names: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


class Process(Protocol):
    """Runs command lines."""

    async def parse(self, line: str) -> ParsedCommand:
        """*line*, taken apart; nothing is run."""
        ...

    async def prepare(self, pipelines: Sequence[Pipeline], folder: str) -> Script | NeedsShell:
        """*pipelines* as they run in *folder*, a URI: words expanded, folders followed, programs found."""
        ...

    async def repository(
        self, folder: str, names: Sequence[str], objects: Sequence[str]
    ) -> Repository | Failure | None:
        """
        What git's repository of *folder*, a URI, can do, and names; None if there is none.

        Args:
            names: The arguments by which git prints names, each ended by a zero byte; empty for none.
            objects: Revisions and ranges of them, if they must be commits.
        """
        ...

    async def available(self) -> Available:
        """What of commands can be contained in the workspace."""
        ...

    def note_folders(self, uris: Sequence[str]) -> None:
        """Commands of this server have made these folders, which no snapshot covers."""
        ...

    def allow(self, uris: Sequence[str]) -> None:
        """Edits have changed these documents with leave: no command that runs just now has made them."""
        ...

    async def put_back(self, uri: str) -> Failure | None:
        """Has what a contained command has made, and what was taken away then, be there again."""
        ...

    async def set_aside(self, name: str) -> SetAside:
        """Moves away what must not have appeared since a command began that still runs, by its name."""
        ...

    async def run(self, run: Run, stop: asyncio.Event, tell: Callable[[str], None]) -> Ran | Failure:
        """
        Runs a command line, without the user's keys in its environment, until nothing of it runs any more.

        Args:
            stop: Set when it is to be stopped.
            tell: Given the output as it comes.

        Returns:
            What came of it; `tool-failed` or `no-such-file` if it could not be started, or not be contained.
        """
        ...


# ---- Long outputs -----------------------------------------------------------------------------------


class Spills(Protocol):
    """Keeps outputs that are too long for the model; they are few, and gone after a while."""

    async def keep(self, output: str) -> str | None:
        """Keeps *output*; returns its id, or None if that cannot be done."""
        ...

    async def page(self, spill: str, offset: int, length: int) -> Page | Failure:
        """Up to *length* characters from *offset*; `no-such-file` if nothing is kept under that id."""
        ...

    async def search(
        self, spill: str, pattern: str, *, ignore_case: bool
    ) -> tuple[tuple[Hit, ...], bool] | Failure:
        """The lines that match a regular expression, and whether there are more; takes bounded time."""
        ...


# ---- Questions --------------------------------------------------------------------------------------


class Grants(Protocol):
    """Keeps what the user has allowed for good in this workspace."""

    async def load(self) -> frozenset[Grant]:
        """All of it."""
        ...

    async def add(self, grants: frozenset[Grant]) -> None:
        """Allows this as well from now on."""
        ...

    async def remove(self, grants: frozenset[Grant]) -> None:
        """Asks about this again from now on."""
        ...


async def _nowhere() -> Surroundings:
    return Surroundings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """
    All that the agent can reach.

    Attributes:
        terms: On which its tools run.
        rules_now: The user's rules as they are at this moment, if they may change while a turn runs.
        surroundings: Tells where a turn takes place; the open documents are the editor's to tell.
        secrets: The values of keys, which no output may show; a keyring's are known once it was asked.
        pause: Waits that many seconds.
        clock: The time by which waiting for reports ends.
        review: Told of what the agent changes.
        removals: What goes from documents with the first edit of a turn.
        languages: Passes on what the editor's language servers say.
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
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Clock = field(default_factory=MonotonicClock)
    rules_now: Callable[[], tuple[Rule, ...]] | None = None
    review: Review = field(default_factory=Unreviewed)
    removals: Removals = field(default_factory=Removals)
    languages: Languages = field(default_factory=NoLanguages)

    def rules(self) -> tuple[Rule, ...]:
        """The user's rules."""
        return self.terms.rules if self.rules_now is None else self.rules_now()
