"""The review document: open it, comment in it, send the comments; what can be done at its lines."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from lsprotocol import types as lsp

from handrail.agent.turns import UnknownId
from handrail.core.documents import remarks as on_page
from handrail.core.documents.page import Page
from handrail.core.ledger.report import State as End
from handrail.core.results.redact import redact
from handrail.core.review import comments
from handrail.core.review.comments import Comment, Status, Subject
from handrail.lsp import protocol, settings
from handrail.lsp.documents import to_units
from handrail.lsp.features import actions, turn
from handrail.lsp.features.actions import action, lens
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams, Refused
from handrail.ports import HandrailError
from handrail.ports.errors import ServedError

logger = logging.getLogger(__name__)

CONTEXT = "Comment on these lines…"
PASTE = "paste"  # the setting `model` where replies are pasted


async def open_(state: State, params: protocol.ReviewOpenParams) -> protocol.ServedDocument:
    """Write the review document."""
    uri = await state.review_page.refresh()
    return protocol.ServedDocument(uri=uri, text=state.discussion.page.text)


async def comment(state: State, params: protocol.ReviewCommentParams) -> protocol.ReviewPlace:
    """Write a comment on a change or on lines, or make room for one."""
    discussion = state.discussion
    if params.hunk is not None:
        key = await discussion.on_hunk(params.hunk)
    elif params.uri is not None and params.range is not None:
        first, last = params.range.start.line, params.range.end.line
        if params.range.end.character == 0 and last > first:
            last -= 1  # a selection of whole lines ends at the beginning of the next one
        key = await discussion.on_lines(params.uri, first, last)
    else:
        raise InvalidParams("params needs hunk, or uri and range, to say where the comment belongs.")
    return await _room(state, key, params.text or "")


async def _room(state: State, key: str, text: str) -> protocol.ReviewPlace:
    """Writes *text* below a part, or makes room for it; returns its place."""
    await state.review_page.refresh()
    line = on_page.room(state.discussion.page, key)
    uri = await state.review_page.refresh(lambda page: on_page.with_remark(page, key, text))
    return protocol.ReviewPlace(uri=uri, line=line)


async def comments_(state: State, params: protocol.ReviewCommentsParams) -> list[protocol.ReviewComment]:
    """The comments that were not sent yet."""
    await state.review_page.recall()
    discussion = state.discussion
    now = {each.key: each for each in discussion.pending_subjects()}
    return [_to_protocol(name, each, now) for name, each in _with_ids(discussion.comments())]


def _with_ids(comments: Sequence[Comment]) -> list[tuple[str, Comment]]:
    """Comments with their ids, which name the places where they are written."""
    names = [f"{each.remark.part}#{each.remark.number}" for each in comments]
    return [
        (name if name not in names[:at] else f"{name}#{at}", each)
        for at, (name, each) in enumerate(zip(names, comments, strict=True))
    ]


def _to_protocol(name: str, comment: Comment, now: Mapping[str, Subject]) -> protocol.ReviewComment:
    text = comment.remark.text
    if comment.subject is None:
        return protocol.ReviewComment(id=name, text=text)
    subject = now.get(comment.subject.key, comment.subject)
    span = protocol.Range(
        start=protocol.Position(line=subject.start, character=0),
        end=protocol.Position(line=subject.start + len(subject.rows), character=0),
    )
    return protocol.ReviewComment(
        id=name,
        text=text,
        uri=subject.uri,
        range=None if subject.is_lost else span,
        hunk=subject.hunk if subject.key in now else None,
    )


async def edit(state: State, params: protocol.ReviewEditParams) -> None:
    """Change a comment, or delete it."""
    async with state.review_page.sending:
        await state.review_page.refresh()
        found = dict(_with_ids(state.discussion.comments())).get(params.comment)
        if found is None:
            raise UnknownId(f"Comment {params.comment!r} does not exist. It may have been sent.")
        if params.was not in (None, found.remark.text):
            raise UnknownId("The comment has been changed in the review document since.")
        await state.review_page.refresh(lambda page: on_page.reword(page, found.remark, params.text))


async def send(state: State, params: protocol.ReviewSendParams) -> protocol.ReviewSent:
    """Send all comments as one turn."""
    if state.settings.text(settings.MODEL) == PASTE:
        raise Refused(
            "The chosen model is `paste`, which cannot answer comments. Choose another one with `/model` in "
            "a conversation or in the setting handrail.model, then send again."
        )
    async with state.review_page.sending:
        await state.review_page.refresh()
        discussion = state.discussion
        unsent = discussion.comments()
        if not unsent:
            raise Refused("No comment is left to send. Write one below a change in the review document.")
        latest, own = await discussion.session(unsent)
        session = params.session or await _find_session(state, latest)
        prompt = redact(comments.prompt(unsent, own), state.secrets())
        request = protocol.TurnStartParams(prompt=prompt, session=session, mode=params.mode)
        begun = await turn.queue(state, request)
        discussion.mark_sent(unsent, begun.turn)
        await state.review_page.keep()
    state.begin(_show_answer(state, begun.turn))
    await state.review_page.refresh()
    return protocol.ReviewSent(session=begun.session, turn=begun.turn, comments=len(unsent))


async def _find_session(state: State, session: str | None) -> str | None:
    """A session, taken up again if this server does not know it yet; None if that cannot be."""
    if session is None or session in state.host.sessions:
        return session
    try:
        await state.host.resume(session)
    except HandrailError as error:
        logger.warning("The comments start a new session: %s", error)
        return None
    return session


async def _show_answer(state: State, begun: str) -> None:
    """Show how the turn that answers ended; if it has read nothing, the comments are drafts again."""
    report = await state.host.wait(begun)
    is_unread = report.state is not End.FINISHED and not report.answer and not report.outcomes
    back = state.discussion.take_unread(begun) if is_unread else []
    state.discussion.end_turn(begun, report.state.value)

    def write_comment(page: Page) -> Page:
        there = {(each.part, each.text) for each in on_page.remarks(page)}
        for each in (each for each in back if (each.part, each.text) not in there):
            page = on_page.with_remark(page, each.part, each.text)
        return page

    try:
        await state.review_page.refresh()
        if back:
            await state.review_page.refresh(write_comment)
            state.say(
                "The comments were not sent: the turn ended before it read them. They are drafts again."
            )
    except ServedError as error:
        logger.warning("%s", error)


async def said_why(state: State, undone: Sequence[Subject]) -> protocol.ReviewPlace | None:
    """Make room to say why changes were undone, below the first of them; None if none was."""
    state.discussion.note_decision(undone, Status.UNDONE, says_why=True)
    return await _room(state, undone[0].key, "") if undone else None


def show(state: State, document: protocol.ServedDocument) -> None:
    """Have the editor open the document: it drops the result of a command."""
    state.begin(state.open_document(document.uri))


def show_comment_line(state: State, place: protocol.ReviewPlace) -> None:
    """Have the editor open the document where there is room for a comment."""
    state.begin(state.open_document(place.uri, place.line))


# ---- At its lines ---------------------------------------------------------------------------------------


def code_actions(state: State, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Returns the code actions at a line of the review document."""
    if not actions.wants_fixes(params) or not state.review_page.has_uri(params.text_document.uri):
        return []
    state.review_page.observe()
    key, _ = state.discussion.page.part_at(params.range.start.line)
    found = _of_part(state, key)
    if count := len(state.discussion.comments()):
        what = "this comment" if count == 1 else f"these {count} comments"
        found.append(action(f"Send {what}", protocol.REVIEW_SEND, {}))
    if any(each.status is Status.PENDING for each in state.discussion.shown.subjects.values()):
        found.append(action("Keep all changes in all documents", protocol.REVIEW_KEEP, {"all": True}))
        found.append(action("Undo all changes in all documents", protocol.REVIEW_UNDO, {"all": True}))
    return found


