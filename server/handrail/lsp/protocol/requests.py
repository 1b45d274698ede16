"""All messages by name: who sends them, with which params, and what they are for."""

from __future__ import annotations

from handrail.lsp.protocol import chat
from handrail.lsp.protocol.conversation import CHAT_CHOOSE, CHAT_COMPLETE, CHAT_READ, CHAT_SAY, ChatChanged
from handrail.lsp.protocol.events import (
    ApprovalEndedParams,
    ApprovalRequestParams,
    ApprovalRequestResult,
    ModelParams,
    ModelResponse,
    SaveParams,
    SaveResult,
    SecretParams,
    SecretResult,
    TurnUpdate,
)
from handrail.lsp.protocol.languages import DiagnosticsParams, DiagnosticsResult
from handrail.lsp.protocol.params import (
    CheckpointDiff,
    CheckpointDiffParams,
    CheckpointListParams,
    CheckpointPruned,
    CheckpointPruneParams,
    CheckpointRestoreParams,
    CheckpointSoundness,
    CheckpointVerifyParams,
    FailureApplyParams,
    FailureDiff,
    FailureDiffParams,
    FailureDismissParams,
    FailureListParams,
    ModelForgetParams,
    ModelInfo,
    ModelListParams,
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
    REVIEW_KEEP,
    REVIEW_LIST,
    REVIEW_NEXT,
    REVIEW_OPEN,
    REVIEW_PREVIOUS,
    REVIEW_SEND,
    REVIEW_UNDO,
    ReviewChanged,
)
from handrail.lsp.protocol.values import (
    Checkpoint,
    Failure,
    Outcome,
    RestoreReport,
    SessionResumeResult,
    TurnApplied,
    TurnReport,
)

