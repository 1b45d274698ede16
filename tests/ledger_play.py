"""Play a story of edits against documents, so that the ledger's rules can be told as cases."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from handrail.core.documents import edit
from handrail.core.documents.change import PlannedHunk, Status, Update
from handrail.core.documents.text import Text
from handrail.core.failure import Candidate, Code, Failure, Span
from handrail.core.ledger import ledger, report
from handrail.core.ledger.ledger import Ledger
from handrail.core.ledger.outcome import Mutation, OpenFailure, Outcome
from handrail.core.matching import match
from handrail.core.patches.notations import Hunk
from handrail.core.planning import plan
from spec import Block


@dataclass
class Play:
    """
    Documents, the ledger, and what came of each mutation.

    Blocks, each with `of=` for a document other than `doc`:
        document: The text at the beginning.
        try: `step=`; old lines, a divider, new lines. `start_line=`, `rejected=yes` (the editor says no),
            `denied=yes` (the user does), `all=yes` (as a string, wherever it occurs).
        late: The number of a try, counted from 1, whose edit the document has after all.
        fix: The number of an open failure; `at=` is which of its places, counted from 1.
        write: `step=`; a whole new text.
        user: The document as the user leaves it; `gone=yes` if deleted.
        dismiss: The number of an open failure, counted from 1.
    """

    documents: dict[str, Text] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    outcomes: list[Outcome] = field(default_factory=list)
    misses: dict[str, int] = field(default_factory=dict)

    def step(self, block: Block) -> None:
        name = block.attributes.get("of", "doc")
        match block.name:
            case "document":
                self.documents[name] = Text(block.text)
            case "try":
                self._try(name, block)
            case "write":
                self._write(name, block)
            case "user":
                self._user(name, block)
            case "fix":
                self._fix(name, block)
            case "late":
                self._late(name, int(block.text))
            case "dismiss":
                chosen = self.ledger.open[int(block.text) - 1]
                self.ledger = self.ledger.drop([chosen.id])

    def open(self) -> list[str]:
        """The open failures: document, line, code, severity, attempts, and what was tried first."""
        return [self._line(known) for known in self.ledger.open]

    def result(self) -> str:
        """What the model reads of the last step."""
        last = self.outcomes[-1].mutation.order
        return report.result_text(
            [each for each in self.outcomes if each.mutation.order == last], self.misses
        )

    def diagnostics(self) -> list[str]:
        """What the user sees, document by document."""
        return [
            f"{uri}: {shown.severity} [{shown.code}] {shown.message}\n"
            f"at {', '.join(str(each.line + 1) for each in shown.near) or 'the start'}; "
            f"{len(shown.choices)} quick fixes\n"
            for uri, found in report.diagnostics(self.ledger).items()
            for shown in found
        ]

    def _line(self, known: OpenFailure) -> str:
        near = known.failure.near
        line = f" line {near[0].line + 1}" if near else ""
        severity = "hint" if known.lowered else "warning"
        hunk = known.mutation.hunk
        first = f"{hunk.old!r} -> {hunk.new!r}" if hunk is not None else "the whole document"
        return (
            f"{known.mutation.path}{line}: {known.failure.code}, {severity}, tried {known.attempts}x: {first}"
        )

    def _mutation(self, name: str, block: Block, hunk: Hunk | None) -> Mutation:
        order = int(block.attributes["step"])
        return Mutation(
            id=f"f-{len(self.outcomes)}",
            turn="t-1",
            call=f"c-{order}",
            tool="patch",
            order=order,
            uri=name,
            identity=name,
            path=name,
            hunk=hunk,
        )

    def _try(self, name: str, block: Block) -> None:
        old, _, new = ("\n" + block.text).partition("\n=======\n")
        line = block.attributes.get("start_line")
        hunk = Hunk(
            number=1,
            old=old.removeprefix("\n"),
            new=new.removesuffix("\n"),
            line_number=int(line) if line else None,
            whole_lines="all" not in block.attributes,
            replace_all="all" in block.attributes,
        )
        mutation = self._mutation(name, block, hunk)
        text = self.documents.get(name)
        if text is None:
            failure = Failure(code=Code.NO_SUCH_FILE, message="The file does not exist.")
            self._enter(Outcome(mutation=mutation, status=Status.FAILED, failure=failure))
            return
        result = plan.plan(text, [hunk])[0].result
        if block.attributes.get("denied"):
            failure = Failure(code=Code.DENIED, message="The user did not allow this.")
            self._enter(Outcome(mutation=mutation, status=Status.DENIED, failure=failure))
            return
        if block.attributes.get("rejected"):
            result = Failure(
                code=Code.EDIT_REJECTED,
                message="The editor did not apply the edit.",
                near=self._places(text, hunk),
            )
        if isinstance(result, Failure):
            self._enter(Outcome(mutation=mutation, status=Status.FAILED, failure=result, text=text))
        else:
            self._land(mutation, text, result)

    def _places(self, text: Text, hunk: Hunk) -> tuple[Candidate, ...]:
        found = match.locate(text, hunk)
        spans = [] if isinstance(found, Failure) else [each.span for each in found]
        return tuple(Candidate(span=span, line=text.line_at(span.start), score=1.0) for span in spans)

    def _fix(self, name: str, block: Block) -> None:
        known = self.ledger.open[int(block.text) - 1]
        hunk, text = known.mutation.hunk, self.documents[name]
        assert hunk is not None
        place = known.failure.near[int(block.attributes.get("at", "1")) - 1].span
        planned = plan.plan_at(text, hunk, place)
        assert isinstance(planned, PlannedHunk)
        once = replace(hunk, replace_all=False)
        self._land(replace(known.mutation, id="o", order=99, hunk=once), text, planned)
        self.ledger = ledger.record_fix(self.ledger, known, self.outcomes[-1])

    def _late(self, name: str, number: int) -> None:
        outcome, text = self.outcomes[number - 1], self.documents[name]
        assert outcome.mutation.hunk is not None
        planned = plan.plan_hunk(text, outcome.mutation.hunk)
        assert isinstance(planned, PlannedHunk)
        before = self.ledger
        self._land(outcome.mutation, text, planned)
        self.ledger = ledger.replace_outcome(before, self.outcomes[-1])

    def _write(self, name: str, block: Block) -> None:
        mutation = self._mutation(name, block, None)
        text = self.documents.get(name)
        if text is None:
            self.documents[name] = Text(block.text)
            self._enter(Outcome(mutation=mutation, status=Status.LANDED, text=self.documents[name]))
            return
        result = plan.plan_whole(text, block.text)
        if isinstance(result, Failure) or block.attributes.get("rejected"):
            failure = Failure(code=Code.EDIT_REJECTED, message="The editor did not apply the edit.")
            failure = result if isinstance(result, Failure) else failure
            self._enter(Outcome(mutation=mutation, status=Status.FAILED, failure=failure, text=text))
        else:
            self._land(mutation, text, result)

    def _land(self, mutation: Mutation, text: Text, planned: PlannedHunk) -> None:
        edits = Update(uri=mutation.uri, base=text, hunks=(planned,)).edits
        now = replace(text, content=edit.apply(text.content, edits))
        spans, growth = [], 0
        for each in edits:
            start = each.span.start + growth
            spans.append(Span(start=start, end=start + len(each.new)))
            growth += each.growth
        status = Status.LANDED if edits else Status.ALREADY
        self.documents[mutation.path] = now
        self._enter(
            Outcome(
                mutation=mutation,
                status=status,
                tier=planned.tier,
                text=now,
                spans=tuple(spans),
                notes=planned.notes,
            )
        )

    def _user(self, name: str, block: Block) -> None:
        gone = block.attributes.get("gone") == "yes"
        if gone:
            del self.documents[name]
        else:
            self.documents[name] = Text(block.text)
        self.ledger = ledger.observe(self.ledger, name, self.documents.get(name))

    def _enter(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.ledger = ledger.record(self.ledger, outcome)
        self.misses.update(ledger.count_misses(self.misses, [outcome]))
