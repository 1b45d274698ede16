"""
Turns in a real Emacs with eglot, set up exactly as the README says (`editors/handrail.el`).

The steps in `emacs/*.el` do what a user does; the assertions are here. Emacs comes from the system
(`scripts/install_editors.py`).
"""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from adapters.model_server import Call, Say
from editors import four_patches, review_story, waiting
from editors.emacs_session import HERE, SNIPPET, Emacs, documented, files
from editors.four_patches import replace
from editors.slow_model import slow_model
from git_user import git

pytestmark = [pytest.mark.emacs, pytest.mark.xdist_group("large")]

ALONE = ";; handrail through eglot alone"  # how the configuration without a client of ours begins
THROUGH_LSP_MODE = ";; handrail through lsp-mode"


@pytest.fixture
def emacs(tmp_path: Path) -> Emacs:
    return Emacs(tmp_path)


def test_a_turn_with_four_patches(emacs: Emacs) -> None:
    four_patches.write_workspace(emacs.workspace)
    values = {name: getattr(four_patches, name.upper()) for name in ("prompt", "typed", "action")}
    seen = emacs.run("four-patches", four_patches.MESSAGES, **values)

    saved, start = four_patches.DISK, four_patches.UNSAVED

    def disk(stage: str) -> dict[str, bytes]:
        return {name: data for name, data in files(seen[stage], "disk").items() if name in saved}

    assert files(seen["before"], "buffers") == {"prices.py": four_patches.PRICES, "notes.txt": start}
    assert disk("before") == saved

    # Three land, the closed one on disk; the open ones stay unsaved.
    landed = {"prices.py": four_patches.RAISED, "notes.txt": four_patches.NOTED}
    assert "handrail: finished; 3 edits landed, 1 did not land" in seen["shown"]
    assert files(seen["after"], "buffers") == landed
    assert seen["after"]["modified"] == {"prices.py": True, "notes.txt": True}
    assert disk("after") == {**saved, "card.txt": four_patches.CARDED}

    # One does not: it is shown where it nearly fits, and its quick fix can be taken and undone.
    (failure,) = seen["after"]["diagnostics"]
    line, end = four_patches.FAILED_LINE, len(four_patches.FAILED_TEXT)
    assert failure.pop("text").startswith("handrail [no-match]: This edit did not land: ")
    assert failure == {"file": "prices.py", "range": [line, 0, line, end], "type": ":warning"}
    assert seen["actions"] == four_patches.ACTIONS
    assert files(seen["mended"], "buffers") == {**landed, "prices.py": four_patches.ROUNDED}
    assert "could not be applied" not in seen["shown"]
    assert files(seen["undone"], "buffers") == landed
    assert disk("written") == {**saved, **landed, "card.txt": four_patches.CARDED}

    # The restore shows what it takes back, and brings back every byte, the unsaved text too.
    assert "A restore undoes these changes" in seen["preview"]
    assert "+TAX = 0.21" in seen["preview"]
    assert any(label.endswith(four_patches.PROMPT) for label in seen["checkpoints"])
    before = {"prices.py": four_patches.PRICES, "notes.txt": start}
    assert files(seen["restored"], "buffers") == before
    assert disk("restored") == {**saved, **landed}
    assert disk("rewritten") == {**saved, **before}


def test_changes_are_typed_in_undone_commented_on_and_committed(emacs: Emacs) -> None:
    review_story.write_workspace(emacs.workspace)
    seen = emacs.run("review", review_story.MESSAGES, **review_story.values())
    assert files(seen["landed"], "buffers") == {
        "poem.txt": review_story.LOUD_POEM,
        "price.txt": review_story.LOUD_PRICE,
    }
    review_story.check(seen, files(seen["written"], "disk"))


def test_typing_on_while_edits_arrive(emacs: Emacs) -> None:
    emacs.workspace.mkdir()
    (emacs.workspace / "poem.txt").write_bytes(b"one\ntwo\nthree\n")
    words = ("one", "two", "three")
    steps = [{"calls": [replace("poem.txt", f"{word}\n", f"{word}\n{word}!\n")]} for word in words]
    seen = emacs.run("typing", [*steps, {"text": "Done."}])

    poem = "".join(f"{word}\n{word}!\n" for word in words)
    typed = "".join(f"word{number} " for number in range(1, len(words) + 1))
    assert seen["edits"] > len(words)  # the first at least was overtaken, and sent again
    assert files(seen["after"], "buffers") == {"poem.txt": f"zero\n{poem}{typed}end".encode()}
    assert seen["after"]["diagnostics"] == []
    assert "handrail: finished; 3 edits landed" in seen["shown"]


