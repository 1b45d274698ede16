"""A call that is to be judged."""

from __future__ import annotations

from handrail.core.policy.commands.script import Script
from handrail.core.policy.containment import NOTHING_AVAILABLE, Available, Need, Sandbox
from handrail.core.policy.place import Place
from handrail.core.policy.shell import ParsedCommand
from handrail.core.policy.tool_kind import ToolKind
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    A call to be judged.

    Attributes:
        tool: The tool that is called.
        kind: What that tool does.
        places: All that it reads or changes; for a command all that it seems to name.
        written: Those among them that a command's redirects write.
        command: The command line, if it is one.
        script: That line as it runs without a shell; None if only a shell can run it.
        folder: The identity of the folder that a command runs in.
        beneath: Protected files in folders that a command reads whole, which containment hides.
        available: What the machine can contain.
        sandbox: What the user has set of it.
        needs: What a command needs to be opened in its containment.
        declared: What of that the model has asked for.
        opened: The places that it has asked for.
        reason: Why it needs them, in the model's words.
        is_background: Whether a command is to run on when its call has its result.
    """

    tool: str
    kind: ToolKind
    places: tuple[Place, ...] = ()
    written: tuple[Place, ...] = ()
    command: ParsedCommand | None = None
    script: Script | None = None
    folder: str = ""
    beneath: tuple[Place, ...] = ()
    available: Available = NOTHING_AVAILABLE
    sandbox: Sandbox = Sandbox.OFF
    needs: frozenset[Need] = frozenset()
    declared: frozenset[Need] = frozenset()
    opened: tuple[Place, ...] = ()
    reason: str = ""
    is_background: bool = False

    @property
    def reads_only(self) -> bool:
        """Whether it is a command that is run as one that is known to be read-only."""
        return self.script is not None and self.script.is_read_only and not self.is_background

    @property
    def looks(self) -> bool:
        """Whether a command that only reads is contained."""
        return self.sandbox is not Sandbox.OFF and bool(self.available.by)

    @property
    def works(self) -> bool:
        """Whether any other command is contained."""
        return self.looks and self.available.works
