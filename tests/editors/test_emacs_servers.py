"""
Other language servers in a real Emacs, beside ours: what they know reaches the model.

eglot has one server for a buffer, lsp-mode has several, and flymake runs programs by itself.
"""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from editors import other_server
from editors.emacs_session import HERE, SNIPPET, Emacs, files
from editors.four_patches import replace
from editors.streaming_model import Answer, streaming_model

pytestmark = [pytest.mark.emacs, pytest.mark.xdist_group("large")]

SHOP = "import os  # BAD\n\n\ndef total(items):\n    return '😀', sum(items)\n"
TILL = "from shop import total\n\nprint('😀', total([1]))\n"
BROKEN = replace("shop.py", "sum(items)", "sum(item)  # BAD")
MENDED = replace("shop.py", "sum(item)  # BAD", "sum(items)")
RUFF = [str(Path(sys.executable).with_name("ruff")), "server"]
OTHER = [sys.executable, str(Path(other_server.__file__))]
BAD = "shop.py:5: error: This is bad. (other)"
UNDEFINED = "shop.py:5: error: Undefined name `item` (Ruff F821)"
UNUSED = "`os` imported but unused\n\nhelp: Remove unused import: `os`"
NAMES = [
    ("references", {"path": "till.py", "name": "total", "line": 1}),
    ("definition", {"path": "till.py", "name": "total", "line": 3}),
    ("references", {"path": "shop.py", "name": "items", "line": 5}),
    ("references", {"path": "shop.py", "name": "total"}),
    ("symbols", {"path": "shop.py"}),
    ("symbols", {"query": "tot"}),
    ("definition", {"path": "shop.py", "name": "sum"}),
]
FOUND = [
    "1 line in 1 file.\nshop.py\n  4|def total(items):",
    "2 lines in 1 file.\nshop.py\n  4|def total(items):\n  5|    return '😀', sum(items)",
    "3 lines in 2 files.\nshop.py\n  4|def total(items):\n"
    "till.py\n  1|from shop import total\n  3|print('😀', total([1]))",
]


@pytest.fixture
def emacs(tmp_path: Path) -> Emacs:
    emacs = Emacs(tmp_path)
    emacs.workspace.mkdir()
    for name, text in (("shop.py", SHOP), ("till.py", TILL), ("poem.txt", "one\n")):
        (emacs.workspace / name).write_bytes(text.encode())
    return emacs


def calls(*asked: tuple[str, dict[str, object]]) -> list[dict[str, object]]:
    return [{"name": name, "arguments": arguments} for name, arguments in asked]


def take_turn(
    emacs: Emacs, *steps: list[dict[str, object]], **values: object
) -> tuple[dict[str, Any], list[list[str]]]:
    """The record of a turn whose answers make these calls, and the results that the model got after each."""
    answers = [Answer(pieces=["I work."], calls=step) for step in steps]
    with streaming_model(*answers, Answer(pieces=["Done."])) as model:
        settings: dict[str, object] = {"model": "openai:m", "baseUrl": model.url}
        seen = emacs.start("feedback", SNIPPET, settings, values)
    told = [[each["content"] for each in asked if each["role"] == "tool"] for asked in model.asked]
    return seen, [after[len(before) :] for before, after in pairwise(told)]


def problems(result: str) -> list[str]:
    """What a result says of problems after the edit."""
    return result.partition("After your edits, ")[2].splitlines()


def test_a_new_error_is_told_to_the_model_and_mended(emacs: Emacs) -> None:
    """
    A server of eglot's, which also answers about names, in a file that is open and one that is not.

    What an edit breaks in another open file is told as well.
    """
    (emacs.workspace / "desk.pyi").write_bytes(b"# NEEDS sum(items)\n")  # no names are looked for there
    stale = replace("shop.py", "sum(items)", "sum(items)  # STALE BAD")
    fresh = replace("shop.py", "  # STALE BAD", "")
    seen, told = take_turn(
        emacs,
        [BROKEN],
        [MENDED],
        [stale, *calls(("problems", {}), *NAMES)],
        [fresh],
        servers=[[*OTHER, "--versions"]],
        typed="typed",
        beside="desk.pyi",
    )
    (broke,), (mended,), (unknown, listed, uses, *found), (ended,) = told
    assert seen["before"] == ["This is bad."]
    missing = "desk.pyi:1: error: A name is missing. (other)"
    assert problems(broke) == ["there are 2 new problems:", BAD, missing]
    assert "problem" not in mended
    assert "whether your edits caused problems in shop.py. No report came in time." in unknown
    assert "bad" not in unknown
    assert seen["is-answered"] is False  # the user typed while the report was waited for
    assert files(seen["after"], "buffers")["poem.txt"] == b"typedone\n"
    assert listed.startswith("shop.py:1: error: This is bad. (other)")
    assert found[0] == FOUND[0]
    assert found[1] == FOUND[1].replace("sum(items)", "sum(items)  # STALE BAD")
    assert uses == found[2] == FOUND[2]
    assert "  4|def total(items):  [function module.total]" in found[3].splitlines()
    assert found[4] == "1 line in 1 file.\nshop.py\n  4|def total(items):  [function total]"
    assert found[5] == "The editor's language servers found nothing."
    assert "problem" not in ended
    assert files(seen["after"], "buffers")["shop.py"] == SHOP.encode()


