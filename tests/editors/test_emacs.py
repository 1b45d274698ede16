"""
Turns in a real Emacs with eglot, set up exactly as the README says (`editors/handrail.el`).

Emacs runs on a terminal of its own, not as a batch job: without its command loop it has no idle time, and
eglot tells the server of changes only then. The steps in `emacs/*.el` do what a user does and record what
Emacs and the disk hold; the assertions are here. Emacs comes from the system (`scripts/install_editors.py`).
"""

import base64
import json
import re
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest

from editors import four_patches, installed, review_story, waiting
from editors.four_patches import replace
from editors.terminal import on_terminal

pytestmark = [pytest.mark.emacs, pytest.mark.xdist_group("large")]

HERE = Path(__file__).resolve().parent / "emacs"
LOGGED_CHARS = 4_000  # of the messages to and from the server
SNIPPET = Path(__file__).resolve().parents[2] / "editors" / "handrail.el"


class Emacs:
    """A workspace folder, and a way to run steps in an Emacs that has nothing of the user's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        found = shutil.which("emacs")
        if found is None:
            pytest.fail("Emacs is missing: python3 scripts/install_editors.py emacs", pytrace=False)
        self.emacs = found
        self.environment = {
            **installed.environment(folder),
            "HOME": str(folder),
            "TERM": "vt100",
            "LANG": "C.UTF-8",
        }

    def run(self, steps: str, messages: list[dict[str, object]] | None, **values: object) -> dict[str, Any]:
        """Run the file of *steps*, with *values*, while the model answers (None: pastes); the record."""
        record, plan = self.folder / "record.json", self.folder / "run.json"
        script = self.folder / "script.json"
        plan.write_text(
            json.dumps(
                {
                    "steps": str(HERE / f"{steps}.el"),
                    "record": str(record),
                    "model": "paste" if messages is None else four_patches.write_script(script, messages),
                    "clock": str(self.folder / "clock"),
                    "values": values,
                }
            )
        )
        files = [argument for file in (SNIPPET, HERE / "drive.el") for argument in ("-l", str(file))]
        drawn = on_terminal(
            [self.emacs, "-nw", "-q", "--no-splash", *files],
            self.workspace,
            {**self.environment, "HANDRAIL_TEST": str(plan)},
        )
        assert record.exists(), f"Emacs ended before the steps did:\n{drawn}"
        recorded: dict[str, Any] = json.loads(record.read_text())
        print(recorded["emacs"], recorded["shown"], recorded["log"][-LOGGED_CHARS:], sep="\n")
        assert recorded["problem"] is None, recorded["problem"]
        return recorded


def files(snapshot: dict[str, Any], kind: str) -> dict[str, bytes]:
    """The bytes of all files at a stage: on `disk`, or as `buffers` would be written."""
    return {name: base64.b64decode(data) for name, data in snapshot[kind].items()}


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
    assert f"{four_patches.ANSWER}\nhandrail: 4 edits, 1 did not land" in seen["shown"]
    assert files(seen["after"], "buffers") == landed
    assert seen["after"]["modified"] == {"prices.py": True, "notes.txt": True}
    assert disk("after") == {**saved, "card.txt": four_patches.CARDED}

    # One does not: it is shown where it nearly fits, and its quick fix can be taken and undone.
    (failure,) = seen["after"]["diagnostics"]
    line, end = four_patches.FAILED_LINE, len(four_patches.FAILED_TEXT)
    assert failure.pop("text").startswith("handrail [no-match]: This edit did not land: ")
    assert failure == {"file": "prices.py", "range": [line, 0, line, end], "type": "eglot-warning"}
    assert seen["actions"] == four_patches.ACTIONS
    assert files(seen["mended"], "buffers") == {**landed, "prices.py": four_patches.ROUNDED}
    assert "could not be applied" not in seen["shown"]
    assert files(seen["undone"], "buffers") == landed
    assert disk("written") == {**saved, **landed, "card.txt": four_patches.CARDED}

    # The restore brings back every byte, the unsaved text too.
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
    assert "Done.\nhandrail: 3 edits, 0 did not land" in seen["shown"]


# One file for each mode that handrail.el lists, some for modes that it does not, and one of none.
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
    listed = set(
        re.findall(r"[\w+-]+-mode", SNIPPET.read_text().partition("'((")[2].partition("handrail-server")[0])
    )
    assert listed <= set(seen["modes"].values()) | {"html-mode"}  # Emacs opens HTML in a mode derived from it


def test_a_question_takes_nothing_but_a_word_typed_in_full(emacs: Emacs) -> None:
    emacs.workspace.mkdir()
    (emacs.workspace / "poem.txt").write_bytes(b"one\n")
    line, shown = waiting.command()
    seen = emacs.run(
        "question",
        [{"calls": [{"name": "terminal", "arguments": {"command": line}}]}, {"text": "It ran."}],
    )
    assert "handrail waits for you (1)" in seen["waits"]
    assert seen["unanswered"]
    assert textwrap.indent(shown, "    ") in seen["shown-text"]
    assert seen["gone"]
    assert seen["stopped"]


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
    assert "handrail waits for you (1)" in seen["waits"]
    assert "in 50 minutes it ends as a no" in seen["question"]
    assert "is over" in seen["late"]
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
    (rule,) = seen["rules"]
    assert rule["text"] in seen["offered"][0]
    assert not seen["left"]
