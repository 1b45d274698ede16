"""What is played in scenarios: values that can be drawn, printed and made smaller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from e2e.habits import Habits
from handrail.testing.behaviours import Response

LINES = 9  # of each document


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A change of one line: replace, insert (two rows after it) or delete; or create, of a document."""

    document: int
    line: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    What becomes of one edit; see `Reaction`.

    Attributes:
        before, after, later: What the user does, by name; see `Play.act`.
        late: Which part waits: nothing, `applies` or `tells`.
        ends_first: Whether it waits for the turn's end, not for a moment.
    """

    response: Response = Response.TRUE
    before: str = ""
    after: str = ""
    later: str = ""
    formats: str = ""
    late: str = ""
    ends_first: bool = False

    def __str__(self) -> str:
        done = [(field.name, getattr(self, field.name)) for field in fields(self) if field.name != "response"]
        return ", ".join(
            [f"answers {self.response.value}", *(f"{name}: {value}" for name, value in done if value)]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """
    A turn.

    Attributes:
        telling: How the editor tells of its changes; see `variations`.
        documents: Each is `open`, `dirty` (typed in before), `twice` (open under a link as well), `closed`
            or `new` (not there yet).
        is_partial: Whether hunks that fit may land alone.
        replies: To the edits, in the order in which they come; later ones are obeyed.
        restores: Whether the turn is taken back at the end.
        reviews: Whether its changes are undone at the end, as changes that are pending.
    """

    habits: Habits
    telling: str = "plain"
    documents: tuple[str, ...]
    hunks: tuple[Hunk, ...]
    is_partial: bool = True
    replies: tuple[Reply, ...] = ()
    restores: bool = False
    reviews: bool = False

    def __str__(self) -> str:
        hunks = ", ".join(f"{each.kind} line {each.line} of document {each.document}" for each in self.hunks)
        replies = "; ".join(map(str, self.replies)) or "as the editor does"
        called = "partial" if self.is_partial else "whole"
        ending = ", then a restore" if self.restores else ", then an undo" if self.reviews else ""
        editor = self.habits.name + (f" ({self.telling})" if self.telling != "plain" else "")
        return f"{editor}, {'+'.join(self.documents)}: {called} call: {hunks}. {replies}{ending}"

    @property
    def size(self) -> int:
        """How much there is in it."""
        replies = sum(
            sum(map(bool, (each.before, each.after, each.later, each.formats, each.late, each.ends_first)))
            + (each.response is not Response.TRUE)
            for each in self.replies
        )
        odd = sum(each != "open" for each in self.documents)
        return (
            len(self.hunks) * 2
            + len(self.documents) * 2
            + replies
            + odd
            + self.restores
            + self.reviews
            + (self.telling != "plain")
        )

    @property
    def kinds(self) -> list[str]:
        """What is in it, for a table."""
        found = {self.habits.name, f"tells: {self.telling}", *(f"hunk: {each.kind}" for each in self.hunks)}
        found |= {f"document: {each}" for each in self.documents}
        for each in self.replies:
            found.add(f"answer: {each.response.name.lower()}")
            found |= {f"in flight: {each.before}"} if each.before else set()
            found |= {f"before the echo: {each.after}"} if each.after else set()
            found |= {f"after the echo: {each.later}"} if each.later else set()
            found |= {f"formatter: {each.formats}"} if each.formats else set()
            if each.late:
                found.add(f"late: {each.late}{', after the turn' if each.ends_first else ''}")
        found |= {"restore"} if self.restores else set()
        found |= {"undo of what is pending"} if self.reviews else set()
        return sorted(found)


def smaller(scene: Scene) -> Iterator[Scene]:
    """Scenes with a little less in them."""
    last = len(scene.documents) - 1
    if last:
        hunks = tuple(each for each in scene.hunks if each.document != last)
        yield replace(scene, documents=scene.documents[:-1], hunks=hunks)
    for at, hunk in enumerate(scene.hunks):
        if sum(each.document == hunk.document for each in scene.hunks) > 1:
            yield replace(scene, hunks=(*scene.hunks[:at], *scene.hunks[at + 1 :]))
    for replies in _fewer(scene.replies):
        yield replace(scene, replies=replies)
    for at, kind in enumerate(scene.documents):
        if kind not in ("open", "new"):
            yield replace(scene, documents=(*scene.documents[:at], "open", *scene.documents[at + 1 :]))
    if scene.telling != "plain":
        yield replace(scene, telling="plain")
    if scene.restores or scene.reviews:
        yield replace(scene, restores=False, reviews=False)


def _fewer(replies: tuple[Reply, ...]) -> Iterator[tuple[Reply, ...]]:
    for at, reply in enumerate(replies):
        yield (*replies[:at], *replies[at + 1 :])
        for each in fields(Reply):
            if getattr(reply, each.name) != each.default:
                yield (*replies[:at], replace(reply, **{each.name: each.default}), *replies[at + 1 :])