def test_an_edit_asks_nothing_about_files_that_were_changed_elsewhere(emacs: Emacs) -> None:
    emacs.workspace.mkdir()
    for name in ("poem.txt", "song.txt"):
        (emacs.workspace / name).write_bytes(b"one\ntwo\n")
    steps = [{"calls": [replace(name, "two\n", "TWO\n")]} for name in ("poem.txt", "song.txt")]
    seen = emacs.run("elsewhere", [*steps, {"text": "Done."}], owner=f"someone@elsewhere.{os.getpid()}:1")
    assert files(seen["after"], "buffers") == {"poem.txt": b"zero\none\nTWO\n", "song.txt": b"one\ntwo\n"}
    assert files(seen["after"], "disk")["poem.txt"] == b"zero\none\ntwo\n"
    assert "handrail: finished; 1 edit landed, 1 did not land" in seen["shown"]
    (failure,) = seen["after"]["diagnostics"]
    assert "is being edited in another Emacs" in failure["text"]


def test_an_undo_and_a_restore_say_what_they_left_and_why(emacs: Emacs) -> None:
    emacs.workspace.mkdir()
    (emacs.workspace / "poem.txt").write_bytes(POEM)
    made = {"name": "write_file", "arguments": {"path": "made.txt", "content": "made\n"}}
    steps = [{"calls": [replace("poem.txt", "three\n", "THREE\n"), made]}, {"text": "Done."}]
    seen = emacs.run("conflict", steps)
    assert (
        "handrail: 0 changes undone\nA change in poem.txt was not undone: You edited lines that the agent "
        "wrote, so handrail cannot separate your text from the agent's. M-x handrail-actions offers “Undo "
        "all of it, including what you typed” there."
    ) in seen["shown"]
    assert "handrail: 1 document deleted\npoem.txt was not restored: " in seen["shown"]
    assert files(seen["after"], "disk") == {"poem.txt": POEM}


@pytest.mark.parametrize("client", ["handrail", "eglot", "lsp-mode"])
def test_a_document_has_what_a_command_wrote_before_it_is_edited(emacs: Emacs, client: str) -> None:
    emacs.workspace.mkdir()
    git(emacs.workspace, "init", "-q")
    (emacs.workspace / "poem.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    steps = [
        {"calls": [{"name": "terminal", "arguments": {"command": "sed -i s/two/TWO/ poem.txt"}}]},
        {"calls": [replace("poem.txt", "TWO\nthree\n", "TWO\nTHREE\n")]},
        {"text": "Done."},
    ]
    setup = SNIPPET
    if client != "handrail":
        setup = documented(emacs.folder, ALONE if client == "eglot" else THROUGH_LSP_MODE)
    if client == "lsp-mode":
        emacs.use(client)
    settings = {
        "model": four_patches.write_script(emacs.folder / "script.json", steps),
        "approvals": [{"tool": "terminal", "match": "sed *", "verdict": "allow"}],
    }
    seen = emacs.start("command", setup, settings, {})
    assert files(seen["after"], "buffers") == {"poem.txt": b"one\r\nTWO\r\nTHREE\r\n"}
    assert files(seen["after"], "disk") == {"poem.txt": b"one\r\nTWO\r\nthree\r\n"}
    assert files(seen["written"], "disk") == {"poem.txt": b"one\r\nTWO\r\nTHREE\r\n"}
    if client == "handrail":
        assert seen["place"] == 3
        assert seen["undone"] == "one\ntwo\nthree\n"


# Files of many modes, and of none.
FILES = ["a.py", "a.c", "a.cc", "a.java", "a.js", "a.css", "a.html", "a.sh", "a.rb", "a.el", "a.la", "a.txt"]
FILES += ["a.rst", "a.xml", "a.pl", "a.tex", "Makefile", "TODO", "a.unknown"]


def test_unsaved_text_reaches_the_server_in_every_mode(emacs: Emacs) -> None:
    emacs.workspace.mkdir()
    for name in FILES:
        (emacs.workspace / name).write_bytes(b"one\ntwo\nthree\nfour\n")
    block = "{name}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
    replies = [
        "".join(block.format(name=name, old=word, new=word.upper()) for name in FILES)
        for word in ("two", "three", "four")
    ]
    seen = emacs.run("modes", None, files=FILES, replies=replies)

    def buffers(stage: str) -> dict[str, bytes]:
        return files(seen[stage], "buffers")

    assert buffers("first") == dict.fromkeys(FILES, b"zz one\nTWO\nthree\nfour\n")
    assert buffers("second") == dict.fromkeys(FILES, b"yy zz one\nTWO\nTHREE\nfour\n")
    assert buffers("third") == dict.fromkeys(FILES, b"yy zz one\nTWO\nTHREE\nFOUR\n")


