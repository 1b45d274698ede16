"""Turns: the requests that start, apply, steer and stop them, also from prompts in code."""

from __future__ import annotations

from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.values import Mode, Range, TurnApplied, TurnReport
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """
    A document, or a part of one, that the user points at.

    Attributes:
        uri: URI of the document. A document that cannot be read is left out.
        range: The part that the model is shown; null for the whole document.
    """

    uri: str
    range: Range | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnImage:
    """
    A picture for the model: a PNG, JPEG, GIF or WebP of at most 3.5 MB. Give either `uri` or `data`.

    Attributes:
        uri: URI of the picture's file.
        data: The picture's bytes in base64, if it has no file.
        name: A name for a picture given as `data`; by default `picture`.
    """

    uri: str | None = None
    data: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStartParams:
    """
    The turn to begin.

    Attributes:
        prompt: What the user asks for; it must not be empty.
        session: Id of the session to continue; without it, a new session begins.
        mode: What the turn may do; by default the mode that was chosen for the session, or else the setting
            `handrail.mode`.
        context: Documents, or parts of them, to show to the model.
        images: Pictures to show to the model, 20 at most. The model must be able to see pictures.
        pasted: Whether the prompt is a reply that the user copied from a chat: its edits are made, and no
            model is asked, whatever `handrail.model` is.
    """

    prompt: str
    session: str | None = None
    mode: Mode | None = None
    context: list[TurnContext] | None = None
    images: list[TurnImage] | None = None
    pasted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStartResult:
    """
    The turn that has begun or waits to begin; `turn.wait` answers when it has ended.

    Attributes:
        session: The session's id.
        turn: The turn's id.
    """

    session: str
    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnApplyParams:
    """
    Edits that another program wrote, such as another agent in the editor.

    Attributes:
        edits: A V4A patch, SEARCH/REPLACE blocks, a unified diff, or whole files.
        title: The title of the turn and of its checkpoint; by default `Edits from the editor`.
    """

    edits: str
    title: str = "Edits from the editor"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWaitParams:
    """
    The turn to wait for.

    Attributes:
        turn: The turn's id.
    """

    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSteerParams:
    """
    A message to a running turn.

    Attributes:
        turn: The turn's id.
        text: The message; it must not be empty.
    """

    turn: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCancelParams:
    """
    The turn to stop.

    Attributes:
        turn: The turn's id.
    """

    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSendParams:
    """
    The comment to send.

    Attributes:
        uri: URI of the document.
        line: Any line of the comment, counted from 0.
    """

    uri: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDiagnostic:
    """
    A problem that another program reports.

    Attributes:
        range: The place in the document.
        message: What the program says.
        source: Name of the program.
        code: The program's code for this kind of problem.
    """

    range: Range
    message: str
    source: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFixParams:
    """
    The problems to fix.

    Attributes:
        uri: URI of the document.
        range: The place to fix; the model is shown the lines around it.
        diagnostics: The problems there, at least one; the model is sent the first 20.
    """

    uri: str
    range: Range
    diagnostics: list[PromptDiagnostic]


TURN_START = Request(
    name="turn.start",
    params=TurnStartParams,
    result=TurnStartResult,
    does=(
        "Starts a turn and answers at once. As in conversations, the model is shown what the prompt mentions "
        "with an `@`; a message reports names that cannot be found. If the prompt begins with a command of "
        "the project, such as `/fix 12`, the model is also shown the text of the command's file; other "
        "commands are refused."
    ),
)

TURN_QUEUE = Request(
    name="turn.queue",
    params=TurnStartParams,
    result=TurnStartResult,
    does=(
        "Starts a turn as soon as the earlier turns of its session have finished. If the turn before it ends "
        "in any state but `finished`, this turn does not start, and its state is `cancelled`."
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
        "Applies edits without asking a model, as a turn of a new session. The edits are verified, and can "
        "be reviewed and restored like those of any other turn. Answers when the edits are made; cancelling "
        "the request stops the turn."
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

TURN_CANCEL = Request(
    name="turn.cancel",
    params=TurnCancelParams,
    result=None,
    does="Stops a turn (its state is then `cancelled`); it edits nothing after the answer.",
)

PROMPT_SEND = Request(
    name="prompt.send",
    params=PromptSendParams,
    result=TurnStartResult,
    does=(
        "Sends a comment, which is in the text of a document and begins with `handrail:`, to the model. It "
        "becomes a turn of the latest session that this server knows, or else of a new one, and waits until "
        "the turns of the session that are running have ended. The turn's first edit of the document removes "
        "the comment."
    ),
)

PROMPT_FIX = Request(
    name="prompt.fix",
    params=PromptFixParams,
    result=TurnStartResult,
    does=(
        "Asks the model to fix problems that other programs report, as a turn of the latest session that "
        "this server knows, or else of a new one."
    ),
)
