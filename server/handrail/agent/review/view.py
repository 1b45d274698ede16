"""The review document: turns, documents and changes, with what was said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from handrail.core import surfaces
from handrail.core.documents.page import Part
from handrail.core.review.comments import Sent, Status, Subject
from handrail.core.review.pending import Kind
from handrail.counts import count_hidden, count_of
from handrail.values import dataclass, field

LIMIT_SHOWN = 1_000  # changes; editors get slow with more
LIMIT_ANSWERED = 50
PATH_CHARS = 200
HOW = """\
To comment on a change, write below it. Code actions send the comments,
keep or undo changes, and go to their places."""
STATUS = {
    Status.KEPT: " · kept",
    Status.UNDONE: " · undone",
    Status.GONE: " · no longer pending",
    Status.CHANGED: " · these lines have changed",
}
PROTECTED = "This file is protected, so its text is not shown here."
KINDS = {
    Kind.CREATED: " · created",
    Kind.DELETED: " · deleted",
    Kind.RENAMED: " · renamed",
    Kind.WHOLE: " · not a text file",
}
ENDS = {
    "": "is being answered in the turn {name}",
    "finished": "was answered in the turn {name}",
    "cancelled": "was sent to the turn {name}, which was stopped",
    "stopped": "was sent to the turn {name}, which ended early",
    "failed": "was sent to the turn {name}, which failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A place that a row names: from one of its characters to another, a line of a document."""

    start: int
    end: int
    uri: str
    line: int


@dataclass(kw_only=True)
class View:
    """
    The contents of the review document.

    Attributes:
        parts: In order.
        links: By the key of a part; the link is in its first row.
        subjects: What its parts are about, by their keys.
    """

    parts: list[Part] = field(default_factory=list)
    links: dict[str, Link] = field(default_factory=dict)
    subjects: dict[str, Subject] = field(default_factory=dict)

    def add(self, key: str, *texts: str) -> None:
        """Adds a part of some blocks of text, with an empty line behind each."""
        rows = [f"{row}\n" for text in texts for row in (*text.split("\n"), "")]
        self.parts.append(Part(key=key, rows=tuple(rows)))


def view(
    subjects: Sequence[Subject],
    sent: Sequence[Sent],
    labels: Mapping[str, str],
    needed: Set[str] = frozenset(),
    *,
    is_on: bool = True,
) -> View:
    """
    Returns the contents of the review document.

    Args:
        subjects: Changes and lines, in order; those of a document together.
        sent: Comments that were sent, in order.
        labels: What turns are called, by their ids.
        needed: The keys of those that are shown whatever their number.
        is_on: Whether changes are noted at all.
    """
    page = View()
    pending = [each for each in subjects if each.status is Status.PENDING]
    page.add("top", "# Review", _count(pending, is_on=is_on), *((HOW,) if subjects else ()))
    for turn in dict.fromkeys(turn for each in pending for turn in each.turns):
        own = [each for each in pending if turn in each.turns]
        page.add(f"turn:{turn}", f"- {_turn(turn, labels)}: {count_of(len(own), 'change')}")
    below = dict[str, list[Sent]]()
    for each in sent:
        below.setdefault(each.subject.key if each.subject is not None else "", []).append(each)
    path = ""
    shown = [each for at, each in enumerate(subjects) if at < LIMIT_SHOWN or each.key in needed]
    for subject in shown:
        if subject.path != path:
            path = subject.path
            page.add(f"document:{path}", f"## {code(path)}")
        _add(page, subject, labels)
        _add_sent(page, below.pop(subject.key, ()), labels, named=False)
    if more := len(subjects) - len(shown):
        page.add(
            "more", f"{count_hidden(more, 'change')}. Keep or undo some of the changes above to see them."
        )
    answered = [each for others in below.values() for each in others][-LIMIT_ANSWERED:]
    if answered:
        page.add("answered", "## Comments that were sent")
        _add_sent(page, answered, labels, named=True)
    return page


def _count(pending: Sequence[Subject], *, is_on: bool) -> str:
    if not is_on:
        return "Changes are not tracked, because the setting `handrail.review.mode` is `off`."
    if not pending:
        return "No changes are pending."
    documents = len({each.path for each in pending})
    where = "one document" if documents == 1 else count_of(documents, "document")
    return f"{count_of(len(pending), 'change')} in {where}."


def _add(page: View, subject: Subject, labels: Mapping[str, str]) -> None:
    what = STATUS.get(subject.status) or KINDS.get(subject.kind, "")
    if subject.status is Status.PENDING and subject.renamed_from:
        what += f" from {code(subject.renamed_from)}"
    size = f" · {subject.size}" if subject.is_change and (subject.rows or subject.before) else ""
    has_lines = subject.kind is Kind.CHANGED and not subject.is_lost
    where = f"{subject.path}:{subject.line_numbers}" if has_lines else subject.path
    shown = code(where)
    blocks = [f"### {shown}{size}{what}"]
    if subject.turns:
        turns = ", ".join(_name(turn, labels) for turn in subject.turns)
        made_in = "turn" if len(subject.turns) == 1 else "turns"
        blocks.append(f"Made in the {made_in} {turns}.")
    if subject.has_text:
        blocks.append(surfaces.block(subject.diff, subject.language))
    elif subject.is_protected:
        blocks.append(PROTECTED)
    page.add(subject.key, *blocks)
    page.subjects[subject.key] = subject
    if subject.kind is not Kind.DELETED:
        link = Link(start=len("### "), end=len("### ") + len(shown), uri=subject.uri, line=subject.start)
        page.links[subject.key] = link


def _add_sent(page: View, sent: Iterable[Sent], labels: Mapping[str, str], *, named: bool) -> None:
    for each in sent:
        said = "\n".join(f"> {surfaces.inert(surfaces.visible(row))}" for row in each.text.split("\n"))
        subject = each.subject
        on = ""
        if named and subject is not None:
            lines = "" if subject.is_lost else f":{subject.line_numbers}"
            on = f"On {code(f'{subject.path}{lines}')}:\n\n"
        end = f"This {ENDS.get(each.state, ENDS['failed']).format(name=_name(each.turn, labels))}."
        page.add(each.key, on + said, end)


def _name(turn: str, labels: Mapping[str, str]) -> str:
    return code(labels.get(turn) or turn)


def _turn(turn: str, labels: Mapping[str, str]) -> str:
    return code(labels[turn]) if labels.get(turn) else f"turn {code(turn)}"


def code(text: str) -> str:
    """A path or a name as code in a line of Markdown."""
    return surfaces.code(text, PATH_CHARS)
