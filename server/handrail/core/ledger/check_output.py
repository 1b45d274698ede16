"""
Parse the output of a check into problems of documents: lines such as `a.py:3:7: error: …`, or SARIF.

Paths are returned as printed; they are resolved elsewhere. Output that does not have the format is
distinguished from output without problems.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from urllib.parse import unquote, urljoin, urlsplit

from handrail.core.ledger.problems import Problem, Severity
from handrail.patterns import lazy_pattern
from handrail.values import dataclass

LIMIT_ROW_CHARS = 4_000  # of a line that may be a problem; sensible ones are shorter
LIMIT_PROBLEMS = 20_000
# `a.py:3:7: …`, `a.py:3: …`, `a.ts(3,7): …` and `a.py:3:7 - …`
# All numbers are passed over at once; Python before 3.11.3 gets a possessive group wrong.
ROW = lazy_pattern(
    r"\s*(?P<path>\S.*?)(?::(?P<line>\d+)(?=(?P<more>(?::\d+){0,3}))(?P=more)|\((?P<row>\d+)(?:,\d+){0,3}\))(?::|\s+-\s)\s*(?P<said>\S.*)"
)
WORD = lazy_pattern(
    r"(?P<word>fatal error|error|warning|warn|note|info|information|hint|help|style)\b:?\s*", re.IGNORECASE
)
# As ESLint's format `unix` has it.
# As ESLint's format `unix` has it.
BEHIND = lazy_pattern(r"\[(?P<word>error|warning)/[^\]]*\]$", re.IGNORECASE)
SEVERITIES: Mapping[str, Severity] = {
    "warning": Severity.WARNING,
    "warn": Severity.WARNING,
    "style": Severity.WARNING,
    "note": Severity.INFORMATION,
    "info": Severity.INFORMATION,
    "information": Severity.INFORMATION,
    "none": Severity.INFORMATION,
    "hint": Severity.HINT,
    "help": Severity.HINT,
}  # all others are errors
LIMIT_BEGINNINGS = 20  # of JSON in an output, because warnings may look like JSON
LIMIT_LINE = 10**9
NO_TEXT = "\ufffd"  # the replacement for bytes that are not text
QUIET_ROWS = 20  # a check that finds nothing prints no more than that


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckProblem:
    """A problem in the document at *path*, as a check spells it."""

    path: str
    problem: Problem


def read_lines(output: str, names: Sequence[str] = (), source: str = "") -> tuple[CheckProblem, ...] | str:
    """
    Parses the problems that a check has printed as lines; otherwise returns the end of a sentence that says
    why not.

    Args:
        names: The paths that it was given, one of which may contain something that looks like a line number.
        source: The program.

    Cost: linear in the size of the output.
    """
    return _limit(_lines(output, names, source))


def read_sarif(output: str, source: str = "") -> tuple[CheckProblem, ...] | str:
    """Parses the problems in a SARIF log, like `read_lines`. *source* is used if the log names no program."""
    log = _log(output)
    return "has not printed SARIF" if log is None else _limit(_results(log, source))


def _limit(reports: Iterator[CheckProblem]) -> tuple[CheckProblem, ...] | str:
    some = tuple(islice(reports, LIMIT_PROBLEMS + 1))
    return some if len(some) <= LIMIT_PROBLEMS else f"has reported more than {LIMIT_PROBLEMS:,} problems"


def is_quiet(output: str) -> bool:
    """Whether so little was printed, and only text, that a check may have found nothing."""
    return NO_TEXT not in output and sum(1 for row in output.split("\n") if row.strip()) <= QUIET_ROWS


# ---- Lines --------------------------------------------------------------------------------------------


def _lines(output: str, names: Sequence[str], source: str) -> Iterator[CheckProblem]:
    for row in output.split("\n"):
        if len(row) > LIMIT_ROW_CHARS:
            continue
        name = next((each for each in names if row.startswith((f"{each}:", f"{each}("))), "")
        match = ROW.fullmatch(f"_{row.removeprefix(name)}" if name else row)
        if match is None:
            continue
        line = max(0, int((match["line"] or match["row"])[:9]) - 1)
        severity, message = _split_severity(match["said"])
        problem = Problem(line=line, message=message, severity=severity, source=source)
        yield CheckProblem(path=name or match["path"], problem=problem)


def _split_severity(text: str) -> tuple[Severity, str]:
    """Returns the severity of a problem, and its message."""
    word = WORD.match(text)
    rest = text[word.end() :] if word else text
    word = word or BEHIND.search(text)
    severity = SEVERITIES.get(word["word"].lower(), Severity.ERROR) if word else Severity.ERROR
    return severity, rest or text


# ---- SARIF --------------------------------------------------------------------------------------------


def _log(output: str) -> Mapping[str, object] | None:
    """
    Finds the SARIF log in an output, which may have warnings before and after it; None if there is none.
    """
    decoder = json.JSONDecoder()
    for match in islice(re.finditer(r"^\s*\{", output, re.MULTILINE), LIMIT_BEGINNINGS):
        try:
            found, _ = decoder.raw_decode(output, match.end() - 1)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, Mapping) and isinstance(found.get("runs"), list):
            return found
    return None


def _results(log: Mapping[str, object], source: str) -> Iterator[CheckProblem]:
    for run in _objects(log.get("runs")):
        driver = _object(_object(run.get("tool")).get("driver"))
        bases = _object(run.get("originalUriBaseIds"))
        for result in _objects(run.get("results")):
            if result.get("baselineState") == "absent" or result.get("suppressions"):
                continue
            location = next(iter(_objects(result.get("locations"))), {})
            spot = _object(location.get("physicalLocation"))
            path = _path(_object(spot.get("artifactLocation")), bases)
            line = _object(spot.get("region")).get("startLine", 1)
            message = _object(result.get("message")).get("text")
            if not path or not isinstance(line, int) or not isinstance(message, str):
                continue
            problem = Problem(
                line=min(max(0, line - 1), LIMIT_LINE),
                message=message,
                severity=SEVERITIES.get(_text(result.get("level"), "warning"), Severity.ERROR),
                source=_text(driver.get("name"), source),
                code=_text(result.get("ruleId"), ""),
            )
            yield CheckProblem(path=path, problem=problem)


def _path(artifact: Mapping[str, object], bases: Mapping[str, object]) -> str:
    """Returns the path of an artifact's location; empty if it is not that of a file."""
    base = _text(_object(bases.get(_text(artifact.get("uriBaseId"), ""))).get("uri"), "")
    try:
        uri = urljoin(base, _text(artifact.get("uri"), ""))
        parts = urlsplit(uri)
    except ValueError:
        return ""
    if parts.scheme not in ("", "file"):
        return ""
    return unquote(parts.path)


def _text(value: object, default: str) -> str:
    return value if isinstance(value, str) else default


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
