"""The editor of these tests: handrail's, with stricter demands on edits."""

from __future__ import annotations

from lsprotocol import types as lsp

from handrail.testing.buffers import Buffers
from handrail.testing.editor import UNKNOWN, Behaviour, expect_error
from handrail.testing.handrail_editor import NOWHERE, HandrailEditor
from handrail.testing.profiles import ClientProfile
from handrail.testing.wire import TIMEOUT_S, RefusedError

__all__ = ["NOWHERE", "TIMEOUT_S", "UNKNOWN", "Behaviour", "Editor", "RefusedError", "expect_error"]


class Editor(HandrailEditor):
    """Takes only the one form of edits that suits it best; `habits` and `desk` are short for these tests."""

    @property
    def habits(self) -> ClientProfile:
        """How it behaves."""
        return self.profile

    @property
    def desk(self) -> Buffers:
        """Its open documents."""
        return self.buffers

    async def _apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult | None:
        versioned, versionless = params.edit.document_changes is not None, params.edit.changes is not None
        assert (versioned, versionless) == (not self.profile.is_versionless, self.profile.is_versionless)
        return await super()._apply_edit(params)
