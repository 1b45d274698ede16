"""
The model is told what its edits broke by `handrail.checks`, where the client passes on no diagnostics.

The checks are real programs, which bubblewrap contains. Time stands still for the server unless a test lets
it pass, so a check has as long as it needs.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from adapters.namespaces import allowed
from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import VSCODE, opt_in
from e2e.test_background import until
from e2e.test_feedback import pass_on, results
from handrail.core.policy.checks import EXAMPLE
from handrail.testing import answer, call
from handrail.testing.texts import Json

ROOT = Path(__file__).resolve().parents[2]
AUTO = {"HANDRAIL_SANDBOX": "auto"}
POEM = "one\nBAD old\nthree\nfour\n"
NEW = "error: This is bad. (python3)"
# Finds fault with each line of its files, or of its standard input, that has BAD in it.
CHECKER = """
import sys
names, found = sys.argv[1:], 0
for name in names:
    text = sys.stdin.read() if name == "-" else open(name, encoding="utf-8").read()
    for number, row in enumerate(text.splitlines(), 1):
        if "BAD" in row:
            found += 1
            print(f"{name}:{number}:{row.index('BAD') + 1}: error: This is bad.")
sys.exit(found > 0)
"""
CHECK: Json = {"command": "python3 check.py {files}", "format": "lines", "files": ["*.txt"]}
contained = pytest.mark.skipif(
    not allowed(), reason="the kernel of this machine allows no namespaces of one's own"
)


def replace(old: str, new: str, path: str = "poem.txt") -> dict[str, object]:
    return call("patch", path=path, old_string=old, new_string=new)


async def begin(
    stage: Stage,
    *answers: dict[str, object],
    checks: tuple[Json, ...] = (CHECK,),
    environment: dict[str, str] | None = None,
    **settings: object,
) -> Editor:
    """An editor without a bridge, in a workspace with a checker and POEM."""
    stage.put("poem.txt", POEM)
    stage.put("check.py", CHECKER)
    return await stage.start(
        VSCODE,
        settings=stage.script(*answers) | {"checks": list(checks), **settings},
        options=opt_in("save"),
        environment=AUTO if environment is None else environment,
    )


def notices(editor: Editor) -> list[str]:
    """What the user was told of checks."""
    told = (each["event"].get("text", "") for each in editor.updates if each["event"]["kind"] == "notice")
    return [text for text in told if text.startswith("handrail.checks: ")]


@contained
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
async def test_a_new_error_is_told_and_an_old_one_is_not(stage: Stage, is_open: bool) -> None:
    editor = await begin(
        stage,
        answer("", replace("one\n", "zero\none\n"), replace("four", "BAD new")),
        answer("", replace("BAD new", "good")),
        answer("Done."),
    )
    file = stage.root / "poem.txt"
    uri = editor.desk.open(file) if is_open else ""
    await editor.turn("Write.")
    assert (editor.desk[uri] if is_open else file.read_text()) == "zero\none\nBAD old\nthree\ngood\n"
    first, second, third = results(stage)
    assert "problem" not in first, "two calls of one answer are told of once"
    assert second.endswith(f"\nAfter your edits, there is a new problem:\npoem.txt:5: {NEW}")
    assert "problem" not in third
    assert editor.questions == []


@contained
async def test_what_a_check_finds_in_another_version_does_not_count(stage: Stage) -> None:
    slow = "import os, sys, time\n" + CHECKER.replace(
        "    for number", "    while 'SLOW' in text: time.sleep(9)\n    for number"
    )
    editor = await begin(
        stage,
        answer("", replace("three", "BAD SLOW")),
        answer("", replace("BAD SLOW", "3"), replace("four", "BAD new")),
        answer("Done."),
    )
    stage.put("check.py", slow)
    editor.desk.open(stage.root / "poem.txt")
    started = await editor.start_turn("Write.")
    await editor.until(lambda: any(each["event"]["kind"] == "toolCall" for each in editor.updates))
    stage.pass_time(3)
    await editor.request("turn.wait", turn=started["turn"])
    first, _, third = results(stage)
    assert first.endswith(
        "whether your edits caused problems in poem.txt. The check `python3` did not finish in time."
    )
    assert NEW not in first
    assert third.endswith(f"\nAfter your edits, there is a new problem:\npoem.txt:4: {NEW}")
    assert not running(stage), "what still runs is ended with the turn"


def running(stage: Stage) -> list[str]:
    """The processes that run a check of this workspace."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = each.read_bytes()
            found += [words.decode(errors="replace")] if str(stage.root).encode() in words else []
    return [each for each in found if "check.py" in each]


