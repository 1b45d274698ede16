"""
The kinds of tools, of which each tool declares one.

What treats tools differently asks for the kind where it can, rather than for names: the user's rules for
`read` and `edit`, what is offered in the modes `ask` and `plan`, which actions a call may turn into, and how
a conversation is shown.
"""

from __future__ import annotations

from enum import StrEnum


class ToolKind(StrEnum):
    """The kinds of tools, by what they do."""

    READ = "read"  # reads documents and folders; the user's rules for `read` hold
    EDIT = "edit"  # changes documents; the user's rules for `edit` hold
    COMMAND = "command"  # starts or ends programs, which may change anything
    OUTPUT = "output"  # reads what programs have printed
    TALK = "talk"  # asks the user or keeps notes; touches nothing

    @property
    def changes(self) -> bool:
        """Whether its tools may change something; they are offered in the mode `edit` only."""
        return self in (ToolKind.EDIT, ToolKind.COMMAND)


# The kinds for which one rule can speak; each group is called like its kind.
RULE_GROUPS = (ToolKind.READ, ToolKind.EDIT)