def test_what_is_typed_in_indirect_buffers_is_in_the_document(emacs: Emacs) -> None:
    emacs.workspace.mkdir()
    (emacs.workspace / "poem.txt").write_bytes(POEM)
    edits = (("two\n", "TWO\n"), ("four\n", "FOUR\n"))
    turns = [[{"calls": [replace("poem.txt", *each)]}, {"text": "Done."}] for each in edits]
    seen = emacs.run("indirect", [step for turn in turns for step in turn])
    assert seen["served"]
    assert files(seen["after"], "buffers") == {"poem.txt": b"\nzz one\nTWO\nthree\nFOUR\nfive\nsix"}


def test_a_question_takes_nothing_but_a_word_typed_in_full(emacs: Emacs) -> None:
    emacs.workspace.mkdir()
    (emacs.workspace / "poem.txt").write_bytes(b"one\n")
    line, shown = waiting.command()
    seen = emacs.run(
        "question",
        [{"calls": [{"name": "terminal", "arguments": {"command": line}}]}, {"text": "It ran."}] * 2,
    )
    assert "handrail is waiting for you (1)" in seen["waits"]
    assert seen["unanswered"]
    assert textwrap.indent(shown, "    ") in seen["shown-text"]
    assert seen["gone"]
    assert seen["stopped"]


def test_a_question_of_the_model_takes_other_words_too(emacs: Emacs) -> None:
    emacs.workspace.mkdir()
    (emacs.workspace / "poem.txt").write_bytes(b"one\n")
    seen = emacs.run("own-words", [*map(waiting.choosing, range(1, 5)), {"text": "Done."}])
    assert "\nno answer: the turn continues without an answer\n" in seen["question"]
    assert waiting.chosen(emacs.folder) == [
        "The user answered in their own words: Neither of them",
        "The user chose: Spaces",
        "The user chose: Tabs",
        "The user did not answer",
    ]


def touching(*names: str) -> list[dict[str, object]]:
    """What a model answers that runs a command for each name, all at once."""
    calls = [{"name": "terminal", "arguments": {"command": f"touch {name}"}} for name in names]
    return [{"calls": calls}, {"text": "It ran."}]


def asking(emacs: Emacs, steps: str, *names: str) -> dict[str, Any]:
    """Run steps in a workspace in which the model's turns ask about commands that leave files."""
    emacs.workspace.mkdir()
    (emacs.workspace / "poem.txt").write_bytes(b"one\n")
    return emacs.run(steps, touching(*names))


def test_a_question_left_alone_waits_and_ends_as_a_no(emacs: Emacs) -> None:
    seen = asking(emacs, "left-alone", "ran.txt")
    (left,) = seen["left"]
    assert left["secondsLeft"] == 3000
    assert "handrail is waiting for you (1)" in seen["waits"]
    assert "without an answer within 50 minutes, the answer is no" in seen["question"]
    assert "timed out" in seen["late"]
    assert not seen["open"]
    assert not seen["buffer"]
    assert seen["poem"] == "one\n"  # what was typed as an answer went nowhere else
    assert not (emacs.workspace / "ran.txt").exists()


def test_a_killed_server_takes_its_question_along(emacs: Emacs) -> None:
    seen = asking(emacs, "server-killed", "ran.txt")
    assert not seen["buffer"]
    assert not seen["open"]
    assert seen["poem"] == "one\n"
    assert (seen["ran"], seen["ran-later"]) == (False, False)
    assert (emacs.workspace / "ran.txt").exists()  # of the question that the next server asked


def test_each_of_twenty_questions_is_shown_and_answered(emacs: Emacs) -> None:
    names = [f"ran-{number:02}" for number in range(1, 21)]
    seen = asking(emacs, "twenty", *names)
    assert seen["complete"] == [True] * 20
    assert sorted(path.name for path in emacs.workspace.glob("ran-*")) == names[1::2]


def test_two_servers_do_not_answer_each_others_questions(emacs: Emacs) -> None:
    seen = asking(emacs, "two-servers", "ran.txt")
    assert seen["asked"] == [1, 1]
    assert seen["refused"]
    assert seen["left"] == [0, 1]
    assert not (emacs.workspace / "ran.txt").exists()


