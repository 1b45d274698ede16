"""What is read of the setting `handrail.checks`, and of what checks print."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from handrail.core.ledger import check_output
from handrail.core.ledger.problems import Severity
from handrail.core.policy.checks import Check, Format, read
from handrail.lsp import settings
from handrail.lsp.client import Client
from handrail.lsp.terms import terms
from searches import examples

RUFF = {"command": "ruff check {files}", "format": "lines", "files": ["*.py", "src/**"]}


@pytest.mark.parametrize(
    ("row", "path", "line", "severity", "message"),
    [
        ("a.py:3:7: F401 `os` imported but unused", "a.py", 3, "error", "F401 `os` imported but unused"),
        ("src/a.c:3:7: error: expected ';'", "src/a.c", 3, "error", "expected ';'"),
        ("a.c:3: fatal error: gone.h: No such file", "a.c", 3, "error", "gone.h: No such file"),
        ("a.py:12: warning: Unused  [unused]", "a.py", 12, "warning", "Unused  [unused]"),
        ("a.py:12:1:12:9: note: Revealed type", "a.py", 12, "information", "Revealed type"),
        ("a.ts(3,7): error TS2322: Not so.", "a.ts", 3, "error", "TS2322: Not so."),
        (" /w/a.py:3:7 - error: Not so (rule)", "/w/a.py", 3, "error", "Not so (rule)"),
        ("src/a.rs:2:5: error[E0425]: not found", "src/a.rs", 2, "error", "[E0425]: not found"),
        ("/w/a.js:1:2: Missing. [Warning/semi]", "/w/a.js", 1, "warning", "Missing. [Warning/semi]"),
        ("a.sh:4:1: note: Quote this. [SC2086]", "a.sh", 4, "information", "Quote this. [SC2086]"),
        ("C:\\w\\a.py:3:7: E1 bad", "C:\\w\\a.py", 3, "error", "E1 bad"),
        ("a b.py:3:7: E1 at b.py:9:1: too", "a b.py", 3, "error", "E1 at b.py:9:1: too"),
        ("x:1: y.py:3:7: E1 bad", "x:1: y.py", 3, "error", "E1 bad"),
        ("errors.py:3:7: errors are here", "errors.py", 3, "error", "errors are here"),
        ("a.py:0: E1 before the first line", "a.py", 1, "error", "E1 before the first line"),
    ],
)
def test_a_line_is_a_problem(row: str, path: str, line: int, severity: str, message: str) -> None:
    output = f"Checking ...\n{row}\n    3 | x = 1\nFound 1 error.\n"
    (found,) = check_output.read_lines(output, ["x:1: y.py"], "it")
    assert isinstance(found, check_output.CheckProblem)
    assert (found.path, found.problem.line + 1, found.problem.severity.value) == (path, line, severity)
    assert (found.problem.message, found.problem.source) == (message, "it")


@pytest.mark.parametrize(
    "output",
    ["", "All checks passed!\n", "a.py: no line\n", "In file included from a.h:3:\n", ":3:7:\n",
     "a.py:3:7:\n", "x" * 5_000 + ":3:7: E1\n", "\0\x01\ufffd" * 100],
)  # fmt: skip
def test_other_lines_are_no_problems(output: str) -> None:
    assert check_output.read_lines(output) == ()


def sarif(**result: object) -> str:
    location = {"artifactLocation": {"uri": "a%20b.py"}, "region": {"startLine": 3}}
    made = {"message": {"text": "Bad."}, "locations": [{"physicalLocation": location}], **result}
    run = {"tool": {"driver": {"name": "ruff"}}, "results": [made]}
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=1)


def test_sarif_is_read_between_other_lines() -> None:
    output = f"warning: {{}} is slow\n{{oh}}\n{sarif(ruleId='F401', level='error')}\ndone\n"
    (found,) = check_output.read_sarif(output)
    assert isinstance(found, check_output.CheckProblem)
    problem = found.problem
    assert (found.path, problem.line, problem.source, problem.code) == ("a b.py", 2, "ruff", "F401")
    assert problem.severity is Severity.ERROR


def test_a_sarif_result_has_a_severity_a_base_and_may_not_count() -> None:
    def severity(**result: object) -> list[Severity]:
        found = check_output.read_sarif(sarif(**result))
        assert not isinstance(found, str)
        return [each.problem.severity for each in found]

    assert severity() == [Severity.WARNING]
    assert severity(level="note") == [Severity.INFORMATION]
    assert severity(suppressions=[{"kind": "inSource"}]) == severity(baselineState="absent") == []
    based = {"artifactLocation": {"uri": "a.py", "uriBaseId": "TOP"}, "region": {}}
    log = json.loads(sarif(locations=[{"physicalLocation": based}]))
    log["runs"][0]["originalUriBaseIds"] = {"TOP": {"uri": "file:///w/x%20y/"}}
    (found,) = check_output.read_sarif(json.dumps(log))
    assert isinstance(found, check_output.CheckProblem)
    assert (found.path, found.problem.line) == ("/w/x y/a.py", 0)


@pytest.mark.parametrize(
    "output",
    ["", "nonsense", "[]", '{"runs": 3}', '{"runs": [', "[" * 100_000, "{" * 100_000, "{\n" * 10_000,
     '{"runs": ' + "[" * 100_000],
)  # fmt: skip
def test_what_is_not_sarif_is_said_to_be_none(output: str) -> None:
    assert check_output.read_sarif(output) == "has not printed SARIF"


JSON = st.recursive(
    st.none() | st.integers() | st.text() | st.just("file://[") | st.just("http://x/y"),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["locations", "physicalLocation", "artifactLocation", "region", "uri", "text",
                         "message", "startLine", "level", "ruleId", "uriBaseId"]), inner),
    max_leaves=8,
)  # fmt: skip


@hypothesis_settings(max_examples=examples(40))
@given(results=st.lists(st.dictionaries(st.sampled_from(["locations", "message", "level"]), JSON)))
def test_no_sarif_is_too_odd_to_be_read(results: list[object]) -> None:
    check_output.read_sarif(json.dumps({"runs": [{"results": results}, None]}))


def test_a_check_is_read() -> None:
    found = read([RUFF, {"command": " tool -x", "format": "sarif", "stdin": "tool --name={file} -"}])
    assert not isinstance(found, str)
    first, second = found
    assert first == Check(command="ruff check {files}", format=Format.LINES, files=("*.py", "src/**"))
    assert [first.is_for(path) for path in ("a.py", "b/a.py", "src/x/y.c", "a.pyi")] == [
        True, True, True, False]  # fmt: skip
    assert second.is_for("anything")
    assert first.line(["a b.py", "-x.py", "$(x)"]) == "ruff check 'a b.py' ./-x.py '$(x)'"
    assert second.stdin_line("it's") == "tool --name='it'\"'\"'s' -"
    (chained,) = read([RUFF | {"command": "(a {files}|b);c --x={files}&& d"}])
    assert isinstance(chained, Check)
    assert chained.line(["a b"]) == "(a 'a b'|b);c --x='a b'&& d"
    assert (first.program, second.program) == ("ruff", "tool")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("ruff check {files}", "it must be a list of checks, such as [{"),
        ([RUFF] * 21, "it has 21 checks; the limit is 20"),
        (["ruff check {files}"], 'check 1 must be like {"command": "ruff check'),
        ([RUFF, {"format": "lines"}], "check 2 must have a `command`"),
        ([RUFF | {"command": " "}], "check 1 must have a `command`"),
        ([{"command": "x"}], "check 1 must name the `format` of what it prints: lines or sarif"),
        ([RUFF | {"format": "json"}], "check 1 must name the `format`"),
        ([RUFF | {"format": ["lines"]}], "check 1 must name the `format`"),
        ([RUFF | {"glob": "*"}], "check 1 has the field 'glob', which does not exist; the fields are"),
        ([RUFF | {"files": "*.py"}], 'check 1 must have a list of patterns as its `files`, such as ["*.py"]'),
        ([RUFF | {"files": [""]}], "check 1 must have a list of patterns"),
        ([RUFF | {"files": ["x" * 3_000]}], "check 1 has too many patterns in `files`, or one that is too"),
        ([RUFF | {"command": "x '{files}'"}], "check 1 must have {files} in its `command` as a word"),
        ([RUFF | {"command": "sh -c 'x {files}'"}], "check 1 must have {files} in its `command` as a word"),
        ([RUFF | {"command": 'sh -c "x {files} y"'}], "check 1 must have {files} in its `command` as a word"),
        ([RUFF | {"command": "x {files} '"}], "check 1 has a quotation mark in its `command` that is not"),
        ([RUFF | {"command": "x {file}"}], "check 1 has {file} in its `command`, where only {files} is"),
        ([RUFF | {"command": "x\ny"}], "check 1 has a `command` that is too long, or has more than one line"),
        ([RUFF | {"stdin": "x {files}"}], "check 1 has {files} in its `stdin`, where only {file} is"),
        ([RUFF | {"stdin": 3}], "check 1 must have a `command`"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_setting_is_said(value: object, why: str) -> None:
    found = settings.settle({"checks": value}, None, None)
    (problem,) = found.problems
    assert problem.startswith(f"The setting handrail.checks is ignored: {why}")
    assert found.checks(settings.CHECKS) == ()


def test_checks_come_from_the_machine_and_not_into_an_untrusted_workspace() -> None:
    assert settings.settle({}, None, {"checks": [RUFF]}).checks(settings.CHECKS) == ()
    found = settings.settle({}, {"checks": [RUFF]}, {"checks": []})
    assert [each.program for each in found.checks(settings.CHECKS)] == ["ruff"]
    assert len(terms(found, Client(), (), [], None).checks) == 1
    assert terms(found, Client(untrusted=True), (), [], None).checks == ()