def test_what_ruff_and_flymake_find_is_told_to_the_model(emacs: Emacs) -> None:
    """A real server for Python with eglot, and Perl, which flymake runs itself."""
    (emacs.workspace / "card.pl").write_bytes(b"use strict;\nprint 1;\n")
    seen, told = take_turn(
        emacs,
        [BROKEN, replace("card.pl", "print 1;", "print $one;")],
        [MENDED, replace("card.pl", "print $one;", "print 2;")],
        servers=[RUFF],
        perl=True,
    )
    (first, second), (third, fourth) = told
    assert seen["before"] == [UNUSED]
    head, *rows = problems(first + second)
    assert head.startswith("there are ")
    assert UNDEFINED in rows
    assert any(row.startswith("card.pl:2: error: Global symbol") for row in rows), rows
    assert "F401" not in first + second
    assert "problem" not in third + fourth


def test_several_servers_of_lsp_mode_are_heard_and_asked(emacs: Emacs) -> None:
    emacs.use("lsp-mode")
    # lsp-mode tells servers of changes in characters, which they take for units of UTF-16.
    (emacs.workspace / "shop.py").write_text(SHOP.replace("'😀'", "'it'"))
    (emacs.workspace / "rest.py").write_text("rest = 1\n")
    seen, told = take_turn(
        emacs, [BROKEN], [MENDED, *calls(*NAMES)], servers=[OTHER, RUFF], client="lsp-mode"
    )
    (broke,), (mended, uses, *found) = told
    assert sorted(seen["before"]) == ["This is bad.", UNUSED]
    assert problems(broke)[0] == "there are 2 new problems:"
    assert set(problems(broke)[1:]) == {BAD, UNDEFINED}
    assert "problem" not in mended
    assert seen["servers"] == [2, 2]  # what lsp-mode knows is left as it is
    assert uses == found[2]
    assert found[:3] == [each.replace("return '😀'", "return 'it'") for each in FOUND]
    assert "  4|def total(items):  [function module.total]" in found[3].splitlines()
    assert found[4] == "1 line in 1 file.\nshop.py\n  4|def total(items):  [function total]"
    assert found[5] == "The editor's language servers found nothing."