TURN_START = Request(
    name="turn.start",
    params=TurnStartParams,
    result=TurnStartResult,
    does=(
        "Begins a turn and answers at once. What the prompt names with an `@` is shown to the model, as in "
        "conversations; names that stand for nothing are told in messages."
    ),
)
TURN_QUEUE = Request(
    name="turn.queue",
    params=TurnStartParams,
    result=TurnStartResult,
    does=(
        "Begins a turn once the turns of its session have finished, else at once. It does not begin, and is "
        "told to have been cancelled, if the one before it is stopped or fails."
    ),
)
TURN_WAIT = Request(
    name="turn.wait", params=TurnWaitParams, result=TurnReport, does="Answers when the turn has ended."
)
TURN_APPLY = Request(
    name="turn.apply",
    params=TurnApplyParams,
    result=TurnApplied,
    does=(
        "Makes edits without asking a model, in a turn of a session of its own: checked, and to be reviewed "
        "and restored like all others. Answers when they are made; cancelling the request stops the turn."
    ),
)
TURN_STEER = Request(
    name="turn.steer",
    params=TurnSteerParams,
    result=None,
    does="Says something to a running turn; it reaches the model at the next step.",
)
WORKSPACE_TRUST = Request(
    name="workspace.trust",
    params=WorkspaceTrustParams,
    result=None,
    does="Says that the user trusts the workspace now. From the next turn on, the settings decide again.",
)
MODEL_LIST = Request(
    name="model.list",
    params=ModelListParams,
    result=list[ModelInfo],
    does="Lists the models of the chosen model's server; fails if that does not answer.",
)
MODEL_FORGET = Request(
    name="model.forget",
    params=ModelForgetParams,
    result=None,
    does="Forgets the keys that were found: from the next turn on, they are looked for again.",
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
    does="Takes a session up again, also after a restart.",
)
SESSION_FORK = Request(
    name="session.fork",
    params=SessionForkParams,
    result=SessionForkResult,
    does="Begins a new session with the conversation up to the end of a turn.",
)
SESSION_RENAME = Request(
    name="session.rename",
    params=SessionRenameParams,
    result=None,
    does="Gives a session another title.",
)
SESSION_DELETE = Request(
    name="session.delete",
    params=SessionDeleteParams,
    result=None,
    does="Removes a session for good; checkpoints of its turns stay.",
)
TURN_CANCEL = Request(
    name="turn.cancel",
    params=TurnCancelParams,
    result=None,
    does="Stops a turn; nothing is edited after the answer.",
)
FAILURE_LIST = Request(
    name="failure.list", params=FailureListParams, result=list[Failure], does="Lists the open failures."
)
FAILURE_DISMISS = Request(
    name="failure.dismiss",
    params=FailureDismissParams,
    result=None,
    does="Closes a failure without mending it.",
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
CHECKPOINT_LIST = Request(
    name="checkpoint.list",
    params=CheckpointListParams,
    result=list[Checkpoint],
    does="Lists checkpoints, those of the newest turn first.",
)
CHECKPOINT_DIFF = Request(
    name="checkpoint.diff",
    params=CheckpointDiffParams,
    result=CheckpointDiff,
    does="Compares a checkpoint with what the turn left, with another one, or with now.",
)
CHECKPOINT_PRUNE = Request(
    name="checkpoint.prune",
    params=CheckpointPruneParams,
    result=CheckpointPruned,
    does="Removes checkpoints, or enforces the limits.",
)
CHECKPOINT_VERIFY = Request(
    name="checkpoint.verify",
    params=CheckpointVerifyParams,
    result=CheckpointSoundness,
    does="Reads all that is kept and says what cannot be read.",
)
CHECKPOINT_RESTORE = Request(
    name="checkpoint.restore",
    params=CheckpointRestoreParams,
    result=RestoreReport,
    does="Takes a turn or a step back; what was typed since is kept.",
)

APPROVAL_LIST = Request(
    name="approval.list",
    params=ApprovalListParams,
    result=list[Approval],
    does="Lists the open questions, the oldest first.",
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
    does="Lists the commands that run in the background, and those that have ended.",
)
COMMAND_STOP = Request(
    name="command.stop",
    params=CommandStopParams,
    result=BackgroundCommand,
    does="Ends a background command, and answers when it has ended.",
)
COMMAND_INTERRUPT = Request(
    name="command.interrupt",
    params=CommandInterruptParams,
    result=None,
    does="Ends a command that a turn waits for. The model is told, and the turn goes on.",
)
RULES_LIST = Request(
    name="rules.list",
    params=RuleListParams,
    result=list[RuleInfo],
    does="Lists the rules that answers have added.",
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
        "Sends a comment that begins with `handrail:` as a turn of the latest session, begun after the "
        "turns that run. Its first edit of the document removes the comment."
    ),
)
PROMPT_FIX = Request(
    name="prompt.fix",
    params=PromptFixParams,
    result=TurnStartResult,
    does="Asks for a fix of diagnostics of other programs, as a turn of the latest session.",
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
    SESSION_RENAME,
    SESSION_DELETE,
    FAILURE_LIST,
    FAILURE_DISMISS,
    FAILURE_APPLY,
    FAILURE_DIFF,
    CHECKPOINT_LIST,
    CHECKPOINT_DIFF,
    CHECKPOINT_RESTORE,
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
CLIENT_SECRET = "handrail/client/secret"

# What the server sends to clients that opted in: method, params, result, what happens otherwise.
SERVER_MESSAGES: tuple[tuple[str, type, object, str], ...] = (
    (TURN_UPDATE, TurnUpdate, None, "Work done progress tells the same in short."),
    (
        APPROVAL_REQUEST,
        ApprovalRequestParams,
        ApprovalRequestResult,
        "window/showMessageRequest offers *No* and *Show*.",
    ),
    (APPROVAL_ENDED, ApprovalEndedParams, None, "The request that asked is cancelled."),
    (REVIEW_CHANGED, ReviewChanged, None, "Code lenses and inlay hints are refreshed."),
    (CHAT_CHANGED, ChatChanged, None, "The conversation's document is brought up to date."),
    (CLIENT_SAVE, SaveParams, SaveResult, "Documents stay unsaved; the model is told."),
    (CLIENT_SECRET, SecretParams, SecretResult, "The environment and the system's keyring have the keys."),
    (CLIENT_MODEL, ModelParams, ModelResponse, "The setting `model` names another one."),
    (
        CLIENT_DIAGNOSTICS,
        DiagnosticsParams,
        DiagnosticsResult,
        "The model is not told what its edits broke, and there is no tool `problems`.",
    ),
)
