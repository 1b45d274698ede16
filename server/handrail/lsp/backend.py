"""The backend that a server is given: disk, checkpoints, providers, and more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from handrail.core.conversation.prompt import Surroundings
from handrail.core.policy.containment import Sandbox
from handrail.lsp.edits.apply_edit import Patience
from handrail.ports import (
    Checkpoints,
    Clock,
    Editor,
    Grants,
    Process,
    Providers,
    Spills,
    Stamp,
    Watch,
    Workspace,
)
from handrail.ports.models import InMemoryOwners, Owners
from handrail.ports.review import NoRecords, NoReviewStore, Records, ReviewStore
from handrail.ports.served import ServedDocuments
from handrail.ports.sessions import NoSessions, Sessions
from handrail.values import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """
    The ports and functions with which a server works.

    Attributes:
        providers: Makes the provider for what the user has chosen, and knows what else there is.
        surroundings: Where a turn takes place.
        secrets: The values of keys, given the name of the one that the user has chosen.
        ask_for_keys: Has keys looked for by a function first, which is called in threads that may wait.
        diagnostics: Set if the environment decides whether failures are shown.
        sandbox: Set if the environment decides how commands are contained.
        add_to_environment: Has commands that are not known to be read-only inherit variables with these names
            too; returns the names in full that they do not inherit, given the keys of models.
        owners: For which providers the address and the key in the settings were set.
        stamp: What tells one state of the file of a URI from another.
    """

    disk: Editor
    workspace: Workspace
    checkpoints: Checkpoints
    providers: Providers
    watch: Watch
    journal_watch: Watch
    process: Process
    grants: Grants
    spills: Spills
    surroundings: Callable[[], Awaitable[Surroundings]]
    clock: Clock
    served: ServedDocuments
    sessions: Sessions = field(default_factory=NoSessions)
    reviews: ReviewStore = field(default_factory=NoReviewStore)
    records: Records = field(default_factory=NoRecords)
    owners: Owners = field(default_factory=InMemoryOwners)
    secrets: Callable[[str], tuple[str, ...]] = lambda name: ()
    ask_for_keys: Callable[[Callable[[str], str]], None] = lambda find: None
    diagnostics: bool | None = None
    sandbox: Sandbox | None = None
    add_to_environment: Callable[[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] = lambda names, keys: ()
    stamp: Callable[[str], Stamp | None] = lambda uri: None
    patience: Patience = field(default_factory=Patience)
