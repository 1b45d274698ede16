"""
The texts of a question for people: in a message, in a title, and in a document that holds all of it.

Whatever a model, a file or a command wrote goes through `surfaces`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from handrail.agent.questions import OpenQuestion
from handrail.core import surfaces
from handrail.core.ledger.report import QuestionEnd
from handrail.counts import count_of
from handrail.lsp import protocol
from handrail.ports import ALWAYS, DENY, FOR_SESSION, Kind, Question
from handrail.ports.questions import NO

SHOW, NO_ANSWER = "Show", "No answer"
HEADINGS = {
    Kind.COMMAND: "May this command run?",
    Kind.FILE: "May the agent {} this file?",
    Kind.OUTSIDE: "May the agent {} this file outside the workspace?",
    Kind.TOOL: "May this tool be used?",
    Kind.QUESTION: "The model asks:",
    Kind.SAVING: "May this document be saved?",
    Kind.APPEARED: "May this new file, which was moved away, be put back?",
}
HEADINGS_OF_SEVERAL = {
    Kind.FILE: "May the agent {} these files?",
    Kind.OUTSIDE: "May the agent {} these files outside the workspace?",
    Kind.SAVING: "May these documents be saved?",
    Kind.APPEARED: "May these new files, which were moved away, be put back?",
}
OF_FOLDERS = frozenset({"list_files", "search"})  # tools whose one path may be a folder: several files
CONTINUES, OURSELVES = "May the turn continue?", "handrail"  # asked by ourselves, and not for a tool
SUBJECT_CHARS = 160  # of a subject in a message
TITLE_CHARS = 80  # of a subject in the title of a code action
RULE_CHARS = 100  # of a rule in the title of a code action; the document has all of it


def heading(question: Question) -> str:
    """Returns the question, without the subject."""
    use = {True: "change", False: "read", None: "use"}[question.changes_files]
    if question.tool == OURSELVES:
        return CONTINUES
    one = HEADINGS[question.kind]
    return (HEADINGS_OF_SEVERAL.get(question.kind, one) if _is_of_several(question) else one).format(use)


def title_of_no(question: Question) -> str:
    """Returns the title of the button that says no."""
    return NO if question.asks_permission else NO_ANSWER


def short(question: Question, limit: int = SUBJECT_CHARS) -> str:
    """The question as one line for messages and progress; its subject may be cut."""
    subject = surfaces.message(question.subject, limit)
    who = f"{surfaces.message(question.tool, limit)}: " if _is_about_tool(question) else ""
    return f"{heading(question)} {who}{subject}"


def title(question: Question) -> str:
    """The question in the title of a code action."""
    return surfaces.line(f"{heading(question)} {question.subject}", TITLE_CHARS)


def status(waiting: Sequence[OpenQuestion], seconds_left: float) -> str:
    """Returns the status of a turn that waits for the user; empty if it does not wait."""
    if not waiting:
        return ""
    more = f" (and {len(waiting) - 1} more)" if len(waiting) > 1 else ""
    return f"Waiting for you, {math.ceil(seconds_left / 60)} min left: {short(waiting[0].question)}{more}"


def choice_title(question: Question, choice: str) -> str:
    """A choice in the title of a code action, with the rule that it adds."""
    if not question.asks_permission:
        return NO_ANSWER if choice == DENY else f"Answer: {surfaces.line(choice, RULE_CHARS)}"
    if choice not in (FOR_SESSION, ALWAYS) or not question.rules:
        return question.title(choice)
    return f"{question.title(choice)}: {surfaces.line('; '.join(question.rules), RULE_CHARS)}"


def document(question: Question) -> str:
    """All of a question, as Markdown."""
    parts = [f"# {heading(question)}", _how(question)]
    if _is_about_tool(question):
        tool, size = surfaces.markdown(question.tool), _size(question.subject)
        parts.append(f"Tool: {tool}. The question is about this ({size}):")
    parts.append(surfaces.block(question.subject, "sh" if question.kind is Kind.COMMAND else "text"))
    if question.folder:
        parts += ["It runs in this folder:", surfaces.block(question.folder, "text")]
    if question.detail:
        parts += ["Reason for this question:", surfaces.block(question.detail, "text")]
    if question.diff:
        whose = "Their" if _is_of_several(question) else "Its"
        what = f"{whose} contents:" if question.kind is Kind.APPEARED else "It would write:"
        parts += [what, surfaces.block(question.diff, "diff")]
    if not question.asks_permission:
        parts += [
            "The answers to choose from:",
            *(surfaces.block(each, "text") for each in question.choices[1:]),
        ]
    elif question.rules and FOR_SESSION in question.choices:
        adding = [f"*{question.title(each)}*" for each in (FOR_SESSION, ALWAYS) if each in question.choices]
        these = "these rules" if question.rules[1:] else "this rule"
        parts.append(f"{' and '.join(adding)} {'add' if adding[1:] else 'adds'} {these}:")
        parts += [surfaces.block(rule, "text") for rule in question.rules]
    return "\n\n".join(parts) + "\n"


def closing_words(question: Question, end: QuestionEnd, choice: str | None) -> str:
    """Returns what the document says once the question is no longer open."""
    match end:
        case QuestionEnd.ANSWERED:
            if question.asks_permission:
                how = f"Answer: {question.title(choice or DENY)}."
            else:
                how = f"Answer: {surfaces.markdown(choice or '')}." if choice != DENY else "It has no answer."
        case QuestionEnd.TIMED_OUT:
            so = ", so the answer is no" if question.asks_permission else " without an answer"
            how = f"The question timed out{so}."
        case QuestionEnd.WITHDRAWN:
            how = "It was withdrawn."
    return f"# This question has ended\n\n{how}\n\n{surfaces.block(question.subject, 'text')}\n"


def approval(asked: OpenQuestion, seconds_left: float) -> protocol.Approval:
    """An open question as clients are told."""
    question = asked.question
    return protocol.Approval(
        id=question.id,
        session=question.session,
        turn=question.turn,
        call=question.call,
        tool=question.tool,
        kind=question.kind.value,
        subject=question.subject,
        detail=question.detail,
        choices=list(question.choices),
        asked_at=datetime.fromtimestamp(asked.asked_at, UTC).isoformat(),
        seconds_left=round(seconds_left, 1),
        folder=question.folder or None,
        rules=list(question.rules) or None,
        diff=question.diff or None,
        takes_text=question.takes_text,
        changes_files=question.changes_files,
    )


def _is_of_several(question: Question) -> bool:
    """Whether the subject of a question about files is, or may be, more than one file."""
    subject = question.subject
    return ", " in subject or subject.endswith("/") or question.tool in OF_FOLDERS


def _is_about_tool(question: Question) -> bool:
    """Whether a tool would do it: a question by the model or about saving, or our own, is about none."""
    return question.kind not in (Kind.QUESTION, Kind.SAVING) and question.tool != OURSELVES


def _how(question: Question) -> str:
    choices = " · ".join(_choices(question))
    return (
        f"Answer with a code action in this document: {choices}. Invisible characters are shown as "
        f"codes; a line that begins with `{surfaces.GOES_ON}` continues the line above."
    )


def _choices(question: Question) -> list[str]:
    if question.asks_permission:
        return [f"*{question.title(choice)}*" for choice in question.choices]
    return [f"*{NO_ANSWER}*, or one of the answers below"]


def _size(subject: str) -> str:
    rows = subject.count("\n") + 1
    size = count_of(len(subject), "character")
    return f"{count_of(rows, 'line')}, {size}" if rows > 1 else size
