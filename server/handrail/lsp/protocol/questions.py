"""Questions to the user, the rules that their answers make, commands, and documents that are shown."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.lsp.protocol.values import ApprovalKind, RuleScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """
    An open question. Everything in it is text of a model, a file or a command: show it, never interpret it.

    Attributes:
        id: Names it in `approval.answer` and `approval.show`.
        kind: *command* may this line run; *file* may the tool use these files; *outside* the same outside the
            workspace; *tool* may the tool be used; *question* the model's own; *saving* may these be saved;
            *appeared* may these files stay, which appeared while a command ran.
        subject: All of what it is about: the command line, the paths, or the question itself.
        detail: Why it is asked.
        folder: The folder in which a command runs, as people read it.
        choices: What can be answered. The first is "deny": no, or no answer to the model's own question. Then
            "allow", "session" (also for the rest of this session), "always" (also in this workspace for
            good); or the model's own choices.
        takes_text: Whether any other text is an answer, too: it is so for the model's own question.
        rules: What "session" and "always" add, each rule in words.
        diff: What would be written, as a unified diff.
        asked_at: When it was asked, RFC 3339.
        seconds_left: How long it still waits; then it ends as a no.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalListParams:
    """All open questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswerParams:
    """Answer an open question with one of its choices, or in other words if it takes text."""

    approval: str
    choice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalShowParams:
    """Show an open question in full; without `approval`, the one that was asked first."""

    approval: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedDocument:
    """A document that the server has written, and its text."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputShowParams:
    """Which command's output to show: that of a tool call; without `call`, the last one."""

    call: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandListParams:
    """The background commands of a session; without `session`, those of all."""

    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundCommand:
    """
    A command that runs in the background, or has run there.

    Attributes:
        command: Its id, as the model knows it.
        call: The tool call that began it.
        line: The command line.
        folder: Where it runs, for people.
        running: Whether it runs.
        state: How it is, in a sentence.
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
    """End a background command."""

    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandInterruptParams:
    """
    End a command that a turn waits for; the turn goes on.

    Attributes:
        call: The tool call that runs it.
    """

    session: str
    call: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleListParams:
    """All rules that an answer has added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleInfo:
    """
    A rule that an answer to a question has added.

    Attributes:
        id: Names it in `rules.remove`.
        text: What it allows, in words.
        scope: Whether it holds for one session, or in this workspace for good.
        session: The session it holds for.
    """

    id: str
    text: str
    tool: str
    scope: RuleScope
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRemoveParams:
    """Remove a rule that an answer has added, so that handrail asks again."""

    rule: str
