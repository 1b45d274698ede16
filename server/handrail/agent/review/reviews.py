"""
The pending hunks of all documents of a workspace.

Edits and commands report their changes (`turn/edit/landing`, `turn/command/calls`). All others are found by
comparing texts on demand, so a keystroke costs nothing. Nothing here waits for the user or delays a turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count

from handrail.agent.review import making, moves, recorded, renames
from handrail.agent.review.delayed import DelayedWrites
from handrail.agent.review.outdated import OutdatedTexts
from handrail.agent.review.selection import HunkSelection, select_hunks
from handrail.core.checkpoint import CommandEffects, StepId
from handrail.core.documents.text import split_lines
from handrail.core.failure import Code, Failure
from handrail.core.policy.place import Place
from handrail.core.review import document as one
from handrail.core.review.document import Reviewed
from handrail.core.review.hunks import Hunk, Step
from handrail.core.review.pending import Kind, Pending, ReviewMode, forget_empty
from handrail.ports import Ports
from handrail.ports.review import AgentChange, NoRecords, NoReviewStore, Records, ReviewStore
from handrail.values import dataclass, field, replace

logger = logging.getLogger(__name__)


def _unset() -> Ports:
    raise AssertionError("a host sets the ports")


@dataclass(kw_only=True)
class Reviews:
    """
    The Review port, and all pending changes.

    Attributes:
        ports: The ports; set by the host, like the next one.
        new_id: Returns a new id with the given prefix.
        store: Stores pending changes.
        records: What the user's version control has recorded.
        held: Returns the editor's rows of a document, by identity; None if it is not open.
        mode: What happens to the agent's changes, a `ReviewMode`.
        commands: The number of the agent's running commands.
        changed: Called with identity and URI of each document whose hunks have changed.
    """

    ports: Callable[[], Ports] = _unset
    new_id: Callable[[str], str] = lambda kind: kind
    store: ReviewStore = field(default_factory=NoReviewStore)
    records: Records = field(default_factory=NoRecords)
    held: Callable[[str], Sequence[str] | None] = lambda identity: None
    mode: Callable[[], str] = lambda: ReviewMode.PENDING.value
    changed: Callable[[str, str], None] = lambda identity, uri: None
    pending: dict[str, Pending] = field(default_factory=dict)
    commands: int = 0
    _away: set[str] = field(default_factory=set)
    _aside: dict[str, Pending] = field(default_factory=dict)  # as the editor had it, and a file has not
    _outdated: OutdatedTexts = field(default_factory=OutdatedTexts)
    _touched: set[str] = field(default_factory=set)
    _delayed: DelayedWrites = field(default_factory=DelayedWrites)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))  # of what is seen and opened, in order
    _seen: dict[str, int] = field(default_factory=dict)
    _opened: dict[str, int] = field(default_factory=dict)
    _reverted_moves: renames.RevertedMoves = field(default_factory=renames.RevertedMoves)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    # ---- What the agent does ----------------------------------------------------------------------

    async def on_landing(self, made: Sequence[AgentChange]) -> None:
        """Called when edits have landed. An error is logged: the turn continues without these hunks."""
        try:
            await self._add_landings(made)
        except Exception:  # our fault, but the edits are made: the turn must not end because of their review
            logger.exception("Edits that landed could not be listed for review")

    async def _add_landings(self, made: Sequence[AgentChange]) -> None:
        if not made or self.mode() != ReviewMode.PENDING:
            return
        async with self._one_at_a_time:
            await self._take_news()
            await self._take_records()
            touched, new = list[str](), list[str]()
            for each in made:
                became = await moves.apply_to_pending_in_thread(
                    self.pending, each, self.ports().workspace, self._new_id
                )
                for identity, pending in became.items():
                    known = self.pending.get(identity)
                    self._set(identity, pending)
                    self._touched.add(identity)  # others may have typed since
                    touched.append(identity)
                    new += [identity] if known is None or not known.document.hunks else []
            await self._note_records(new)  # of the others it is known
            self._delayed.add(touched, self.settle)

    async def settle(self) -> None:
        """Called when a turn ends: stores its landed changes."""
        async with self._one_at_a_time:
            await self._take_news()  # of other documents; a text that others changed is not overwritten
            await self._keep(())

    def on_command_begin(self) -> None:
        """Called before a command: what is staged or committed until it ends is its own doing."""
        self.commands += 1

    async def on_command_end(self, step: StepId, call: str, effects: CommandEffects) -> None:
        """Called when a command has ended, whether or not it changed files."""
        try:
            await self._ran(step, call, effects)
        except Exception:  # our fault, but the command has run: the model gets its result
            logger.exception("Changes made by a command could not be listed for review")
        finally:
            self.commands -= 1
            async with self._one_at_a_time:
                await self._note_records(list(self.pending))

    async def _ran(self, step: StepId, call: str, effects: CommandEffects) -> None:
        if not effects.changes or self.mode() != ReviewMode.PENDING:
            return
        changes = await making.of_command(self.ports(), step, call, effects)
        await self.on_landing(moves.pair([text for _, text in changes if text is not None]))
        name, whose = f"{step.turn}.{step.number}", Step(turn=step.turn, call=call, before=(), after=())
        async with self._one_at_a_time:
            for change in (change for change, text in changes if text is None):
                place = self.ports().workspace.resolve(change.uri)
                if isinstance(place, Place):
                    known = self.pending.get(place.identity)
                    found = making.add_replacement(known, change, whose, place, self._new_id)
                    self._set(place.identity, replace(found, checkpoint=found.checkpoint or name))
                    await self._keep([place.identity])

    def _new_id(self) -> str:
        return self.new_id("h")

    # ---- What others do ---------------------------------------------------------------------------

    async def refresh(self, identities: Iterable[str] | None = None) -> None:
        """Compares pending changes with the current texts of documents."""
        async with self._one_at_a_time:
            await self._take_news()
            if self.mode() == ReviewMode.KEEP:
                await self._keep_all()
            elif self.mode() == ReviewMode.PENDING:
                await self._compare(list(self.pending) if identities is None else identities)
                await self._take_records()

    async def on_restore(self) -> None:
        """Called when documents were restored, perhaps with changes that an earlier restore undid."""
        await self.refresh()
        async with self._one_at_a_time:
            for known in await making.find_unchanged(self.ports(), self.pending.values()):
                await self._became(known, known.back)
            for known in await self._reverted_moves.find_redone(self.ports().editor):
                await self._became(known.back, known)
            await self._keep(())

    async def _keep_all(self) -> None:
        known = list(self.pending)
        for identity in known:
            self._set(identity, None)
        self._outdated.stored.clear()
        await self._keep(known)

    async def _compare(self, identities: Iterable[str]) -> None:
        for identity in identities:
            await self._end_outdated(identity)
            known = self.pending.get(identity)
            if known is None or self.compare_open(identity) or known.kind is Kind.WHOLE:
                continue
            if known.kind is Kind.DELETED:
                if await self.ports().editor.read_bytes(known.uri) is not None:
                    back = await self._reverted_moves.find_returned(known, self.ports().editor)
                    await self._became(known, back)  # None if someone has created it again
                continue
            if self._is_gone(known) and await self.ports().editor.read_bytes(known.uri) is None:
                continue
            document = await self.ports().editor.read(known.uri)
            if isinstance(document, Failure):
                await self._set_aside(known, document)
            else:
                self._observed_on_disk(known, split_lines(document.text.content))

    def on_change(self, identity: str) -> bool:
        """Called when a document has changed in the editor; returns whether it has pending changes."""
        if identity in self.pending:
            self._touched.add(identity)
        return identity in self.pending

    def compare_touched(self, identity: str) -> None:
        """Compares a document with the editor's text, if that has changed since."""
        if identity in self._touched:
            self.compare_open(identity)

    def compare_open(self, identity: str) -> bool:
        """Compares a document with the editor's text; returns whether it is open."""
        rows = self.held(identity)
        if rows is not None and self._outdated.is_over(identity, rows):
            self._set(identity, self._outdated.end(identity, self.pending.get(identity), rows))
        known = self.pending.get(identity)
        if known is None or rows is None or known.kind in (Kind.DELETED, Kind.WHOLE) or self._is_gone(known):
            return False  # a buffer of a removed document says nothing about its file
        self._touched.discard(identity)
        aside = self._aside.pop(identity, None)
        if aside is not None and one.keeps_more(aside.document, known.document, rows):
            known = aside
        self._observe(known, rows)
        return True

    def _is_gone(self, known: Pending) -> bool:
        """Whether a document that the agent made has been removed, and the editor still holds it."""
        is_away = known.kind is Kind.CREATED and known.identity in self._away
        return is_away and self.held(known.identity) is not None

    def _observed_on_disk(self, known: Pending, rows: Sequence[str]) -> None:
        """Compares a document with its file; the editor may open it with unsaved text."""
        before = self._aside.get(known.identity, known)
        self._observe(known, rows)
        now = self.pending.get(known.identity)
        if now is not None and not before.document.ids() <= now.document.ids():
            self._aside[known.identity] = before

    def _observe(self, known: Pending, rows: Sequence[str]) -> None:
        is_same = len(rows) == len(known.document.rows) and tuple(rows) == known.document.rows
        if not (is_same and renames.is_opened_early(known)):
            self._seen[known.identity] = next(self._numbers)
        if known.identity in self._away:
            self._away.discard(known.identity)
            self.changed(known.identity, known.uri)
        if not is_same:
            now = one.observe(known.document, rows)
            self._set(known.identity, replace(known, document=now))
            is_typing = now.steps == known.document.steps
            self._delayed.add([known.identity], self.settle, is_typing=is_typing)

    async def _set_aside(self, known: Pending, failure: Failure) -> None:
        """Called if a document cannot be read: until it can, its hunks are not pending."""
        if known.is_new and failure.code is not Code.NO_SUCH_FILE:
            self._away.discard(known.identity)
            return  # it exists, but is no longer text
        if failure.code is Code.NO_SUCH_FILE:
            now = await self._reverted_moves.find_returned(known, self.ports().editor)
            new = {each for each, at in self._opened.items() if at > self._seen.get(known.identity, 0)}
            now = now or await renames.find_renamed(known, self.ports(), new - self.pending.keys())
            if now is not None:
                await self._became(known, now)
                return
        if known.identity not in self._away:
            self._away.add(known.identity)
            self.changed(known.identity, known.uri)

    async def _became(self, known: Pending, now: Pending | None) -> None:
        """Replaces the pending changes of a document, perhaps at another path."""
        self._set(known.identity, None)
        self._outdated.stored.pop(known.identity, None)
        if now is not None:
            self._away.discard(now.identity)
            self._set(now.identity, now)  # what went from it may return
        await self._keep([known.identity, None if now is None else now.identity])

    def on_open(self, identity: str) -> None:
        """Called when the editor has opened a document."""
        self._opened[identity] = next(self._numbers)

    async def on_close(self, identity: str) -> None:
        """Called when the editor has closed a document: stores its pending changes."""
        self._opened.pop(identity, None)
        async with self._one_at_a_time:
            self._touched.discard(identity)
            await self._take_news()
            await self._end_outdated(identity)
            await self._keep(())

    # ---- What is on record ------------------------------------------------------------------------

    async def check_records(self) -> None:
        """Checks whether the user has staged or committed pending changes."""
        async with self._one_at_a_time:
            await self._take_records()

    async def _take_records(self) -> None:
        """Keeps changes that the user has staged or committed."""
        if self.commands:
            return
        known = [each for each in (self.pending | self._outdated.stored).values() if each.document.hunks]
        found = await recorded.drop_recorded(self.records, self.ports().editor, known) if known else []
        for each in found:
            rows = self.held(each.identity) if each.identity in self._outdated.stored else None
            self._set(each.identity, self._outdated.take(each.identity, each, rows))
        if found:  # otherwise the latest changes of a turn are written too often
            await self._keep([each.identity for each in found])

    async def _note_records(self, identities: Iterable[str]) -> None:
        """Notes the recorded contents of documents, as of when their hunks landed."""
        known = [self.pending[each] for each in identities if each in self.pending]
        for each in await recorded.note_records(self.records, known):
            self.pending[each.identity] = each

    # ---- What the user decides --------------------------------------------------------------------

    def hunks(self, wanted: HunkSelection) -> dict[str, tuple[Hunk, ...]]:
        """Returns the selected hunks, by the identities of their documents. Raises UnknownId."""
        place = self.ports().workspace.resolve(wanted.uri) if wanted.uri is not None else None
        return select_hunks(self.shown, wanted, place.identity if isinstance(place, Place) else None)

    @property
    def shown(self) -> list[Pending]:
        """Returns the documents that can be shown, by path."""
        return sorted(filter(self.shows, self.pending.values()), key=lambda each: each.path)

    def shows(self, known: Pending) -> bool:
        """Whether a document's hunks can be shown."""
        is_here = known.identity not in self._away and bool(known.document.hunks)
        return is_here and self.mode() != ReviewMode.OFF

    async def keep(self, wanted: HunkSelection) -> tuple[str, ...]:
        """Keeps hunks: their text is the user's from now on. Returns their ids; raises UnknownId."""
        async with self._one_at_a_time:
            await self._take_news()
            await self._compare(list(self.pending))
            await self._take_records()
            found = self.hunks(wanted)
            for identity, hunks in found.items():
                known = self.pending[identity]
                ids = frozenset(hunk.id for hunk in hunks)
                self._set(identity, replace(known, document=one.keep(known.document, ids)))
                self._outdated.keep(identity, ids)
            await self._keep(found)
        return tuple(hunk.id for hunks in found.values() for hunk in hunks)

    async def replace_pending(self, documents: Mapping[str, tuple[Reviewed, Reviewed]]) -> None:
        """
        Called when hunks were undone.

        Args:
            documents: By identity, each when it was planned, and now. One changed since is only compared.
        """
        async with self._one_at_a_time:
            for identity, (planned, now) in documents.items():
                known = self.pending.get(identity)
                if known is not None and known.document is planned:
                    self._set(identity, replace(known, document=now))
            await self._compare(documents)
            await self._keep(documents)

    async def reinstate(self, whole: Pending) -> None:
        """Restores earlier pending changes of a document that was pending as a whole and is as before."""
        async with self._one_at_a_time:
            back = whole if whole.kind is Kind.CREATED else whole.back
            documents = [whole.identity, back.identity]
            if back is not whole:
                await self._became(whole, back)
            elif await self.ports().editor.read_bytes(whole.uri) is None:
                self._away.add(whole.identity)
                self.changed(whole.identity, whole.uri)
            await self._compare(documents)
            await self._keep(documents)

    # ---- Keeping ----------------------------------------------------------------------------------

    def _set(self, identity: str, now: Pending | None) -> None:
        before = self.pending.pop(identity, None)
        self._aside.pop(identity, None)
        if now is not None and (now.document.hunks or now.document.gone):
            self.pending[identity] = now
            if not now.document.hunks:
                forget_empty(self.pending)
        hunks = [each.document.hunks if each is not None else () for each in (before, now)]
        if hunks[0] != hunks[1] and (either := now or before) is not None:
            self.changed(identity, either.uri)

    async def _keep(self, identities: Iterable[str | None]) -> None:
        """Stores these documents now, and those that were to be stored soon."""
        for identity in (wanted := self._delayed.take(identities)):
            await self._end_outdated(identity)
        known = [(each, self._outdated.stored.get(each, self.pending.get(each))) for each in wanted]
        if known:
            await self.store.write([now if now and now.document.hunks else each for each, now in known])

    async def _take_news(self) -> None:
        """Takes over what other servers have stored, except for documents that were edited since."""
        for each in await self.store.news():
            identity, now = (each, None) if isinstance(each, str) else (each.identity, each)
            shown = self._outdated.take(identity, now, self.held(identity))
            if not self._delayed.is_edited(identity):
                self._set(identity, shown)

    async def _end_outdated(self, identity: str) -> None:
        """Takes over what is pending in a file, once the editor has no other text of it."""
        known, is_open = self.pending.get(identity), self.held(identity) is not None
        found = await self._outdated.end_if_same(identity, known, self.ports().editor, is_open=is_open)
        if found is not None:
            self._set(identity, found[0])
            self._observe(*found)
