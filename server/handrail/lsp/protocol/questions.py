"""Questions to the user, the rules that their answers make, commands, and documents that are shown."""

from __future__ import annotations

from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.values import ApprovalKind, RuleScope
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """
    An open question. Its texts may come from a model, a file or a command: show them, never interpret them.

    Attributes:
        id: Identifies the question in `approval.answer` and `approval.show`.
        session: The session's id.
        turn: Id of the turn that waits for the answer.
        call: Id of the tool call that asks; empty for the kinds `saving` and `appeared`, and if the tool is
            `handrail`.
        tool: Name of the tool that was called; `handrail` if the question is whether the turn may continue.
        kind: What is asked. `command`: whether this command line may run. `file`: whether the tool may use
            these files. `outside`: the same for files outside the workspace. `tool`: whether the tool may be
            used, or, if the tool is `handrail`, whether the turn may continue. `question`: something that the
            model wants to know. `saving`: whether these documents may be saved. `appeared`: new files
            appeared while a command ran, and handrail moved them away; whether they may be put back.
        subject: What the question is about, in full: the command line, the paths, or the model's question.
        detail: Why handrail asks.
        choices: The possible answers. The first is `deny`: no, or no answer to the model's question. The
            others are `allow`, `session` (also later in this session, until the server ends) and `always`
            (also in this workspace from now on), or the model's own choices.
        asked_at: When it was asked, as an RFC 3339 time.
        seconds_left: Seconds until the time for an answer is over.
        folder: The folder in which the command would run, as people read it; null if the question is not
            about a command.
        rules: The rules that `session` and `always` would add, in words.
        diff: What would be written, as a unified diff; if the kind is `appeared`, the contents of the files.
        takes_text: Whether any other text is an answer too, as it is for the model's own questions.
        changes_files: Whether the tool would change the files of a `file` or `outside` question, and not only
            read them; null for other kinds.
    """

    id: str
    session: str
    turn: str
    call: str
    tool: str
    kind: ApprovalKind
    subject: str
    detail: str
    choices: list[str]
    asked_at: str
    seconds_left: float
    folder: str | None = None
    rules: list[str] | None = None
    diff: str | None = None
    takes_text: bool = False
    changes_files: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalListParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswerParams:
    """
    The answer to an open question.

    Attributes:
        approval: The question's id.
        choice: One of the question's `choices`; or, if it has `takesText`, a text of at most 10,000
            characters that is neither blank nor one of `deny`, `allow`, `session` and `always`.
    """

    approval: str
    choice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalShowParams:
    """
    The question to show.

    Attributes:
        approval: The question's id; by default the question that was asked first.
    """

    approval: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedDocument:
    """
    A document that the server has written.

    Attributes:
        uri: URI of the document.
        text: Its whole text.
    """

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputShowParams:
    """
    Selects the command whose output to show.

    Attributes:
        call: Id of the tool call that ran the command; by default the last command.
    """

    call: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandListParams:
    """
    Selects the background commands to list.

    Attributes:
        session: Only those of this session; null lists those of all sessions.
    """

    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundCommand:
    """
    A command that runs, or ran, in the background.

    Attributes:
        command: The command's id, which the model uses too.
        session: Id of the session that it belongs to.
        turn: Id of the turn that started it.
        call: Id of the tool call that started it.
        line: The command line.
        folder: The folder in which it runs, as people read it.
        running: Whether it is still running.
        state: Its state in a sentence.
    """

    command: str
    session: str
    turn: str
    call: str
    line: str
    folder: str
    running: bool
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandStopParams:
    """
    The background command to stop.

    Attributes:
        command: The command's id.
    """

    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandInterruptParams:
    """
    The command to stop. The turn that waits for it continues.

    Attributes:
        session: Id of the session whose turn waits.
        call: Id of the tool call that runs the command.
    """

    session: str
    call: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleListParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleInfo:
    """
    A rule that an answer to a question has added.

    Attributes:
        id: Identifies the rule in `rules.remove`.
        text: What the rule allows, in words.
        tool: Name of the tool that it applies to.
        scope: Whether it applies to one session, or to this workspace from now on.
        session: Id of the session that it applies to; null if its scope is the workspace.
    """

    id: str
    text: str
    tool: str
    scope: RuleScope
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRemoveParams:
    """
    The rule to remove, so that handrail asks again.

    Attributes:
        rule: The rule's id.
    """

    rule: str


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
    does="Stops a background command. The custom request answers when it has ended.",
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
