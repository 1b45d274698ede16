"""
Profiles for a scripted editor: what each editor declares, and what it really does.

The capabilities are recordings of the `initialize` requests of real editors, sent as they are. What the
editors do was read from their sources, and seen with the real editors.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from handrail.testing.texts import LINE_END, Json

RECORDINGS = Path(__file__).parent / "recordings"


class Stale(Enum):
    """The ways to treat an edit of a version that is not the document's own."""

    REFUSE = "answers applied: false, without a reason"
    SKIP = "prints a line, skips the document and answers applied: true"
    ERROR = "answers with an error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProfile:
    """
    The behaviour of one editor.

    Attributes:
        recording: The file of its `initialize` params.
        first_version: Of a document that it opens.
        ticks: What the editor has counted by then; the next version is beyond that.
        tells_at_once: Whether a change is told as it happens, not some time after an answer.
        has_extension: Whether an extension of ours opts in, saves for us and sends custom requests.
        opens_closed: Whether an edit of a closed document opens it.
        keeps_dirty: Whether a document with unsaved text stays open when its file is deleted.
        one_eol: Whether it holds every document with one kind of line end.
        hides_eol: Whether it holds LF whatever the file has, and writes the file's own.
        encodings: Position encodings instead of the recorded ones.
        counts: The position encoding in which it counts, whatever was agreed on.
        takes_version_0: Whether it applies an edit of version 0 to any later version.
        experimental: Experimental capabilities instead of the recorded ones.
        hides_progress: Whether it shows no progress, whatever was recorded.
        is_versionless: Whether it takes edits without a document's version only, and applies them to whatever
            text it holds by then.
        takes_no_edits: Whether it lacks `workspace/applyEdit`: only what its user chooses is made.
    """

    name: str
    recording: str
    stale: Stale
    first_version: int
    ticks: int = 0
    tells_at_once: bool = False
    has_extension: bool = False
    opens_closed: bool = False
    keeps_dirty: bool = False
    one_eol: bool = False
    hides_eol: bool = False
    encodings: tuple[str, ...] = ()
    counts: str = ""
    takes_version_0: bool = False
    experimental: Json | None = None
    hides_progress: bool = False
    is_versionless: bool = False
    takes_no_edits: bool = False

    @property
    def recorded(self) -> Json:
        """The params of its `initialize`: `capabilities` and `clientInfo`."""
        recording: Json = json.loads((RECORDINGS / self.recording).read_text(encoding="utf-8"))
        if self.encodings:
            recording["capabilities"].setdefault("general", {})["positionEncodings"] = list(self.encodings)
        if self.hides_progress:
            del recording["capabilities"]["window"]["workDoneProgress"]
        if self.is_versionless:
            recording["capabilities"]["workspace"]["workspaceEdit"] = {}
            del recording["clientInfo"]
        if self.takes_no_edits:
            del recording["capabilities"]["workspace"]["applyEdit"]
        if self.experimental is not None:
            recording["capabilities"]["experimental"] = self.experimental
        return recording

    @property
    def capabilities(self) -> Json:
        """The capabilities that it declares."""
        capabilities: Json = self.recorded["capabilities"]
        return capabilities

    @property
    def shows_related(self) -> bool:
        """Whether it understands `relatedInformation`."""
        return bool(self.capabilities["textDocument"]["publishDiagnostics"]["relatedInformation"])

    @property
    def operations(self) -> Sequence[str]:
        """The resource operations that it takes."""
        operations: list[str] = self.capabilities["workspace"]["workspaceEdit"].get("resourceOperations", [])
        return operations

    @property
    def shows_progress(self) -> bool:
        """Whether it takes work done progress."""
        window: Json = self.capabilities.get("window", {})
        return bool(window.get("workDoneProgress"))

    def with_encoding(self, encoding: str) -> ClientProfile:
        """The same editor with another position encoding."""
        return replace(self, name=f"{self.name}-{encoding}", encodings=(encoding,))

    def text_and_eol(self, text: str) -> tuple[str, str | None]:
        """A file's text as the editor holds it, and the line end that it writes instead of LF."""
        ends = Counter(LINE_END.findall(text))
        if self.hides_eol and len(ends) == 1:
            return LINE_END.sub("\n", text), next(iter(ends))
        if self.one_eol and ends:
            has_cr = sum(count for end, count in ends.items() if "\r" in end)
            return LINE_END.sub("\r\n" if has_cr * 2 > ends.total() else "\n", text), None
        return text, None


VSCODE = ClientProfile(
    name="vscode",
    recording="vscode-1.139-languageclient-11.json",
    stale=Stale.REFUSE,
    first_version=1,
    tells_at_once=True,
    has_extension=True,
    opens_closed=True,
    keeps_dirty=True,
    one_eol=True,
)
NEOVIM = ClientProfile(
    name="neovim", recording="neovim-0.11.4.json", stale=Stale.SKIP, first_version=0, ticks=4
)
EMACS = ClientProfile(
    name="emacs", recording="emacs-28.2-eglot-1.9.json", stale=Stale.ERROR, first_version=0, hides_eol=True
)
LSP_MODE = ClientProfile(
    name="lsp-mode",
    recording="emacs-28.2-lsp-mode-8.0.0.json",
    stale=Stale.REFUSE,
    first_version=0,
    tells_at_once=True,
    opens_closed=True,
    hides_eol=True,
    counts="utf-32",
    takes_version_0=True,
)
# Plugins of Vim declare neither `documentChanges` nor resource operations: the edit names no version, and its
# ranges are applied as they are to what the buffer holds by then.
VIM = replace(NEOVIM, name="vim", first_version=1, ticks=0, is_versionless=True)
# A client that makes only those edits that its user chooses, as code actions that carry them.
READER = replace(VIM, name="reader", takes_no_edits=True)

EDITORS = (VSCODE, NEOVIM, EMACS)
EVERY_EDITOR = (*EDITORS, VIM)

# Written from Helix's source, not recorded: it refuses an edit of another version.
HELIX = ClientProfile(
    name="helix",
    recording="helix-from-source.json",
    stale=Stale.REFUSE,
    first_version=0,
    tells_at_once=True,
    opens_closed=True,
)
# A client without a user, such as a script: it holds texts byte by byte.
HEADLESS = ClientProfile(
    name="headless",
    recording="headless-from-source.json",
    stale=Stale.REFUSE,
    first_version=1,
    tells_at_once=True,
    opens_closed=True,
)
PROFILES = (VSCODE, NEOVIM, EMACS, LSP_MODE, VIM, HELIX, HEADLESS)
