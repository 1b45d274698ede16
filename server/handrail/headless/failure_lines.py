"""
How a terminal shows an edit that did not land: where, why, similar places, and what the model is told to do.

The advice is written for the model; it is marked as such, because people read it too.
"""

from collections.abc import Callable, Iterator

from handrail.headless.values import Failure

EXCERPT_CHARS = 80  # of the first line of a place
ADVICE = "Advice for the model:"

LineText = Callable[[str, int], str | None]  # of a document's URI and a line counted from 0


def message_line(failure: Failure, name: str) -> str:
    """Returns the place and the message as compilers print them, for tools that read `file:line:`."""
    line = failure.line
    if line is None and failure.candidates:
        line = failure.candidates[0].first_line
    where = f"{name}:{(line or 0) + 1}: " if failure.uri else ""
    return f"  {where}warning[{failure.code}] {failure.message}"


def candidate_lines(failure: Failure, line_text: LineText) -> Iterator[str]:
    """Yields one line for each place that has the search text, or a similar one."""
    for candidate in failure.candidates:
        excerpt = (line_text(failure.uri, candidate.first_line) or "").strip()[:EXCERPT_CHARS]
        lines = f"line {candidate.first_line + 1}"
        if candidate.last_line > candidate.first_line:
            lines = f"lines {candidate.first_line + 1}-{candidate.last_line + 1}"
        if candidate.score < 1:
            yield f"    similar: {lines} ({candidate.score:.0%}): {excerpt}"
        else:
            yield f"    matches: {lines}: {excerpt}"


def advice_lines(failure: Failure) -> list[str]:
    """Returns what the model is told to do next."""
    return [f"    {ADVICE}", *(f"    → {step}" for step in failure.steps)] if failure.steps else []