FAULTY = {
    "no-such-checker {files}": "could not be run (exit code 127 in the sandbox): ",
    "yes nothing of use": "printed more than 2,000,000 characters and was stopped",
    "kill -9 $$": "was terminated by signal 9",
    "echo What a day; exit 1": "ended with exit code 1, and its output names no line of a file (What a day)",
    "false || echo gone.txt:3:1: error: This is gone.; exit 1": "ended with exit code 1, and its output",
    "seq 100": "printed something other than problems (1)",
    "cat blob": "printed something other than problems (",
    "printf 'poem.txt:1:1: error: Bad.\\n%.0s' $(seq 1001)": "reports more than 1,000 problems in one",
    "ask-about-me": "was not run: a rule of handrail.approvals asks about it, and a check cannot ask; add",
    "block-me {files}": "was not run: the setting handrail.approvals blocks it.",
    "cat </dev/null >.git/config": "was not run: .git/config belongs to version control's own files",
}
RULES = [
    {"tool": "terminal", "match": "ask-about-me", "verdict": "ask"},
    {"tool": "terminal", "match": "block-me *", "verdict": "block"},
]


@contained
async def test_a_faulty_check_says_nothing_and_that_is_told(stage: Stage) -> None:
    stage.put("blob", b"\x80\xff\0\xfe" * 9)
    checks = [{"command": line, "format": "lines"} for line in FAULTY]
    log = {"command": "echo '{\"runs\": 3}' ", "format": "sarif"}
    editor = await begin(
        stage,
        answer("", replace("three", "3")),
        answer("", replace("four", "4")),
        answer("Done."),
        checks=(*checks, log),
        approvals=RULES,
    )
    editor.desk.open(stage.root / "poem.txt")
    await editor.turn("Write.")
    first, second = results(stage)
    for line, why in (FAULTY | {"echo": "has not printed SARIF"}).items():
        said = f"The check `{line.split()[0]}` {why}"
        assert sum(row.count(said) for row in first.split("\n")) == 1, said
        assert sum(each.count(said) for each in notices(editor)) == 1, "the user is told once"
    assert "new problem" not in first + second
    assert "no-such-checker" not in second, "what cannot be run is not tried again in the same turn"
    assert editor.questions == []


@contained
async def test_only_files_that_the_model_may_read_are_told_of(stage: Stage) -> None:
    stage.put(".env", "KEY=1\n")
    (stage.folder / "outside.txt").write_text("out\n")
    names = ("poem.txt", ".env", "../outside.txt", str(stage.folder / "outside.txt"), "/etc/passwd", "gone")
    printed = "".join(f"{name}:3:1: error: This is bad.\\n" for name in names)
    editor = await begin(
        stage,
        answer("", replace("three", "3"), replace("KEY=1", "KEY=2", ".env")),
        answer("Done."),
        checks=(
            {"command": f"grep -q three poem.txt || printf '{printed}'", "format": "lines"},
            {
                "command": "set -- {files} ; grep -q three $1 || printf '%s:1: %s\\n' poem.txt \"$*\"",
                "format": "lines",
            },
        ),
        approvals=[{"tool": "edit", "match": ".env", "verdict": "allow"}],
    )
    editor.desk.open(stage.root / "poem.txt")
    await editor.turn("Write.")
    assert (stage.root / ".env").read_text() == "KEY=2\n"
    told = "\n".join(results(stage))
    assert "poem.txt:3: error: This is bad. (grep)" in told
    assert "poem.txt:1: error: poem.txt (set)" in told, "a protected file is not checked"
    assert told.count("This is bad") == 1


