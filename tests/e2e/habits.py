"""The profiles in which these tests play."""

from handrail.testing.handrail_editor import opt_in
from handrail.testing.profiles import (
    EDITORS,
    EMACS,
    EVERY_EDITOR,
    LSP_MODE,
    NEOVIM,
    READER,
    VIM,
    VSCODE,
    ClientProfile,
    Stale,
)

Habits = ClientProfile  # what these tests call a profile

__all__ = [
    "EDITORS",
    "EMACS",
    "EVERY_EDITOR",
    "LSP_MODE",
    "NEOVIM",
    "READER",
    "VIM",
    "VSCODE",
    "Habits",
    "Stale",
    "opt_in",
]