def ask(
    folder: Path, name: str, flags: list[str], *questions: tuple[str, dict[str, object]], late: bool = False
) -> list[Any]:
    """
    What handrail.el answers about a file of Python in a folder, beside another server with these flags.

    It is loaded before that server starts, or (*late*) when that has reported.
    """
    file, plan = folder / name, folder / "plan.json"
    file.write_text("def total(items):\n    return '😀', sum(items)  # BAD\n")
    asked = [
        {"method": f"handrail/client/{method}", "params": {"uri": file.as_uri(), **params}}
        for method, params in questions
    ]
    given = {"server": [*OTHER, *flags], "uri": file.as_uri(), "file": str(file), "client": str(SNIPPET)}
    plan.write_text(json.dumps({**given, "late": late, "questions": asked}))
    arguments = ["--batch", "-l", str(HERE / "bridge.el")]
    environment = {**os.environ, "HANDRAIL_BRIDGE": str(plan), "HOME": str(folder)}
    done = subprocess.run(["emacs", *arguments], env=environment, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers


def document(folder: Path, name: str) -> dict[str, object]:
    return {"uri": (folder / name).as_uri(), "version": 0}


def test_a_server_that_never_reports_is_unknown_and_then_left_alone(tmp_path: Path) -> None:
    asked = ("diagnostics", {"documents": [document(tmp_path, "shop.py")], "waitMs": 1_000})
    answers = ask(tmp_path, "shop.py", ["--silent"], *[asked] * 4)
    unknown = {"documents": [], "unwatched": []}
    assert answers == [unknown] * 3 + [{"documents": [], "unwatched": [(tmp_path / "shop.py").as_uri()]}]


def test_a_server_that_reports_when_asked_is_asked(tmp_path: Path) -> None:
    """The file has a name that clients spell differently; columns are told in characters."""
    name = "a: shop, ü.py"
    sum_at, total_at = {"line": 1, "character": 16}, {"line": 0, "character": 4}
    (reports,), gone, found, nothing = (
        answer["documents"] if "documents" in answer else answer["locations"]
        for answer in ask(
            tmp_path,
            name,
            ["--pull"],
            ("diagnostics", {"documents": [document(tmp_path, name)], "waitMs": 20_000}),
            ("diagnostics", {"documents": [document(tmp_path, "gone.py")], "waitMs": 20_000}),
            ("references", {"position": total_at, "waitMs": 20_000}),
            ("definition", {"position": sum_at, "waitMs": 20_000}),
        )
    )
    (problem,) = reports["diagnostics"]
    start, end = {"line": 1, "character": 30}, {"line": 1, "character": 33}  # one less than in UTF-16
    assert problem["range"] == {"start": start, "end": end}
    assert gone == []
    assert [each["range"]["start"] for each in found] == [total_at]
    assert nothing == []


def test_what_was_reported_before_the_file_was_loaded_is_listed(tmp_path: Path) -> None:
    (answer,) = ask(tmp_path, "shop.py", [], ("diagnostics", {"documents": None, "waitMs": 0}), late=True)
    (known,) = answer["documents"]
    start, end = {"line": 1, "character": 30}, {"line": 1, "character": 33}
    place = {"start": start, "end": end}
    expected = {"range": place, "message": "This is bad.", "severity": 1, "source": "other"}
    assert (known["uri"], known["diagnostics"]) == ((tmp_path / "shop.py").as_uri(), [expected])


def evaluate(form: str) -> Any:
    """What a form of Emacs Lisp comes to, beside handrail.el."""
    printed = f"(princ (json-serialize {form} :null-object nil :false-object :json-false))"
    arguments = ["-Q", "--batch", "-l", str(SNIPPET), "--eval", printed]
    done = subprocess.run(["emacs", *arguments], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_columns_are_counted_anew_and_no_report_is_too_much() -> None:
    """Ranges in any order and past all ends, 100,000 problems, and nonsense."""
    seen = evaluate("""
        (with-temp-buffer
          (insert "ab\\n😀é x\\nlast😀")
          (narrow-to-region 2 3)
          (cl-flet* ((place (line character) (list :line line :character character))
                     (range (line start end) (list :start (place line start) :end (place line end)))
                     (columns (encoding &rest ranges)
                       (vconcat (mapcar (lambda (each) (vector (plist-get (plist-get each :start) :character)
                                                               (plist-get (plist-get each :end) :character)))
                                        (mapcar (handrail--recounter encoding) ranges))))
                     (problems (given)
                       (setq handrail--reports (list (cons 'peer (make-handrail--report :problems given))))
                       (cl-letf (((symbol-function 'handrail--encoding-of) (lambda (_) "utf-16")))
                         (handrail--problems '(peer) nil))))
            (list :utf-8 (columns "utf-8" (range 1 4 6) (range 0 1 2) (range 2 4 8))
                  :utf-16 (columns "utf-16" (range 1 2 3) (range 2 4 6) (range 1 2 99) (range 9 0 1))
                  :utf-32 (columns "utf-32" (range 1 1 2) (range 2 4 5))
                  :units (progn (widen) (vector (handrail--units 6 "utf-8") (handrail--units 6 "utf-16")))
                  :most (let ((each (list :range (range 0 0 1) :message "Bad." :code 7)))
                          (cl-letf (((symbol-function 'handrail--visiting) (lambda (_) (current-buffer)))
                                    ((symbol-function 'handrail--is-present-p) #'always))
                            (handrail--note-report 'peer "file:///x" nil (make-vector 100000 each)))
                          (length (handrail--report-problems (alist-get 'peer handrail--reports))))
                  :one (problems (vector (list :range (range 1 2 3) :message "Bad." :code 7)))
                  :none (problems [])
                  :nonsense (vconcat (mapcar (lambda (each) (null (problems (vector each))))
                                             '((:message "No range.")
                                               (:range (:start nil :end 5) :message "x")))))))
    """)
    assert seen["utf-8"] == [[1, 2], [1, 2], [4, 5]]
    assert seen["utf-16"] == [[1, 2], [4, 5], [1, 4], [0, 1]]
    assert seen["utf-32"] == [[1, 2], [4, 5]]
    assert seen["units"] == [6, 3]
    assert seen["most"] == 1001  # one more than the server takes for all
    at = {"line": 1, "character": 1}, {"line": 1, "character": 2}
    expected = {"range": {"start": at[0], "end": at[1]}, "message": "Bad.", "severity": 1, "code": "7"}
    assert seen["one"] == [expected]
    assert seen["none"] == []
    assert seen["nonsense"] == [True, True]
