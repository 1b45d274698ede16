"""A conversation in a real Emacs through lsp-mode, set up exactly as docs/editors.md says."""

import sys
from pathlib import Path

import pytest

from adapters.model_server import Say
from editors import review_story
from editors.emacs_session import HERE, Emacs, documented, files
from editors.four_patches import write_script
from editors.slow_model import slow_model
from editors.test_emacs import THROUGH_LSP_MODE, asked, replaced
from git_user import git

pytestmark = [pytest.mark.emacs, pytest.mark.xdist_group("large")]

SNAKE = "\U0001f40d"
POEM = f"one\n{SNAKE} two {SNAKE}\nthree\nfour\nfive\n".encode()
TYPED = ", typed"
UNSAVED = POEM.replace(b"two", f"two{TYPED}".encode())
QUIET = f"{SNAKE} two{TYPED} {SNAKE}".encode()
TWO = f"{SNAKE}{SNAKE} TWO{TYPED} {SNAKE}\n{SNAKE}".encode()
LOUD = UNSAVED.replace(QUIET, TWO).replace(b"four", b"FOUR")
PRICES = f"def total(items):  # {SNAKE} BAD\r\n    return sum(items) * (1 + TAX)\r\n".encode()
ROUNDED = PRICES.replace(b"sum(items) * (1 + TAX)", b"round(sum(items) * (1 + TAX), 2)")


def test_a_conversation_through_lsp_mode(tmp_path: Path) -> None:
    emacs = Emacs(tmp_path)
    emacs.use("lsp-mode")
    emacs.workspace.mkdir()
    (emacs.workspace / "poem.txt").write_bytes(POEM)
    (emacs.workspace / "prices.py").write_bytes(PRICES)
    git(emacs.workspace, "init", "-q")
    calls = (
        replaced("poem.txt", QUIET.decode(), TWO.decode()),
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
        "other": [sys.executable, str(HERE.parent / "other_server.py")],
        "typed": TYPED,
        "prompt": "Make it loud.",
        "begins": "I look at",
        "draft": "And what",
        "answer": "It is loud now.",
        "fix": "Apply at line 2",
        "more": " else?",
        "last": "Nothing more.",
    }
    config = documented(emacs.folder, THROUGH_LSP_MODE)
    with slow_model(emacs.gate, answers) as settings:
        seen = emacs.start("lsp-mode", config, settings, values)
    assert seen["mode"] == "markdown-mode"
    assert seen["half"].endswith("## handrail\n\nI look at the poem fi\n\n## You\n\n")
    assert (seen["place"], seen["place-later"]) == (0, 0)  # the user is still where the draft ends
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
    assert files(seen["after"], "disk")["poem.txt"] == POEM
    assert texts("mended") == (LOUD, ROUNDED)
    assert texts("reviewed") == (LOUD.replace(TWO, QUIET), ROUNDED)
    assert texts("restored") == (UNSAVED, ROUNDED)
    assert seen["survived"]
    last = [row for row in seen["last"].splitlines() if row]
    assert last[-4:] == ["And what else?", "## handrail", "Nothing more.", "## You"]
    assert last.count("It is loud now.") == last.count("And what else?") == 1


def test_a_selection_typing_and_comments_through_lsp_mode(tmp_path: Path) -> None:
    emacs = Emacs(tmp_path)
    emacs.use("lsp-mode")
    review_story.write_workspace(emacs.workspace)
    script = write_script(emacs.folder / "script.json", review_story.MESSAGES)
    values = {**review_story.values(), "word": "word ", "all": "All are loud."}
    config = documented(emacs.folder, THROUGH_LSP_MODE)
    seen = emacs.start("lsp-review", config, {"model": script, "terminal.save": "always"}, values)
    assert "## You\n\nAbout this in `poem.txt`, line 4:\n\n```\nthree\n```\n" in seen["asked"]
    landed = files(seen["landed"], "buffers")
    assert seen["edits"] > 0
    assert landed["poem.txt"] == review_story.LOUD_POEM + b"word " * seen["edits"]
    assert landed["price.txt"] == review_story.LOUD_PRICE
    of_price = ["## `price.txt`", "### `price.txt:2` · +1 −1"]  # which is undone in the story
    assert review_story.headings(seen["review"]) == [*review_story.HEADINGS, *of_price]
    assert f"> {review_story.COMMENT}\n" in seen["answered"]
    assert f"This was answered in the turn `{review_story.SENT}" in seen["answered"]
    assert files(seen["written"], "disk")["note.txt"] == review_story.LOUDER_NOTE
