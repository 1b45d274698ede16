"""
The lasting permissions of a user, combined with the rules.

A lasting yes covers exactly what was asked about: a document, or one command line with the containment that
it had and the places that it named. A yes to an uncontained command line also covers the contained one.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from handrail.core.policy.containment import Need, Profile
from handrail.core.policy.rules import Rule
from handrail.core.policy.tool_kind import RULE_GROUPS, ToolKind
from handrail.values import dataclass

SAVES = "save"  # no tool: what the user allows before commands
WEAK_WORK = "weak-work"  # in place of the profile, where Landlock contains what the line writes
BACKGROUND = "background"  # among what is opened: the command runs on after its call
OPENED = {
    BACKGROUND: "in the background",
    Need.NETWORK: "with network access",
    Need.REPOSITORY: "with write access to .git",
}
OPENED_MARK = "\0"  # between a command line, which cannot have it, how it is contained, and what is opened


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A lasting yes of the user's: for a tool on one document, or for one command line in one folder."""

    tool: str
    subject: str

    def in_words(self, kind: ToolKind | None) -> str:
        """
        Returns what it allows, for people; *kind* is that of its tool, None for something other than a tool.
        """
        if self.tool == SAVES:
            return "documents may be saved before a command runs"
        if not self.subject:
            return f"{self.tool} may be used"
        subject, *held = self.subject.split(OPENED_MARK)
        folder, is_command, line = subject.partition("\n")
        if is_command and kind not in RULE_GROUPS:  # those take paths, which may have line ends
            return f"{self.tool} may run exactly this in {folder}{_in_words(held)}: {line}"
        return f"{self.tool} may be used on {self.subject}"


def grant_for_line(tool: str, folder: str, line: str) -> Grant:
    """
    Returns the grant for a command line in a folder; no other folder and line have the same.

    The line must not contain `OPENED_MARK`.
    """
    if "\n" in folder:  # which ends where the line begins
        folder = f"quoted:{quote(folder)}"
    return Grant(tool=tool, subject=f"{folder}\n{line}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """The user's rules and grants: the strict ones hold before the lenient ones."""

    rules: tuple[Rule, ...] = ()
    grants: frozenset[Grant] = frozenset()


def _in_words(held: Sequence[str]) -> str:
    """Returns how an allowed line is contained, for people."""
    if not held:
        return " (without a sandbox)"
    profile, *opened = held
    hows = {
        Profile.WORK: "in the sandbox",
        WEAK_WORK: "in the Landlock sandbox",
        Profile.FREE: "without a sandbox",
    }
    how = hows.get(profile, "read-only")
    more = (OPENED.get(each, f"with access to {each}") for each in opened)
    return f" ({', '.join((how, *more))})"