def comment_actions(state: State, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """A comment on what is selected in any other document, while something is pending."""
    uri, is_empty = params.text_document.uri, params.range.start == params.range.end
    if not actions.wants_fixes(params) or is_empty or actions.is_ours(state, uri):
        return []
    if not state.host.reviews.shown:
        return []
    return [
        action(
            CONTEXT,
            protocol.REVIEW_COMMENT,
            {"uri": uri, "range": actions.span(params.range.start, params.range.end)},
        )
    ]


def _of_part(state: State, key: str) -> list[lsp.CodeAction]:
    shown = state.discussion.shown
    subject, (kind, _, name) = shown.subjects.get(key), key.partition(":")
    if kind == "turn":
        wanted = {"turn": name}
        return [
            action("Keep the changes of this turn", protocol.REVIEW_KEEP, wanted),
            action("Undo the changes of this turn", protocol.REVIEW_UNDO, wanted),
        ]
    if kind == "document" and (uris := _uris(list(shown.subjects.values()), name)):
        return [
            action("Keep the changes in this document", protocol.REVIEW_KEEP, {"uri": uris[0]}),
            action("Undo the changes in this document", protocol.REVIEW_UNDO, {"uri": uris[0]}),
        ]
    if subject is None:
        return []
    result = []
    if subject.status is Status.PENDING:
        one = {"hunks": [subject.hunk]}
        result = [
            action("Keep this change", protocol.REVIEW_KEEP, one),
            action("Undo this change", protocol.REVIEW_UNDO, one),
            action("Undo this change and say why…", protocol.REVIEW_UNDO, {**one, "sayWhy": True}),
            action("Go to this change", protocol.REVIEW_NEXT, _step_before(subject)),
        ]
    return result


def _uris(subjects: Sequence[Subject], path: str) -> list[str]:
    return [each.uri for each in subjects if each.path == path and each.status is Status.PENDING]


def _step_before(subject: Subject) -> dict[str, object]:
    """A place from which the change is the next one."""
    return {"uri": subject.uri, "line": subject.start - 1}


def lenses(state: State, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """In the review document: *Send* at its top, and what can be done above each change."""
    if not state.review_page.has_uri(params.text_document.uri):
        return []
    state.review_page.observe()
    discussion, lenses = state.discussion, list[lsp.CodeLens]()
    for at, line in enumerate(discussion.page.lines):
        if line.number or line.part is None:
            continue
        subject = discussion.shown.subjects.get(line.part)
        if line.part == "top" and (count := len(discussion.comments())):
            lenses.append(lens(at, f"Send comments ({count})", protocol.REVIEW_SEND, {}))
        if subject is not None and subject.status is Status.PENDING:
            one = {"hunks": [subject.hunk]}
            lenses.append(lens(at, "Keep", protocol.REVIEW_KEEP, one))
            lenses.append(lens(at, "Undo", protocol.REVIEW_UNDO, one))
            lenses.append(lens(at, "Undo and say why…", protocol.REVIEW_UNDO, {**one, "sayWhy": True}))
            lenses.append(lens(at, "Go to", protocol.REVIEW_NEXT, _step_before(subject)))
    return lenses


def links(state: State, params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
    """The places that the review document names."""
    if not state.review_page.has_uri(params.text_document.uri):
        return []
    state.review_page.observe()
    links, shown = list[lsp.DocumentLink](), state.discussion.shown
    encoding = state.documents.encoding
    for at, line in enumerate(state.discussion.page.lines):
        link = shown.links.get(line.part) if line.part is not None and not line.number else None
        if link is not None:
            ends = [
                lsp.Position(line=at, character=to_units(line.text, each, encoding))
                for each in (link.start, link.end)
            ]
            target = f"{link.uri}#L{link.line + 1}"
            links.append(lsp.DocumentLink(range=lsp.Range(start=ends[0], end=ends[1]), target=target))
    return links
