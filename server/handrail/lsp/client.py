"""
The capabilities of the client, read once from `initialize`.

The rest of `lsp` asks this value and never looks at raw capabilities, so that the differences between editors
are in one place.
"""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types as lsp

from handrail.lsp.wire import flat
from handrail.values import dataclass, field

HEADLESS = "handrail headless"  # the name that our client for terminals reports


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """
    A client's abilities.

    Attributes:
        apply_edit: Whether it supports `workspace/applyEdit` at all.
        versioned: Whether edits may name a document's version (`documentChanges`).
        least_version: The lowest version that it compares with its own.
        takes_version_0: Whether it applies an edit of version 0 to any version.
        keeps_cr: Whether it keeps carriage returns in the text of an edit.
        creates, deletes: Resource operations that it supports.
        related, data: Parts of a diagnostic that it supports.
        progress, configuration: Standard requests that it supports.
        virtual_documents: Whether it requests the text of documents that are not files.
        shows_documents: Whether it opens a document when asked to.
        has_notebooks: Whether it shows notebooks as such, and not as the text of their files.
        watches: Whether it watches files when asked to (dynamic registration).
        hints: Whether it shows inlay hints but no code lenses.
        lenses: Whether it shows code lenses.
        refreshes_lenses, refreshes_hints: Whether it refreshes these when told to.
        turn_updates, approvals, unattended, untrusted, services: Its opt-ins (protocol.md, Discovery).
        settings: Those in `initializationOptions`, flat, without the prefix `handrail.`.
        is_headless: Whether it is our own client for terminals, which does not show documents.
    """

    apply_edit: bool = False
    versioned: bool = False
    least_version: int = 0
    takes_version_0: bool = False
    keeps_cr: bool = True
    creates: bool = False
    deletes: bool = False
    related: bool = False
    data: bool = False
    progress: bool = False
    configuration: bool = False
    virtual_documents: bool = False
    shows_documents: bool = False
    has_notebooks: bool = False
    watches: bool = False
    lenses: bool = False
    hints: bool = False
    refreshes_lenses: bool = False
    refreshes_hints: bool = False
    turn_updates: bool = False
    approvals: bool = False
    unattended: bool = False
    untrusted: bool = False
    services: frozenset[str] = frozenset()
    settings: Mapping[str, object] = field(default_factory=dict)
    is_headless: bool = False

    @staticmethod
    def of(params: lsp.InitializeParams) -> Client:
        """Reads a client's abilities."""
        workspace = params.capabilities.workspace or lsp.WorkspaceClientCapabilities()
        document = params.capabilities.text_document or lsp.TextDocumentClientCapabilities()
        window = params.capabilities.window or lsp.WindowClientCapabilities()
        edits = workspace.workspace_edit or lsp.WorkspaceEditClientCapabilities()
        operations = set(edits.resource_operations or ())
        publish = document.publish_diagnostics or lsp.PublishDiagnosticsClientCapabilities()
        watched = workspace.did_change_watched_files
        opted = _opt_ins(params)
        services = opted.get("services")
        name = params.client_info.name if params.client_info is not None else ""
        is_neovim, is_lsp_mode = name == "Neovim", _is_lsp_mode(params)
        settings = opted.get("settings")
        return Client(
            apply_edit=bool(workspace.apply_edit),
            # Neovim handles documentChanges without saying so; it does list resource operations.
            versioned=bool(edits.document_changes) or bool(operations),
            # A buffer that Neovim has just opened has version 0, and it takes an edit of version 0 for one
            # without: it would apply it to whatever was typed since. Its next version is beyond 1.
            least_version=1 if is_neovim else 0,
            takes_version_0=is_lsp_mode,  # that of a buffer which it has just opened
            # Neovim writes the line ends of its buffer's format; lsp-mode takes them out of all edits.
            keeps_cr=not is_neovim and not is_lsp_mode,
            creates=lsp.ResourceOperationKind.Create in operations,
            deletes=lsp.ResourceOperationKind.Delete in operations,
            related=bool(publish.related_information),
            data=bool(publish.data_support),
            progress=bool(window.work_done_progress),
            configuration=bool(workspace.configuration),
            virtual_documents=workspace.text_document_content is not None,
            shows_documents=bool(window.show_document and window.show_document.support),
            has_notebooks=params.capabilities.notebook_document is not None,
            watches=bool(watched and watched.dynamic_registration),
            lenses=document.code_lens is not None,
            hints=document.inlay_hint is not None and document.code_lens is None,
            refreshes_lenses=bool(workspace.code_lens and workspace.code_lens.refresh_support),
            refreshes_hints=bool(workspace.inlay_hint and workspace.inlay_hint.refresh_support),
            turn_updates=opted.get("turnUpdates") is True,
            approvals=opted.get("approvals") is True,
            unattended=opted.get("unattended") is True,
            untrusted=opted.get("untrusted") is True,
            services=frozenset(map(str, services)) if isinstance(services, list) else frozenset(),
            settings=flat(settings) if isinstance(settings, Mapping) else {},
            is_headless=name == HEADLESS,
        )

    @property
    def saves(self) -> bool:
        """Whether it saves documents when asked to."""
        return "save" in self.services

    @property
    def reloads(self) -> bool:
        """Whether it loads documents again when told that their files were changed."""
        return "reload" in self.services

    def compares(self, version: int) -> bool:
        """Whether it refuses an edit of a *version* that its document no longer has."""
        return self.versioned and not (self.takes_version_0 and version == 0)


def assumed_encodings(params: lsp.InitializeParams) -> None:
    """
    Declares the position encoding of a client that deviates from LSP without saying so.

    lsp-mode before version 9 counts characters, as Emacs does; the default of LSP is UTF-16 units.
    """
    general = params.capabilities.general or lsp.GeneralClientCapabilities()
    if _is_lsp_mode(params) and general.position_encodings is None:
        general.position_encodings = [lsp.PositionEncodingKind.Utf32]
        params.capabilities.general = general


def _is_lsp_mode(params: lsp.InitializeParams) -> bool:
    """Whether it is Emacs's lsp-mode, which reports the name and version of Emacs."""
    said = params.client_info
    return said is not None and said.name == "emacs" and (said.version or "").startswith("GNU Emacs")


def _opt_ins(params: lsp.InitializeParams) -> Mapping[str, object]:
    """Returns the client's opt-ins: in its experimental capabilities, or its initialization options."""
    result: dict[str, object] = {}
    for source in (params.capabilities.experimental, params.initialization_options):
        if isinstance(source, Mapping) and isinstance(own := source.get("handrail"), Mapping):
            result |= own
    return result
