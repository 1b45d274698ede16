"""What clients are told of turns and failures has no keys: they print it, in the logs of a build too."""

from functools import partial

from handrail.core.conversation.prompt import Mode
from handrail.core.documents.change import Status
from handrail.core.failure import Code, Failure
from handrail.core.ledger import report
from handrail.core.ledger.outcome import Mutation, Outcome
from handrail.core.results.redact import redact
from handrail.lsp import wire
from handrail.lsp.convert import Converter

KEY = "sk-testkey-1234567890"
CONVERTER = Converter(encoding="utf-16", redact=partial(redact, secrets=(KEY,)))


def test_updates_and_reports_have_no_keys() -> None:
    mutation = Mutation(
        id="f-1",
        turn="t-1",
        call="c-1",
        tool="patch",
        order=1,
        uri="file:///a",
        identity="/a",
        path="a",
        step=1,
    )
    failure = Failure(code=Code.NO_MATCH, message=f"Line 2 is 'token = {KEY}'.", steps=(f"Send {KEY}.",))
    outcomes = (
        Outcome(mutation=mutation, status=Status.FAILED, failure=failure),
        Outcome(mutation=mutation, status=Status.LANDED, diff=f"-token = {KEY}\n+token = 1\n"),
    )
    started = report.Started(prompt=f"Use {KEY}.", mode=Mode.EDIT)
    for event in (started, *outcomes):
        told = str(wire.write(CONVERTER.event(event)))
        assert KEY not in told
        assert "[key removed by handrail]" in told
