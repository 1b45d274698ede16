"""
One scene, played with a real server and an editor that really holds documents, and judged.

The judgement reads the editor's buffers and the disk, and knows nothing of the server's code: every line,
every new row and every typed piece has a word of its own, so that a text shows by itself what stands in it,
how often, and in which order.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from e2e.client import Editor
from e2e.scenes import LINES, Reply, Scene
from handrail.testing import answer, call, script, variations
from handrail.testing.behaviours import Formatter, Reaction, indent, strip_blanks
from handrail.testing.texts import Json

SETTLE_S = 5.0  # by then a correction has come, on a busy machine too
WHILE_S = 0.02
GOING = ("replace", "delete")  # kinds of hunks whose old line goes


@dataclass
class Document:
    """
    A document of a play.

    Attributes:
        uris: Those under which it is open now; the first is the one that the user works in.
        names: All that it ever had.
        typed: The pieces that the user has typed into it, and not deleted.
        is_given_up: Whether the user has closed it or undone something after the echo: it may hold anything.
        touched: The numbers of the hunks in which the user has changed something.
    """

    path: Path
    words: list[str]
    uris: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    typed: list[str] = field(default_factory=list)
    is_given_up: bool = False
    touched: set[int] = field(default_factory=set)


class Play:
    """One scene, played."""

    def __init__(self, scene: Scene, editor: Editor, name: str, script_file: Path) -> None:
        self.scene, self.editor, self.name, self.script_file = scene, editor, name, script_file
        self.pieces = count(1)
        self.at_end: list[asyncio.Event] = []
        self.gates: list[asyncio.Event] = []
        editor.desk.variation = variations.variation_of(scene.telling)
        self.is_early = self.has_ended = False
        self.documents = [self.document(at, kind) for at, kind in enumerate(scene.documents)]

    # ---- The stage --------------------------------------------------------------------------------

    def document(self, at: int, kind: str) -> Document:
        """A document as it is before the turn."""
        words = [f"{self.name}d{at}l{line}" for line in range(LINES if kind != "new" else 0)]
        path = self.editor.root / f"{self.name}-{at}.txt"
        if kind == "new":
            return Document(path, words, names={path.as_uri()})
        path.write_text("".join(f"{word} as it was\n" for word in words))
        found = Document(path, words, names={path.as_uri()})
        if kind != "closed":
            found.uris.append(self.editor.desk.open(path))
        if kind == "twice":
            link = path.with_name(f"{self.name}-{at}-link.txt")
            link.symlink_to(path)
            found.uris.append(self.editor.desk.open(link))
            found.names.add(link.as_uri())
        if kind == "dirty":
            self.type(found, after=f"{words[LINES - 1]} as")
            self.editor.desk.tell()
        return found

    def rows(self, number: int) -> list[str]:
        """The words of the new rows of a hunk."""
        kind = self.scene.hunks[number].kind
        return [
            f"{self.name}h{number}{row}"
            for row in {"replace": "a", "insert": "ab", "create": "ab"}.get(kind, "")
        ]

    def patch(self) -> str:
        """All hunks as one patch."""
        lines = ["*** Begin Patch"]
        for at, document in enumerate(self.documents):
            own = [(n, each) for n, each in enumerate(self.scene.hunks) if each.document == at]
            verb = "Update" if document.words else "Add"
            lines += [f"*** {verb} File: {document.path.name}"] if own else []
            for number, hunk in own:
                if hunk.kind == "create":
                    lines += [f"+{row} is new here" for row in self.rows(number)]
                    continue
                old = f"{document.words[hunk.line]} as it was"
                lines += ["@@", f" {old}" if hunk.kind == "insert" else f"-{old}"]
                lines += [f"+{row} is new here" + "  " * row.endswith("b") for row in self.rows(number)]
        return "\n".join([*lines, "*** End Patch\n"])

    async def clear(self) -> None:
        """Leave nothing that the next play could meet."""
        for gate in (*self.gates, *self.at_end):
            gate.set()
        await asyncio.gather(*self.editor._waiting)
        self.editor._waiting.clear()
        self.editor.behaviours = []
        self.editor.desk.tell(loudly=True)
        for uri in list(self.editor.desk.documents):
            self.editor.desk.close(uri)
        await self.editor.request("failure.dismiss", all=True)
        self.editor.edits.clear()
        self.editor.updates.clear()
        self.editor.published.clear()
        self.editor.traffic.clear()

    # ---- The client and the user ------------------------------------------------------------------

    def reaction(self, reply: Reply) -> Any:
        """What the editor does with its next edit."""

        async def behave(editor: Editor, given: Json) -> Json | None:
            uris = editor.desk.named_uris(given)
            gate: asyncio.Event | None = None
            if reply.late:
                gate = asyncio.Event()
                waits = reply.ends_first and not self.has_ended
                (self.at_end if waits else self.gates).append(gate)
                if not waits:
                    asyncio.get_running_loop().call_later(WHILE_S, gate.set)
            return await Reaction(
                response=reply.response,
                before=lambda: self.act(reply.before, uris),
                after=lambda: self.act(reply.after, uris),
                later=lambda: self.act(reply.later, uris, afterwards=True),
                formats=self.formatter(reply.formats),
                applies=gate if reply.late == "applies" else None,
                tells=gate if reply.late == "tells" else None,
            )(editor, given)

        return behave

    def formatter(self, name: str) -> Formatter | None:
        rows = [f"{row} is new here" for n in range(len(self.scene.hunks)) for row in self.rows(n)]
        return {"strip": strip_blanks, "indent": indent(*rows)}.get(name)

    def type(self, document: Document, **place: str) -> None:
        piece = f"k{self.name}p{next(self.pieces)}."
        uri = document.uris[0]
        (mark,) = place.values()
        if self.editor.desk[uri].count(mark) == 1:
            self.editor.desk.type(uri, piece, **place)
            document.typed.append(piece)

    def act(self, name: str, uris: list[str], *, afterwards: bool = False) -> None:
        """The user does something in the document that an edit is for."""
        document = next((each for each in self.documents if set(each.uris) & set(uris)), None)
        if not name or document is None:
            return
        match name:
            case "undo" if self.editor.desk.documents[document.uris[0]].past:
                document.is_given_up |= afterwards or bool(document.typed)
                document.touched.update(self.hunks_of(document))
                self.editor.desk.undo(document.uris[0])
            case "save":
                self.editor.desk.save(document.uris[0])
            case "close":
                document.is_given_up = True
                for uri in document.uris:
                    self.editor.desk.close(uri)
                document.uris = []
            case "rename" if len(document.uris) == 1:
                new = self.editor.desk.rename(document.uris[0], f"{document.path.stem}-renamed.txt")
                document.path = document.path.with_name(f"{document.path.stem}-renamed.txt")
                document.uris, document.names = [new], {*document.names, new}
            case _:
                self.write(name, document)

    def write(self, name: str, document: Document) -> None:
        """The user types or deletes something."""
        uri, mine = document.uris[0], self.hunks_of(document)
        text = self.editor.desk[uri]
        rows = [(number, row) for number in mine for row in self.rows(number) if f"{row} is new here" in text]
        match name:
            case "type far away":
                self.type(document, after=f"{document.words[LINES - 1]} as it")
            case "type above":
                self.type(document, before=document.words[0])
            case "type in the old line" if mine:
                document.touched.add(mine[0])
                self.type(document, after=f"{document.words[self.scene.hunks[mine[0]].line]} as")
            case "type in a new row" if rows:
                document.touched.add(rows[0][0])
                self.type(document, after=f"{rows[0][1]} is")
            case "type at the end of a new row" if rows:
                self.type(document, after=f"{rows[0][1]} is new here")
            case "type before a new row" if rows:
                self.type(document, before=f"{rows[-1][1]} is")
            case "delete a piece" if rows and text.count(rows[0][1]) == 1:
                document.touched.add(rows[0][0])
                self.editor.desk.type(uri, "", instead=f"{rows[0][1]} is new here")

    def hunks_of(self, document: Document) -> list[int]:
        """The numbers of the hunks of a document."""
        at = self.documents.index(document)
        return [number for number, each in enumerate(self.scene.hunks) if each.document == at]

    # ---- The turn, and what is true of it ---------------------------------------------------------

    async def run(self) -> list[str]:
        """Play it; what was untrue or damaged."""
        edits = call("patch", mode="v4a", patch=self.patch(), partial=self.scene.is_partial)
        script(self.script_file, answer("", edits), answer("Done."))
        self.editor.behaviours = [self.reaction(reply) for reply in self.scene.replies]
        report = await self.editor.turn("Do it.")
        self.is_early = True
        early = [each for each in self.lies(report) if "landed" in each]
        self.is_early = False
        self.has_ended = True
        for gate in self.at_end:
            gate.set()
        found = await self.settle(report["turn"])
        found += [f"at the end of the turn: {each}" for each in early if each not in found]
        if self.scene.restores and not found:
            found += await self.restore(report["turn"])
        if self.scene.reviews and not found:
            found += await self.undo(report["turn"])
        return found

    async def settle(self, turn: str) -> list[str]:
        """What is untrue once everything shows and nothing moves any more."""
        await asyncio.gather(*self.editor._waiting)
        self.editor.desk.tell(loudly=True)
        loop = asyncio.get_running_loop()
        end = loop.time() + SETTLE_S
        while True:
            report = await self.editor.request("turn.wait", turn=turn)
            found = [*self.lies(report), *self.damages(report), *await self.shown(report)]
            if not found or loop.time() > end:
                return found
            await asyncio.sleep(WHILE_S)

    def texts(self, document: Document) -> list[str]:
        """What a document holds: each buffer, else the disk; early, as far as the server was told."""
        if document.uris and self.is_early:
            return [self.editor.desk.documents[uri].told for uri in document.uris]
        if document.uris:
            return [self.editor.desk[uri] for uri in document.uris]
        return [document.path.read_text() if document.path.exists() else ""]

    def lies(self, report: Json) -> list[str]:
        """The verdicts that are not what the texts show."""
        outcomes = report["outcomes"]
        if len(outcomes) != len(self.scene.hunks):
            return [f"{len(outcomes)} outcomes of {len(self.scene.hunks)} hunks"]
        found = []
        for number, (hunk, outcome) in enumerate(zip(self.scene.hunks, outcomes, strict=True)):
            document = self.documents[hunk.document]
            status = outcome["status"]
            if document.is_given_up:
                continue
            if outcome["uri"] not in document.names:
                found.append("told at a URI that is not the document's")
            stands = self.fate(number)
            if self.was_shown_before(number) and status == "landed":
                continue
            if status == "landed" and not all(each == "whole" for each in stands):
                found.append(f"{hunk.kind} is told as landed and stands {'/'.join(stands)}")
            told_as_touched = outcome.get("failure") and outcome["failure"]["code"] in (
                "stale-document",
                "not-as-written",
            )
            is_misplaced = self.is_blind(document) and "whole" not in stands
            is_changed = number in document.touched and "whole" not in stands
            excused = (told_as_touched and (number in document.touched or is_misplaced)) or is_changed
            if status != "landed" and not excused and any(each != "not" for each in stands):
                code = outcome["failure"]["code"] if outcome.get("failure") else status
                found.append(f"{hunk.kind} is told as {code} and stands {'/'.join(stands)}")
        return found

    def was_shown_before(self, number: int) -> bool:
        """Whether the server can have seen a hunk stand before the user changed it."""
        document = self.documents[self.scene.hunks[number].document]
        is_seen = self.scene.telling == "single" or len(document.uris) > 1
        return is_seen and number in document.touched

    def is_blind(self, document: Document) -> bool:
        """Whether a client without versions can have put the edit anywhere."""
        return self.scene.habits.is_versionless and bool(document.typed)

    def fate(self, number: int) -> list[str]:
        """How a hunk stands in each text of its document."""
        document = self.documents[self.scene.hunks[number].document]
        return [self.stands(number, text) for text in self.texts(document)]

    def stands(self, number: int, text: str) -> str:
        """Whether a hunk stands in a text: whole, not, in part, twice or elsewhere."""
        hunk = self.scene.hunks[number]
        words = self.documents[hunk.document].words
        times = [text.count(row) for row in self.rows(number)]
        if hunk.kind == "create":
            return {(1, 1): "whole", (0, 0): "not"}.get((times[0], times[1]), "in part")
        old = text.count(words[hunk.line] + " ")
        if any(each > 1 for each in (*times, old)):
            return "twice"
        is_gone = old == (1 if hunk.kind == "insert" else 0)
        if all(times) and is_gone:
            marks = [words[hunk.line - 1], *self.rows(number), words[hunk.line + 1]]
            places = [text.find(mark) for mark in marks if mark in text]
            return "whole" if places == sorted(places) else "elsewhere"
        return "not" if not any(times) and old == 1 else "in part"

    def damages(self, report: Json) -> list[str]:
        """What has become of lines that nobody meant, and of what the user has typed."""
        found = []
        meant = {(hunk.document, hunk.line) for hunk in self.scene.hunks}
        said = str(report["outcomes"])
        for at, document in enumerate(self.documents):
            if document.is_given_up:
                continue
            for text in self.texts(document):
                if any(text.count(row) > 1 for n in range(len(self.scene.hunks)) for row in self.rows(n)):
                    found.append("a new row stands twice")
                kept = [f"{word} " for line, word in enumerate(document.words) if (at, line) not in meant]
                if any(text.count(word) != 1 and word not in said for word in kept):
                    found.append("a line that no hunk is about is lost or doubled")
                lost = [piece for piece in document.typed if piece not in self.texts(document)[0]]
                is_hidden = self.is_blind(document) and self.scene.telling in ("span", "text")
                if any(piece not in said for piece in lost) and not is_hidden:  # it was never told of
                    found.append("what was typed is lost and not told")
        return found

    async def shown(self, report: Json) -> list[str]:
        """Where diagnostics, events and the checkpoint say something else than the report."""
        found = []
        mine = {uri for document in self.documents if not document.is_given_up for uri in document.names}
        open_failures = [each for each in await self.editor.request("failure.list") if each["uri"] in mine]
        failed = [each for each in report["outcomes"] if each["status"] == "failed" and each["uri"] in mine]
        if Counter(each["id"] for each in open_failures) != Counter(each["failure"]["id"] for each in failed):
            found.append("the open failures are not those of the report")
        shown = sum(len(self.editor.shown_diagnostics(uri)) for uri in mine)
        if shown != len(failed):
            found.append("the diagnostics are not those of the report")
        events = [each["event"] for each in self.editor.updates if each["turn"] == report["turn"]]
        latest = {each["id"]: each["status"] for each in events if each["kind"] == "outcome"}
        if latest != {each["id"]: each["status"] for each in report["outcomes"]}:
            found.append("the events do not say what the report says")
        listed = await self.editor.request("checkpoint.list")
        kept = {p["uri"] for each in listed if each["turn"] == report["turn"] for p in each["paths"]}
        for document in self.documents:
            stands = [s for n in self.hunks_of(document) for s in self.fate(n)]
            is_kept = bool(kept & document.names)
            has_landed = any(
                each["status"] == "landed" for each in report["outcomes"] if each["uri"] in document.names
            )
            was_shown = any(self.was_shown_before(number) for number in self.hunks_of(document))
            if not (document.is_given_up or was_shown) and (
                has_landed > is_kept or is_kept > any(s != "not" for s in stands)
            ):
                found.append("the checkpoint does not list what changed")
        return found

    async def restore(self, turn: str) -> list[str]:
        """What is wrong once the turn is taken back."""
        report = await self.editor.request("turn.wait", turn=turn)
        if report["checkpoint"] is None:
            return []
        restored = await self.editor.request("checkpoint.restore", checkpoint=turn)
        return self.left(report, {each["uri"] for each in restored["conflicts"]}, "restore")

    async def undo(self, turn: str) -> list[str]:
        """What is wrong with what is pending, and once that is undone."""
        report = await self.editor.request("turn.wait", turn=turn)
        pending = await self.editor.request("review.list", turn=turn)
        found = []
        for number, (hunk, outcome) in enumerate(zip(self.scene.hunks, report["outcomes"], strict=True)):
            document = self.documents[hunk.document]
            if document.is_given_up or number in document.touched:
                continue
            mine = [each for each in pending if each["uri"] in document.names]
            came, went = ("".join(each[name] for each in mine) for name in ("after", "before"))
            rows, old = self.rows(number), f"{document.words[hunk.line]} " if hunk.kind in GOING else ""
            is_told = all(row in came for row in rows) and old in went
            if outcome["status"] == "landed" and set(self.fate(number)) == {"whole"} and not is_told:
                found.append(f"{hunk.kind} has landed and is not pending")
            if set(self.fate(number)) == {"not"} and any(row in came for row in rows):
                found.append(f"{hunk.kind} does not stand and is pending")
        undone = await self.editor.request("review.undo", turn=turn) if pending else {"conflicts": []}
        conflicts = {each["uri"] for each in undone["conflicts"]}
        return found + self.left(report, conflicts, "undo")

    def left(self, report: Json, conflicts: set[str], way: str) -> list[str]:
        """What stands that should be gone, and what is damaged."""
        landed = [each["status"] == "landed" for each in report["outcomes"]]
        found = []
        for document in self.documents:
            if document.is_given_up or conflicts & document.names:
                continue
            at = self.documents.index(document)
            for number, hunk in enumerate(self.scene.hunks):
                if hunk.document == at and landed[number] and number not in document.touched:
                    stands = {self.stands(number, text) for text in self.texts(document)}
                    found += [f"{hunk.kind} stands {each} after a {way}" for each in stands - {"not"}]
        return found + [f"after a {way}: {each}" for each in self.damages(report)]