@contained
async def test_any_name_is_one_word_of_the_command(stage: Stage) -> None:
    names = ["-a b.txt", 'it\'s "$(touch hacked)".txt', "c:7:9: d.txt", "ä/;e&.txt"]
    for name in names:
        stage.put(name, "one\n")
    steps = [replace("one", "BAD", name) for name in names]
    editor = await begin(stage, answer("", *steps), answer("Done."))
    await editor.turn("Write.")
    told = results(stage)[-1]
    for name in names:
        assert f"{name}:1: {NEW}" in told
    assert "are 4 new problems" in told
    assert not (stage.root / "hacked").exists()


STDIN = CHECK | {"stdin": "python3 check.py -"}
ALLOW = [{"tool": "terminal", "match": "python3 check.py *", "verdict": "allow"}]


async def test_uncontained_a_check_needs_a_rule(stage: Stage) -> None:
    editor = await begin(
        stage, answer("", replace("three", "BAD")), answer("Done."), environment={"HANDRAIL_SANDBOX": "off"}
    )
    await editor.turn("Write.")
    (told,) = results(stage)
    assert (
        "whether your edits caused problems in poem.txt. The check `python3` was not run: commands do not"
        in told
    )
    (notice,) = notices(editor)
    assert '{"tool": "terminal", "match": "python3 *", "verdict": "allow"}' in notice


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
@pytest.mark.parametrize("check", [CHECK, STDIN], ids=["files", "stdin"])
async def test_without_copies_unsaved_text_is_checked_on_standard_input_alone(
    stage: Stage, check: Json, is_open: bool
) -> None:
    editor = await begin(
        stage,
        answer("", replace("three", "BAD")),
        answer("Done."),
        checks=(check,),
        environment={"HANDRAIL_SANDBOX": "off"},
        approvals=ALLOW,
    )
    if is_open:
        editor.desk.open(stage.root / "poem.txt")
    await editor.turn("Write.")
    (told,) = results(stage)
    if is_open and check is CHECK:
        assert (
            "It is unknown whether your edits caused problems in poem.txt. Unsaved changes cannot be checked"
            in told
        )
        assert ["`stdin`" in each for each in notices(editor)] == [True]
    else:
        assert told.endswith(f"\nAfter your edits, there is a new problem:\npoem.txt:3: {NEW}")


async def test_where_the_client_passes_diagnostics_on_no_check_runs(stage: Stage) -> None:
    def configure(editor: Editor) -> None:
        editor.handle("handrail/client/diagnostics", partial(pass_on, editor))

    stage.put("poem.txt", POEM)
    ran = stage.folder / "ran"
    editor = await stage.start(
        VSCODE,
        settings=stage.script(answer("", replace("three", "BAD")), answer("Done."))
        | {
            "checks": [{"command": f"touch {ran}", "format": "lines"}],
            "approvals": [{"tool": "terminal", "match": "touch *", "verdict": "allow"}],
        },
        options=opt_in("save", "diagnostics"),
        configure=configure,
    )
    editor.desk.open(stage.root / "poem.txt")
    await editor.turn("Write.")
    assert results(stage)[0].endswith("poem.txt:3: error: This is bad. (other bad-word)")
    assert not ran.exists()


