"""The profiles in which these tests play."""

from handrail.testing.profiles import (
    EDITORS,
    EMACS,
    EVERY_EDITOR,
    LSP_MODE,
    NEOVIM,
    READER,
    VIM,
    VSCODE,
    Habits,
    Stale,
    opting_in,
)

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
    "opting_in",
]
