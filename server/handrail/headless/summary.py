"""The table at the end of a turn: each document, the results of its edits, and why some did not land."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from handrail.headless.values import Failure, Outcome

VERIFIER = "HANDRAIL_FILE_MUTATION_VERIFIER"
ORDER = ("landed", "already", "failed", "denied")
WORDS = {"already": "already there", "failed": "did not land"}

Name = Callable[[str], str]
Row = tuple[str, bool]


def wants_summary(environment: Mapping[str, str]) -> bool:
    """Whether the user wants to see the results of edits: yes, unless the variable is 0."""
    return environment.get(VERIFIER, "").strip() != "0"


def table(outcomes: Iterable[Outcome], repaired: Set[str], name: Name) -> list[Row]:
    """
    Sum up the edits of a turn by document.

    Args:
        outcomes: Of the turn, in its order.
        repaired: Ids of failures that a later edit corrected; they are left out.
        name: How people read a URI.

    Returns:
        Lines, and for each whether all is well with what it tells.
    """
    documents: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.failure is None or outcome.failure.id not in repaired:
            documents.setdefault(name(outcome.uri), []).append(outcome)
    width = max(map(len, documents), default=0)
    rows = list[Row]()
    for document, its in documents.items():
        statuses = [outcome.status for outcome in its]
        failures = [outcome.failure for outcome in its if outcome.failure is not None]
        rows.append((f"  {document:{width}}  {counts(statuses)}", not failures))
        rows += [(f"    {_reason(failure)}", False) for failure in failures]
    return rows


def counts(statuses: Sequence[str]) -> str:
    """Returns how many edits have each status, in words; empty without edits."""
    kinds = sorted(set(statuses), key=lambda each: ORDER.index(each) if each in ORDER else len(ORDER))
    return ", ".join(f"{statuses.count(kind)} {WORDS.get(kind, kind)}" for kind in kinds)


def _reason(failure: Failure) -> str:
    line = failure.line
    if line is None and failure.candidates:
        line = failure.candidates[0].first_line
    where = "" if line is None else f"line {line + 1}: "
    return f"{where}{failure.code}: {failure.message.splitlines()[0] if failure.message else ''}"