def test_a_rule_is_removed(emacs: Emacs) -> None:
    seen = asking(emacs, "rules", "ran.txt")
    assert "\nyes: allow it once; conversation: allow it in this conversation; always: " in seen["question"]
    (rule,) = seen["rules"]
    assert rule["text"] in seen["offered"][0]
    assert not seen["left"]


def replaced(path: str, old: str, new: str) -> Call:
    """A call of the tool `patch`, as a model makes it."""
    return asked("patch", path=path, old_string=old, new_string=new)


POEM = b"one\ntwo\nthree\nfour\nfive\n"
LOUD = b"one\nTWO\nthree\nFOUR\nfive\n"
PRICES = b"def total(items):\n    return sum(items) * (1 + TAX)\n"
ROUNDED = PRICES.replace(b"sum(items) * (1 + TAX)", b"round(sum(items) * (1 + TAX), 2)")


def asked(name: str, **arguments: object) -> Call:
    """A call of a tool, as a model makes it."""
    return Call(name=name, arguments=json.dumps(arguments), id=f"call-{name}-{len(str(arguments))}")


both_modes = pytest.mark.parametrize("mode", ["text-mode", "markdown-mode"])


@both_modes
def test_a_conversation_through_eglot_alone(emacs: Emacs, mode: str) -> None:
    emacs.use(mode)
    emacs.workspace.mkdir()
    (emacs.workspace / "poem.txt").write_bytes(POEM)
    (emacs.workspace / "prices.py").write_bytes(PRICES)
    git(emacs.workspace, "init", "-q")  # else the folder of the conversation is a project of its own
    calls = (
        replaced("poem.txt", "two\n", "TWO\n"),
        replaced("poem.txt", "four\n", "FOUR\n"),
        replaced(
            "prices.py", "    return sum(articles) + TAX\n", "    return round(sum(items) * (1 + TAX), 2)\n"
        ),
        asked("terminal", command="touch ran.txt"),
    )
    answers = [
        Say(
            text="I look at the poem first, and then I make it louder.",
            calls=calls,
            finish="tools",
            hangs_after=4,
        ),
        Say(text="It is loud now."),
        Say(text="Nothing more."),
    ]
    values: dict[str, object] = {
        "prompt": "Make it loud.",
        "begins": "I look at",
        "draft": "And what",
        "answer": "It is loud now.",
        "fix": "Apply at line 2",
        "more": " else?",
        "last": "Nothing more.",
    }
    with slow_model(emacs.gate, answers) as settings:
        seen = emacs.start("chat", documented(emacs.folder, ALONE), settings, values)
    assert seen["mode"] == mode
    assert seen["fresh"].startswith("# New conversation\n")
    assert seen["half"].endswith("## handrail\n\nI look at the poem fi\n\n## You\n\n")
    assert (seen["place"], seen["place-later"]) == (0, 0)  # the user is still where the draft ends
    assert seen["asked"].startswith("[eglot] Server reports (type=2): handrail: May this command run?")
    assert not seen["ran-before"]
    assert seen["offered"][:2] == ["No", "Allow once"]
    rows = [row for row in seen["answered"].splitlines() if row]
    assert rows[-4:] == [
        "> A question about `touch ran.txt` was answered: Allow once.",
        *("It is loud now.", "## You", "And what"),
    ]

    def texts(stage: str) -> tuple[bytes, bytes]:
        found = files(seen[stage], "buffers")
        return found["poem.txt"], found["prices.py"]

    assert texts("after") == (LOUD, PRICES)
    assert texts("mended") == (LOUD, ROUNDED)
    assert texts("reviewed") == (LOUD.replace(b"TWO", b"two"), ROUNDED)
    assert texts("restored") == (POEM, ROUNDED)  # the quick fix was the user's own deed
    assert seen["survived"]
    last = [row for row in seen["last"].splitlines() if row]
    assert last[-4:] == ["And what else?", "## handrail", "Nothing more.", "## You"]
    assert last.count("It is loud now.") == last.count("And what else?") == 1
    assert [each["turns"] for each in seen["sessions"]] == [2]


SNAKE = "\U0001f40d"
CODE = f"def total(items):  # {SNAKE} BAD\n    return sum(items) * (1 + TAX)\n"


