"""All messages by name: which requests there are, and what the server sends to clients."""

from __future__ import annotations

from handrail.lsp.protocol import (
    chat,
    checkpoints,
    comments,
    failures,
    questions,
    review,
    services,
    sessions,
    turns,
    view,
)
from handrail.lsp.protocol.conversation import ChatChanged
from handrail.lsp.protocol.events import (
    ApprovalEndedParams,
    ApprovalRequestParams,
    ApprovalRequestResult,
    TurnUpdate,
)
from handrail.lsp.protocol.languages import (
    DiagnosticsParams,
    DiagnosticsResult,
    NameParams,
    NameResult,
    SymbolsParams,
    SymbolsResult,
)
from handrail.lsp.protocol.review import ReviewChanged
from handrail.lsp.protocol.services import (
    ModelParams,
    ModelResponse,
    ReloadParams,
    SaveParams,
    SaveResult,
    SecretParams,
    SecretResult,
)

REQUESTS = (
    turns.TURN_START,
    turns.TURN_QUEUE,
    turns.TURN_WAIT,
    turns.TURN_APPLY,
    turns.TURN_STEER,
    turns.TURN_CANCEL,
    services.MODEL_LIST,
    services.MODEL_FORGET,
    sessions.SESSION_LIST,
    sessions.SESSION_RESUME,
    sessions.SESSION_FORK,
    sessions.SESSION_COMPACT,
    sessions.SESSION_RENAME,
    sessions.SESSION_DELETE,
    failures.FAILURE_LIST,
    failures.FAILURE_DISMISS,
    failures.FAILURE_APPLY,
    failures.FAILURE_DIFF,
    checkpoints.CHECKPOINT_LIST,
    checkpoints.CHECKPOINT_DIFF,
    checkpoints.CHECKPOINT_RESTORE,
    checkpoints.CHECKPOINT_REDO,
    checkpoints.CHECKPOINT_READ,
    checkpoints.CHECKPOINT_PRUNE,
    checkpoints.CHECKPOINT_VERIFY,
    questions.APPROVAL_LIST,
    questions.APPROVAL_ANSWER,
    questions.APPROVAL_SHOW,
    questions.OUTPUT_SHOW,
    questions.COMMAND_LIST,
    questions.COMMAND_STOP,
    questions.COMMAND_INTERRUPT,
    questions.RULES_LIST,
    questions.RULES_REMOVE,
    review.REVIEW_LIST,
    review.REVIEW_BASE,
    review.REVIEW_KEEP,
    review.REVIEW_UNDO,
    review.REVIEW_NEXT,
    review.REVIEW_PREVIOUS,
    comments.REVIEW_OPEN,
    comments.REVIEW_COMMENT,
    comments.REVIEW_COMMENTS,
    comments.REVIEW_EDIT,
    comments.REVIEW_SEND,
    *chat.DOCUMENT_REQUESTS,
    view.CHAT_READ,
    view.CHAT_SAY,
    view.CHAT_CHOOSE,
    view.CHAT_COMPLETE,
    turns.PROMPT_SEND,
    turns.PROMPT_FIX,
    services.WORKSPACE_TRUST,
)

TURN_UPDATE = "handrail/turn/update"
APPROVAL_REQUEST = "handrail/approval/request"
APPROVAL_ENDED = "handrail/approval/ended"
REVIEW_CHANGED = "handrail/review/changed"
CHAT_CHANGED = "handrail/chat/changed"
CLIENT_SAVE = "handrail/client/save"
CLIENT_RELOAD = "handrail/client/reload"
CLIENT_MODEL = "handrail/client/model"
CLIENT_DIAGNOSTICS = "handrail/client/diagnostics"
CLIENT_DEFINITION = "handrail/client/definition"
CLIENT_REFERENCES = "handrail/client/references"
CLIENT_SYMBOLS = "handrail/client/symbols"
CLIENT_SECRET = "handrail/client/secret"

# What the server sends to clients that opted in: method, params, result, what happens otherwise.
SERVER_MESSAGES: tuple[tuple[str, type, object, str], ...] = (
    (TURN_UPDATE, TurnUpdate, None, "Work done progress shows a short form of it."),
    (
        APPROVAL_REQUEST,
        ApprovalRequestParams,
        ApprovalRequestResult,
        "window/showMessageRequest offers *No* (or *No answer*) and *Show*.",
    ),
    (APPROVAL_ENDED, ApprovalEndedParams, None, "The request that asked is cancelled."),
    (REVIEW_CHANGED, ReviewChanged, None, "Code lenses and inlay hints are refreshed."),
    (CHAT_CHANGED, ChatChanged, None, "The conversation's document is brought up to date."),
    (CLIENT_SAVE, SaveParams, SaveResult, "Documents stay unsaved, and the model is told."),
    (
        CLIENT_RELOAD,
        ReloadParams,
        None,
        "Documents that the editor does not reload by itself are changed with `workspace/applyEdit`.",
    ),
    (CLIENT_SECRET, SecretParams, SecretResult, "Keys come from the environment and the system's keyring."),
    (
        CLIENT_MODEL,
        ModelParams,
        ModelResponse,
        "The models `editor` and `editor:NAME` are not available: a turn with one of them fails, and asks "
        "the user to choose another model.",
    ),
    (
        CLIENT_DIAGNOSTICS,
        DiagnosticsParams,
        DiagnosticsResult,
        "Unless `handrail.checks` is set, the model does not learn what its edits broke, and has no tool "
        "`problems`.",
    ),
    (CLIENT_DEFINITION, NameParams, NameResult, "The model has no tool `definition`."),
    (CLIENT_REFERENCES, NameParams, NameResult, "The model has no tool `references`."),
    (CLIENT_SYMBOLS, SymbolsParams, SymbolsResult, "The model has no tool `symbols`."),
)