@pytest.mark.parametrize("format_", [("concise", "lines"), ("sarif", "sarif")], ids=lambda each: each[1])
async def test_what_a_real_checker_prints_is_understood(stage: Stage, format_: tuple[str, str]) -> None:
    printed, name = format_
    ruff = f"{shlex.quote(sys.executable)} -m ruff check --isolated --no-cache --output-format={printed}"
    stage.put("a.py", "import os\n\n\ndef f():\n    return 1\n")
    editor = await begin(
        stage,
        answer("", replace("return 1", "return gone", "a.py")),
        answer("", replace("gone", "2", "a.py")),
        answer("Done."),
        checks=({"command": f"{ruff} {{files}}", "format": name, "files": ["*.py"]},),
        environment={"HANDRAIL_SANDBOX": "off"},
        approvals=[{"tool": "terminal", "match": f"{ruff} *", "verdict": "allow"}],
    )
    await editor.turn("Write.")
    first, second = results(stage)
    assert "After your edits, there is a new problem:\na.py:5: error: " in first
    assert "Undefined name `gone`" in first
    assert "problem" not in second


@contained
async def test_the_documented_check_works_where_nothing_can_be_written(stage: Stage) -> None:
    for page in ("models.md", "settings.md"):
        assert EXAMPLE.strip("{}") in (ROOT / "docs" / page).read_text(encoding="utf-8")
    stage.put("a.py", "def f():\n    return 1\n")
    editing = answer("", replace("return 1", "return gone", "a.py"))
    with_ruff = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    editor = await begin(
        stage, editing, answer("Done."), checks=(json.loads(EXAMPLE),), environment=AUTO | with_ruff
    )
    await editor.turn("Write.")
    assert "After your edits, there is a new problem:\na.py:2: error: " in results(stage)[0]


@contained
async def test_a_turn_that_is_stopped_does_not_wait_for_a_check(stage: Stage) -> None:
    editor = await begin(stage, answer("", replace("three", "3")), answer("Done."))
    stage.put("check.py", "import time\nwhile True: time.sleep(9)\n")
    editor.desk.open(stage.root / "poem.txt")
    started = await editor.start_turn("Write.")
    await until(lambda: running(stage))
    await editor.request("turn.cancel", turn=started["turn"])
    report = await editor.request("turn.wait", turn=started["turn"])
    assert report["state"] == "cancelled"
    assert not running(stage)


@contained
async def test_the_tool_lists_what_checks_find(stage: Stage) -> None:
    stage.put("other.md", "BAD\n")
    many = "".join(f"BAD {number}\n" for number in range(25))
    faulty = {"command": "no-such-checker {files}", "format": "lines", "files": ["poem.txt"]}
    listings = [call("problems"), call("problems", path="poem.txt"), call("problems", path="other.md")]
    editor = await begin(
        stage,
        answer("", *listings),
        answer("", replace("four\n", many)),
        answer("", *listings[:2]),
        answer("Done."),
        checks=(CHECK, faulty),
    )
    editor.desk.open(stage.root / "poem.txt")
    await editor.turn("Look.")
    before, of_poem, of_other, edited, after, of_poem_now = results(stage)
    assert before == "No problems are known. Give a path to ask about one file."
    old = f"poem.txt:2: {NEW}"
    assert of_poem.startswith(f"{old}\nUnknown: The check `no-such-checker` could not be run")
    assert of_other == (
        "Unknown: no language server or check has reported on other.md; some report only while the file is "
        "open in the editor."
    )
    rows = [f"poem.txt:{number}: {NEW}" for number in range(4, 29)]
    assert "\n".join([*rows[:20], "5 more are not shown; the problems tool lists them."]) in edited
    assert after == "\n".join([old, *rows])
    assert of_poem_now.startswith(f"{after}\nUnknown: ")


@contained
async def test_nothing_is_run_where_nothing_may_be_changed(stage: Stage) -> None:
    editor = await begin(stage, answer("", call("problems", path="poem.txt")), answer("Done."), mode="ask")
    await editor.turn("Look.")
    (told,) = results(stage)
    assert "The tool 'problems' does not exist" in told
