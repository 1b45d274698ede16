"""All messages by name: who sends them, with which params, and what they are for."""

from __future__ import annotations

from handrail.lsp.protocol import chat
from handrail.lsp.protocol.checkpoints import (
    CHECKPOINT_DIFF,
    CHECKPOINT_LIST,
    CHECKPOINT_PRUNE,
    CHECKPOINT_READ,
    CHECKPOINT_REDO,
    CHECKPOINT_RESTORE,
    CHECKPOINT_VERIFY,
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
from handrail.lsp.protocol.params import (
    FailureApplyParams,
    FailureDiff,
    FailureDiffParams,
    FailureDismissParams,
    FailureListParams,
    ModelForgetParams,
    ModelInfo,
    ModelListParams,
    SessionCompacted,
    SessionCompactParams,
    SessionDeleteParams,
    SessionForkParams,
    SessionForkResult,
    SessionInfo,
    SessionListParams,
    SessionRenameParams,
    SessionResumeParams,
    TurnApplyParams,
    TurnCancelParams,
    TurnStartParams,
    TurnStartResult,
    TurnSteerParams,
    TurnWaitParams,
    WorkspaceTrustParams,
)
from handrail.lsp.protocol.prompts import PromptFixParams, PromptSendParams
from handrail.lsp.protocol.questions import (
    Approval,
    ApprovalAnswerParams,
    ApprovalListParams,
    ApprovalShowParams,
    BackgroundCommand,
    CommandInterruptParams,
    CommandListParams,
    CommandStopParams,
    OutputShowParams,
    RuleInfo,
    RuleListParams,
    RuleRemoveParams,
    ServedDocument,
)
from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.review import (
    REVIEW_BASE,
    REVIEW_COMMENT,
    REVIEW_COMMENTS,
    REVIEW_EDIT,
    REVIEW_KEEP,
    REVIEW_LIST,
    REVIEW_NEXT,
    REVIEW_OPEN,
    REVIEW_PREVIOUS,
    REVIEW_SEND,
    REVIEW_UNDO,
    ReviewChanged,
)
from handrail.lsp.protocol.services import (
    ModelParams,
    ModelResponse,
    SaveParams,
    SaveResult,
    SecretParams,
    SecretResult,
)
from handrail.lsp.protocol.values import (
    Failure,
    Outcome,
    SessionResumeResult,
    TurnApplied,
    TurnReport,
)
from handrail.lsp.protocol.view import CHAT_CHOOSE, CHAT_COMPLETE, CHAT_READ, CHAT_SAY

TURN_START = Request(
    name="turn.start",
    params=TurnStartParams,
    result=TurnStartResult,
    does=(
        "Starts a turn and answers at once. As in conversations, the model is shown what the prompt mentions "
        "with an `@`; a message reports names that cannot be found. A prompt that begins with a command of "
        "the project, such as `/fix 12`, is replaced by the text of the command's file; other commands are "
        "refused."
    ),
)
TURN_QUEUE = Request(
    name="turn.queue",
    params=TurnStartParams,
    result=TurnStartResult,
    does=(
        "Starts a turn as soon as the earlier turns of its session have finished. If the turn before it is "
        "stopped or fails, this turn does not start, and is reported as cancelled."
    ),
)
TURN_WAIT = Request(
    name="turn.wait",
    params=TurnWaitParams,
    result=TurnReport,
    does="Waits for the end of a turn and returns its report.",
)
TURN_APPLY = Request(
    name="turn.apply",
    params=TurnApplyParams,
    result=TurnApplied,
    does=(
        "Applies edits without asking a model, as a turn of a new session: verified, and reviewed and "
        "restored like any other. Answers when the edits are made; cancelling the request stops the turn."
    ),
)
TURN_STEER = Request(
    name="turn.steer",
    params=TurnSteerParams,
    result=None,
    does=(
        "Sends a message to a running turn; the model reads it at its next step, with what the message "
        "names with an `@`."
    ),
)
WORKSPACE_TRUST = Request(
    name="workspace.trust",
    params=WorkspaceTrustParams,
    result=None,
    does="Tells the server that the user now trusts the workspace. Its settings apply from the next turn on.",
)
MODEL_LIST = Request(
    name="model.list",
    params=ModelListParams,
    result=list[ModelInfo],
    does="Lists the models of the chosen model's server; fails if that server does not answer.",
)
MODEL_FORGET = Request(
    name="model.forget",
    params=ModelForgetParams,
    result=None,
    does="Forgets the keys that were found; the next turn looks for them again.",
)
SESSION_LIST = Request(
    name="session.list",
    params=SessionListParams,
    result=list[SessionInfo],
    does="Lists the sessions of the workspace, newest first.",
)
SESSION_RESUME = Request(
    name="session.resume",
    params=SessionResumeParams,
    result=SessionResumeResult,
    does="Resumes a session, even after a restart.",
)
SESSION_FORK = Request(
    name="session.fork",
    params=SessionForkParams,
    result=SessionForkResult,
    does="Copies a session up to the end of a turn into a new session.",
)
SESSION_COMPACT = Request(
    name="session.compact",
    params=SessionCompactParams,
    result=SessionCompacted,
    does="Summarises all but the latest part of a conversation, to make room for more.",
)
SESSION_RENAME = Request(
    name="session.rename",
    params=SessionRenameParams,
    result=None,
    does="Gives a session a new title.",
)
SESSION_DELETE = Request(
    name="session.delete",
    params=SessionDeleteParams,
    result=None,
    does="Deletes a session permanently; the checkpoints of its turns stay.",
)
TURN_CANCEL = Request(
    name="turn.cancel",
    params=TurnCancelParams,
    result=None,
    does="Stops a turn; it edits nothing after the answer.",
)
FAILURE_LIST = Request(
    name="failure.list", params=FailureListParams, result=list[Failure], does="Lists the open failures."
)
FAILURE_DISMISS = Request(
    name="failure.dismiss",
    params=FailureDismissParams,
    result=None,
    does="Closes a failure without making its edit.",
)
FAILURE_APPLY = Request(
    name="failure.apply",
    params=FailureApplyParams,
    result=list[Outcome],
    does="Makes a failed edit at one of its candidates.",
)
FAILURE_DIFF = Request(
    name="failure.diff",
    params=FailureDiffParams,
    result=FailureDiff,
    does="Shows what a failed edit would change at its candidates.",
)

APPROVAL_LIST = Request(
    name="approval.list",
    params=ApprovalListParams,
    result=list[Approval],
    does="Lists the open questions, oldest first.",
)
APPROVAL_ANSWER = Request(
    name="approval.answer",
    params=ApprovalAnswerParams,
    result=None,
    does="Answers an open question; the first valid answer counts.",
)
APPROVAL_SHOW = Request(
    name="approval.show",
    params=ApprovalShowParams,
    result=ServedDocument,
    does="Shows an open question in full, in a document whose code actions answer it.",
)
OUTPUT_SHOW = Request(
    name="output.show",
    params=OutputShowParams,
    result=ServedDocument,
    does="Shows what a command has printed.",
)
COMMAND_LIST = Request(
    name="command.list",
    params=CommandListParams,
    result=list[BackgroundCommand],
    does="Lists the commands that are running, or ran, in the background.",
)
COMMAND_STOP = Request(
    name="command.stop",
    params=CommandStopParams,
    result=BackgroundCommand,
    does="Stops a background command and answers when it has ended.",
)
COMMAND_INTERRUPT = Request(
    name="command.interrupt",
    params=CommandInterruptParams,
    result=None,
    does="Stops a command that a turn is waiting for. The model is told, and the turn continues.",
)
RULES_LIST = Request(
    name="rules.list",
    params=RuleListParams,
    result=list[RuleInfo],
    does="Lists the rules that answers to questions have added.",
)
RULES_REMOVE = Request(
    name="rules.remove",
    params=RuleRemoveParams,
    result=None,
    does="Removes a rule that an answer has added.",
)
PROMPT_SEND = Request(
    name="prompt.send",
    params=PromptSendParams,
    result=TurnStartResult,
    does=(
        "Sends a comment that begins with `handrail:` as a turn of the latest session, after the turns "
        "that are running. The turn's first edit of the document removes the comment."
    ),
)
PROMPT_FIX = Request(
    name="prompt.fix",
    params=PromptFixParams,
    result=TurnStartResult,
    does="Asks the model to fix problems that other programs report, as a turn of the latest session.",
)

REQUESTS = (
    TURN_START,
    TURN_QUEUE,
    TURN_WAIT,
    TURN_APPLY,
    TURN_STEER,
    TURN_CANCEL,
    MODEL_LIST,
    MODEL_FORGET,
    SESSION_LIST,
    SESSION_RESUME,
    SESSION_FORK,
    SESSION_COMPACT,
    SESSION_RENAME,
    SESSION_DELETE,
    FAILURE_LIST,
    FAILURE_DISMISS,
    FAILURE_APPLY,
    FAILURE_DIFF,
    CHECKPOINT_LIST,
    CHECKPOINT_DIFF,
    CHECKPOINT_RESTORE,
    CHECKPOINT_REDO,
    CHECKPOINT_READ,
    CHECKPOINT_PRUNE,
    CHECKPOINT_VERIFY,
    APPROVAL_LIST,
    APPROVAL_ANSWER,
    APPROVAL_SHOW,
    OUTPUT_SHOW,
    COMMAND_LIST,
    COMMAND_STOP,
    COMMAND_INTERRUPT,
    RULES_LIST,
    RULES_REMOVE,
    REVIEW_LIST,
    REVIEW_BASE,
    REVIEW_KEEP,
    REVIEW_UNDO,
    REVIEW_NEXT,
    REVIEW_PREVIOUS,
    REVIEW_OPEN,
    REVIEW_COMMENT,
    REVIEW_COMMENTS,
    REVIEW_EDIT,
    REVIEW_SEND,
    *chat.DOCUMENT_REQUESTS,
    CHAT_READ,
    CHAT_SAY,
    CHAT_CHOOSE,
    CHAT_COMPLETE,
    PROMPT_SEND,
    PROMPT_FIX,
    WORKSPACE_TRUST,
)

TURN_UPDATE = "handrail/turn/update"
APPROVAL_REQUEST = "handrail/approval/request"
APPROVAL_ENDED = "handrail/approval/ended"
REVIEW_CHANGED = "handrail/review/changed"
CHAT_CHANGED = "handrail/chat/changed"
CLIENT_SAVE = "handrail/client/save"
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
        "window/showMessageRequest offers *No* and *Show*.",
    ),
    (APPROVAL_ENDED, ApprovalEndedParams, None, "The request that asked is cancelled."),
    (REVIEW_CHANGED, ReviewChanged, None, "Code lenses and inlay hints are refreshed."),
    (CHAT_CHANGED, ChatChanged, None, "The conversation's document is brought up to date."),
    (CLIENT_SAVE, SaveParams, SaveResult, "Documents stay unsaved, and the model is told."),
    (CLIENT_SECRET, SecretParams, SecretResult, "Keys come from the environment and the system's keyring."),
    (CLIENT_MODEL, ModelParams, ModelResponse, "The setting `handrail.model` names another model."),
    (
        CLIENT_DIAGNOSTICS,
        DiagnosticsParams,
        DiagnosticsResult,
        "The model does not learn what its edits broke, and has no tool `problems`.",
    ),
    (CLIENT_DEFINITION, NameParams, NameResult, "The model has no tool `definition`."),
    (CLIENT_REFERENCES, NameParams, NameResult, "The model has no tool `references`."),
    (CLIENT_SYMBOLS, SymbolsParams, SymbolsResult, "The model has no tool `symbols`."),
)
