"""
The language server: one table of all requests that it answers, which is the table of contents of `lsp`.

Every request of the protocol is registered twice, as a command and as a custom request. `connection`
is the transport and the life cycle.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from lsprotocol import types as lsp
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
)

from handrail.core import surfaces
from handrail.lsp import protocol, wire
from handrail.lsp.backend import Backend
from handrail.lsp.connection import Server
from handrail.lsp.features import (
    actions,
    checkpoint,
    command,
    configuration,
    diagnostics,
    failure,
    model,
    prompts,
    questions,
    review,
    review_page,
    session,
    sync,
    turn,
    virtual,
)
from handrail.lsp.features.chat import ask, at_lines, begin, links, mentioned
from handrail.lsp.features.chat import requests as chat
from handrail.lsp.features.chat import view as chat_view
from handrail.lsp.state import Hooks, State
from handrail.lsp.wire import InvalidParams
from handrail.ports import HandrailError

logger = logging.getLogger(__name__)

Handler = Callable[[State, Any], Awaitable[object]]

EVERYTHING = lsp.FileOperationPattern(glob="**/*")
RENAMED = lsp.FileOperationRegistrationOptions(
    filters=[lsp.FileOperationFilter(scheme="file", pattern=EVERYTHING)]
)

HANDLERS: tuple[tuple[protocol.Request, Handler], ...] = (
    (protocol.TURN_START, begin.start),
    (protocol.TURN_QUEUE, begin.queue),
    (protocol.TURN_WAIT, turn.wait),
    (protocol.TURN_APPLY, turn.apply),
    (protocol.TURN_STEER, begin.steer),
    (protocol.TURN_CANCEL, turn.cancel),
    (protocol.MODEL_LIST, model.list_),
    (protocol.MODEL_FORGET, model.forget),
    (protocol.SESSION_LIST, session.list_),
    (protocol.SESSION_RESUME, session.resume),
    (protocol.SESSION_FORK, session.fork),
    (protocol.SESSION_COMPACT, session.compact),
    (protocol.SESSION_RENAME, session.rename),
    (protocol.SESSION_DELETE, session.delete),
    (protocol.FAILURE_LIST, failure.list_),
    (protocol.FAILURE_DISMISS, failure.dismiss),
    (protocol.FAILURE_APPLY, failure.apply),
    (protocol.FAILURE_DIFF, failure.diff),
    (protocol.CHECKPOINT_LIST, checkpoint.list_),
    (protocol.CHECKPOINT_DIFF, checkpoint.diff),
    (protocol.CHECKPOINT_RESTORE, checkpoint.restore),
    (protocol.CHECKPOINT_REDO, checkpoint.redo),
    (protocol.CHECKPOINT_READ, checkpoint.read),
    (protocol.CHECKPOINT_PRUNE, checkpoint.prune),
    (protocol.CHECKPOINT_VERIFY, checkpoint.verify),
    (protocol.APPROVAL_LIST, questions.list_),
    (protocol.APPROVAL_ANSWER, questions.answer),
    (protocol.APPROVAL_SHOW, questions.show),
    (protocol.OUTPUT_SHOW, questions.show_output),
    (protocol.COMMAND_LIST, command.list_),
    (protocol.COMMAND_STOP, command.stop),
    (protocol.COMMAND_INTERRUPT, command.interrupt),
    (protocol.RULES_LIST, questions.list_rules),
    (protocol.RULES_REMOVE, questions.remove_rule),
    (protocol.REVIEW_LIST, review.list_),
    (protocol.REVIEW_BASE, review.base),
    (protocol.REVIEW_KEEP, review.keep),
    (protocol.REVIEW_UNDO, review.undo),
    (protocol.REVIEW_NEXT, review.next_),
    (protocol.REVIEW_PREVIOUS, review.previous),
    (protocol.REVIEW_OPEN, review_page.open_),
    (protocol.REVIEW_COMMENT, review_page.comment),
    (protocol.REVIEW_COMMENTS, review_page.comments_),
    (protocol.REVIEW_EDIT, review_page.edit),
    (protocol.REVIEW_SEND, review_page.send),
    (protocol.CHAT_OPEN, chat.open_),
    (protocol.CHAT_NEW, chat.new),
    (protocol.CHAT_SEND, chat.send),
    (protocol.CHAT_ASK, ask.ask),
    (protocol.CHAT_RESEND, chat.resend),
    (protocol.CHAT_RESTORE, chat.restore),
    (protocol.CHAT_FORK, chat.fork),
    (protocol.CHAT_RETRY, chat.retry),
    (protocol.CHAT_READ, chat_view.read),
    (protocol.CHAT_SAY, chat_view.say),
    (protocol.CHAT_CHOOSE, chat_view.choose),
    (protocol.CHAT_COMPLETE, chat_view.complete),
    (protocol.PROMPT_SEND, prompts.send),
    (protocol.PROMPT_FIX, prompts.fix),
    (protocol.WORKSPACE_TRUST, configuration.trust),
)

# What shows the user the result of a command, because editors ignore it.
SHOW_RESULT: Mapping[protocol.Request, Callable[[State, Any], None]] = {
    protocol.FAILURE_APPLY: failure.tell,
    protocol.FAILURE_DIFF: virtual.show,
    protocol.CHECKPOINT_DIFF: virtual.show,
    protocol.CHECKPOINT_RESTORE: checkpoint.tell,
    protocol.CHECKPOINT_REDO: checkpoint.tell,
    protocol.APPROVAL_SHOW: questions.tell,
    protocol.OUTPUT_SHOW: questions.tell,
    protocol.COMMAND_STOP: command.tell,
    protocol.REVIEW_UNDO: review.tell_undone,
    protocol.REVIEW_NEXT: review.show,
    protocol.REVIEW_PREVIOUS: review.show,
    protocol.REVIEW_OPEN: review_page.show,
    protocol.REVIEW_COMMENT: review_page.show_comment_line,
    protocol.CHAT_OPEN: chat.show,
    protocol.CHAT_NEW: chat.show,
    protocol.CHAT_ASK: ask.show,
    protocol.CHAT_RESEND: chat.show,
    protocol.CHAT_FORK: chat.show,
}

# Commands that edit are answered soon: some editors block until then, and show the edit only afterwards.
EDITING = frozenset(
    {
        *SHOW_RESULT,
        protocol.CHAT_SEND,
        protocol.CHAT_RESTORE,
        protocol.CHAT_RETRY,
        protocol.CHAT_SAY,
        protocol.CHAT_CHOOSE,
        protocol.REVIEW_EDIT,
        protocol.REVIEW_SEND,
    }
)

SHOWN = lsp.TextDocumentContentOptions(schemes=[virtual.SCHEME])
SHOWN_CHARS = 2_000  # of the message of an error


class RequestFailed(JsonRpcException):
    """A valid request that cannot be carried out."""

    CODE = -32803
    MESSAGE = "Request failed"


# Handlers of the notifications that fill our mirror of the editor's documents, however they are decoded.
MIRROR: Mapping[str, Callable[[State, Any], None]] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: sync.did_open,
    lsp.TEXT_DOCUMENT_DID_CHANGE: sync.did_change,
    lsp.TEXT_DOCUMENT_DID_CLOSE: sync.did_close,
}


def set_up_server(server: Server, backend: Backend) -> None:
    """Gives a server its state and its handlers; nothing is started."""
    hooks = Hooks(
        publish=diagnostics.publish, recheck_file=sync.recheck_file, settled=configuration.wait_for_settings
    )
    server.state = State(server, backend, hooks)
    server.secrets = server.state.secrets
    register(server)


def register(server: Server) -> None:
    """Registers all handlers of this module with a server; its state is looked up when a message arrives."""
    server.mirror = MIRROR
    for request, handler in HANDLERS:
        _register(server, request, handler)
    _register_documents(server)
    _register_at_lines(server)
    _register_standard(server)


def capabilities(server: Server) -> dict[str, Any]:
    """
    Returns the capabilities for a client that supports everything, as JSON.

    `scripts/generate.py` stores them in a file, because a server sends them before this module is imported.
    """
    features = server.protocol.fm
    builder = ServerCapabilitiesBuilder(
        lsp.ClientCapabilities(),
        {*features.features, *features.builtin_features},
        features.feature_options,
        list(features.commands),
        lsp.TextDocumentSyncKind.Incremental,
    )
    built = builder.build()  # type: ignore[no-untyped-call]  # pygls does not say
    names = [request.method for request in protocol.REQUESTS]
    built.experimental = {"handrail": {"protocolVersion": protocol.VERSION, "requests": names}}
    built.workspace.file_operations = lsp.FileOperationOptions(did_rename=RENAMED)  # for every client
    built.workspace.text_document_content = SHOWN  # for which pygls has no hook
    result: dict[str, Any] = server.protocol._converter.unstructure(built)
    return result


def _register(server: Server, request: protocol.Request, handler: Handler) -> None:
    async def run(params: object, *, tell: bool) -> object:
        try:
            read: object = wire.read(request.params, params)
            result = await handler(server.state, read)
            if tell and request in SHOW_RESULT and not getattr(read, "dry_run", False):
                SHOW_RESULT[request](server.state, result)
            return result
        except (InvalidParams, HandrailError) as error:
            if tell and isinstance(error, actions.Offered):
                server.state.begin(actions.offer(server.state, error))
                return None
            raise _refusal(request, error) from error

    async def answer(params: Any) -> object:  # pygls would hand an `object` the server
        return wire.write(await run(params, tell=False))

    async def execute(*arguments: Any) -> object:
        if len(arguments) > 1:
            raise JsonRpcInvalidParams(message=f"{request.command} takes one object, not {len(arguments)}.")
        work = asyncio.ensure_future(run(arguments[0] if arguments else None, tell=True))
        if request in EDITING:
            await asyncio.wait([work], timeout=server.state.patience.command_s)
            if not work.done():
                server.state.follow(work)
                return None
        return wire.write(await work)

    server.feature(request.method)(answer)
    server.command(request.command)(execute)


def _refusal(request: protocol.Request, error: Exception) -> JsonRpcException:
    """Returns the error for a request that is invalid or cannot be carried out."""
    if isinstance(error, HandrailError):
        return RequestFailed(message=_show(str(error)))
    return JsonRpcInvalidParams(message=_show(f"{request.name}: {error}"))


def _register_documents(server: Server) -> None:
    @server.feature(lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT, SHOWN)
    async def document_content(params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
        try:
            return lsp.TextDocumentContentResult(text=await virtual.content(server.state, params.uri))
        except InvalidParams as error:
            raise JsonRpcInvalidParams(message=_show(str(error))) from error
        except HandrailError as error:
            raise RequestFailed(message=_show(str(error))) from error


def _register_at_lines(server: Server) -> None:
    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    )
    async def code_action(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        await server.state.chats.knows(params.text_document.uri)
        mentioned.note_selection(server.state, params)
        fixes = diagnostics.code_actions(server.state, params)
        return [
            *fixes,
            *at_lines.code_actions(server.state, params),
            *questions.code_actions(server.state, params),
            *review.code_actions(server.state, params),
            *review_page.code_actions(server.state, params),
            *prompts.code_actions(server.state, params),
            *(() if fixes else ask.code_actions(server.state, params)),  # a menu of fixes stays one
            *(() if fixes else review_page.comment_actions(server.state, params)),
        ]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        await server.state.chats.knows(params.text_document.uri)
        return [
            *at_lines.lenses(server.state, params),
            *prompts.lenses(server.state, params),
            *review.lenses(server.state, params),
            *review_page.lenses(server.state, params),
        ]

    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=list(mentioned.TRIGGERS))
    )
    async def completion(params: lsp.CompletionParams) -> lsp.CompletionList | None:
        return await mentioned.completion(server.state, params)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_LINK)
    def document_link(params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
        return [*review_page.links(server.state, params), *links.links(server.state, params)]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def document_symbol(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol] | None:
        return at_lines.symbols(server.state, params)

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def folding_range(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange] | None:
        return at_lines.folds(server.state, params)

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def inlay_hint(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        return review.hints(server.state, params)


def _register_standard(server: Server) -> None:
    @server.feature(lsp.INITIALIZED)
    async def on_initialized(params: lsp.InitializedParams) -> None:
        model.take_keys(server.state)
        server.state.begin(configuration.pull(server.state))
        await configuration.register(server.state, server.client_capabilities)
        server.state.begin(server.state.host.reviews.refresh())  # changes that were pending earlier

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE, lsp.SaveOptions(include_text=False))
    def did_save(params: lsp.DidSaveTextDocumentParams) -> None:
        sync.did_save(server.state, params)
        prompts.on_save(server.state, params.text_document.uri)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: lsp.DidChangeConfigurationParams) -> None:
        await configuration.did_change(server.state, params)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_folders(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        gone = {folder.uri for folder in params.event.removed}
        kept = [uri for uri in server.state.folders if uri not in gone]
        added = [folder.uri for folder in params.event.added if folder.uri not in kept]
        await configuration.change_folders(server.state, kept + added)

    @server.feature(lsp.WORKSPACE_DID_RENAME_FILES)
    def did_rename(params: lsp.RenameFilesParams) -> None:
        sync.did_rename(server.state, params)

    @server.feature(lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    async def cancel_progress(params: lsp.WorkDoneProgressCancelParams) -> None:
        await server.state.stop(str(params.token))

    @server.feature(lsp.PROGRESS)
    def progress(params: lsp.ProgressParams) -> None:
        server.state.editor_model.on_progress(params.token, params.value)

    @server.feature(lsp.SHUTDOWN)
    async def shutdown(params: Any = None) -> None:
        await server.state.host.close()
        await server.state.host.reviews.settle()
        await checkpoint.tidy(server.state)
        server.state.backend.watch.close()
        server.state.chats.others.close()
        server.state.backend.served.close()


def _show(error: str) -> str:
    """The message of an error, which editors show like any other."""
    return surfaces.message(error, SHOWN_CHARS)