@both_modes
def test_a_conversation_by_the_commands_of_ours_beside_another_server(emacs: Emacs, mode: str) -> None:
    emacs.use(mode)
    emacs.workspace.mkdir()
    (emacs.workspace / "poem.txt").write_bytes(POEM)
    (emacs.workspace / "code.py").write_text(CODE)
    calls = (
        replaced("poem.txt", "two\n", "TWO\n"),
        replaced("poem.txt", "four\n", "FOUR\n"),
        replaced("code.py", f"# {SNAKE} BAD", f"# {SNAKE}{SNAKE} BAD"),
        replaced(
            "code.py", "    return sum(articles) + TAX\n", "    return round(sum(items) * (1 + TAX), 2)\n"
        ),
        asked("terminal", command="touch ran.txt"),
    )
    answers = [
        Say(
            text="I look at the poem first, and then I make it louder.",
            calls=calls,
            finish="tools",
            hangs_after=4,
        ),
        Say(text="It is loud now."),
        Say(calls=(replaced("ballad.txt", "three\n", "THREE\n"),), finish="tools"),
        Say(text="That is louder."),
        Say(text="Nothing more."),
    ]
    values: dict[str, object] = {
        "other": [sys.executable, str(HERE.parent / "other_server.py")],
        "prompt": "Make it loud.",
        "begins": "I look at",
        "draft": "And what",
        "answer": "It is loud now.",
        "fix": "Apply at line 2",
        "more": "Louder.",
        "second": "That is louder.",
        "last-prompt": "Is there more?",
        "last": "Nothing more.",
    }
    with slow_model(emacs.gate, answers) as settings:
        seen = emacs.start("own", SNIPPET, settings, values)
    assert (seen["mode"], seen["keys"], seen["at-end"]) == (mode, "handrail-send", True)
    assert (seen["idle"], seen["thinking"]) == (" handrail: idle", " handrail: thinking")
    assert seen["pending"] == " handrail: 4 to review"
    assert seen["place"] == 0  # the user is still where the draft ends
    after = files(seen["after"], "buffers")
    assert (after["poem.txt"], after["code.py"]) == (LOUD, CODE.replace(SNAKE, SNAKE * 2).encode())
    assert seen["undone"].encode() == after["code.py"]
    listed = [row.split(" ")[0] for row in seen["review"].splitlines()]
    assert listed == ["code.py:1:", "poem.txt:2:", "poem.txt:4:", "ran.txt:1:"]
    assert files(seen["reviewed"], "buffers")["poem.txt"] == LOUD.replace(b"TWO", b"two")
    assert files(seen["renamed"], "buffers")["ballad.txt"] == b"zzone\ntwo\nTHREE\nFOUR\nfive\n"
    assert "About this in `ballad.txt`, line 3:\n\n```\nthree\n```\n\nLouder.\n" in seen["asked"]
    assert seen["eglot"]
    last = [row for row in seen["last"].splitlines() if row]
    assert last[-4:] == ["Is there more?", "## handrail", "Nothing more.", "## You"]
    assert [each["turns"] for each in seen["sessions"]] == [3]


def test_the_file_compiles_without_a_warning_and_is_documented(tmp_path: Path) -> None:
    copy = tmp_path / "handrail.el"
    copy.write_text(SNIPPET.read_text())
    check = "(setq checkdoc-verb-check-experimental-flag nil) (checkdoc-file (pop command-line-args-left))"
    for arguments in (
        ["--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile"],
        ["--eval", f"(progn (require 'checkdoc) {check})"],
    ):
        found = subprocess.run(
            ["emacs", "-Q", "--batch", *arguments, str(copy)], capture_output=True, text=True, check=False
        )
        assert (found.returncode, found.stderr) == (0, "")


def test_settings_are_told_as_the_server_takes_them(tmp_path: Path) -> None:
    rules = '(("tool" . "terminal") ("match" . "npm *") ("verdict" . "allow"))'
    settings = (
        f'(("model" . "ollama:qwen3") ("sandbox" . "off") ("approvals" . ({rules})) ("review.marks" . t))'
    )
    told = f"(progn (setq handrail-settings '{settings}) (princ (json-serialize (handrail--settings nil))))"
    found = subprocess.run(
        ["emacs", "-Q", "--batch", "-l", str(SNIPPET), "--eval", told], capture_output=True, check=True
    )
    assert json.loads(found.stdout) == {
        "model": "ollama:qwen3",
        "sandbox": "off",
        "approvals": [{"tool": "terminal", "match": "npm *", "verdict": "allow"}],
        "review.marks": True,
        "edits.closedDocuments": "disk",  # as long as the user does not want it otherwise
    }
