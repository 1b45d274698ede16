"""How what is typed is read: commands, files, answers; and what is kept and drawn."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from prompt_toolkit.utils import get_cwidth

from handrail.agent.chat import slash
from handrail.agent.chat.mentions import mentions
from handrail.cli.folder import readable_files
from handrail.headless.chat.history import LIMIT_BYTES, MessageHistory
from handrail.headless.chat.mentions import mention_of, unfinished_mention
from handrail.headless.chat.questions import QuestionQueue
from handrail.headless.chat.screen import last_rows
from handrail.headless.chat.slash import NAMES, Command, Unknown, help_lines, own_commands, own_file, parse
from handrail.headless.question import Question, how_it_ended
from handrail.testing import lay_out


def test_the_server_knows_the_commands_of_a_chat() -> None:
    """It says of a message that begins with the name of one why it was sent."""
    assert slash.OF_TERMINAL == NAMES


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("/undo", Command("undo", "")),
        (" /MODE  plan \n", Command("mode", "plan")),
        ("/model ollama:qwen3", Command("model", "ollama:qwen3")),
        ("/usr/bin/env is gone", None),
        ("// a comment", None),
        ("/* another */", None),
        ("/undo\nand more", None),
        ("what does /undo do?", None),
        ("", None),
    ],
)
def test_a_line_is_a_command_or_a_message(text: str, means: object) -> None:
    assert parse(text) == means


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/chekpoints", "Did you mean /checkpoints?"),
        ("/c", "Did you mean /checkpoints or /compact or /cost?"),
        ("/fix_2", "The command /fix_2 does not exist."),
        ("/git:fix 3", "The command /git:fix does not exist."),
        ("/", "Commands are /undo,"),
        ("/xyzzy now", "Commands are /undo,"),
        ("/undo twice", "/undo takes no arguments. This text was not sent. To send it to the model, begin"),
        ("/etc is full", "This text was not sent. To send it to the model, begin with something else."),
    ],
)
def test_a_wrong_command_is_told_with_what_may_be_meant(text: str, why: str) -> None:
    found = parse(text)
    assert isinstance(found, Unknown)
    assert why in found.why


def test_commands_of_the_projects_are_known_by_their_files() -> None:
    paths = [
        ".agents/commands/fix.md",
        ".agents/commands/git/fix_2.md",
        "part/.agents/commands/new-one.md",
        ".agents/commands/undo.md",
        ".agents/commands/no name.md",
        ".agents/commands/fix.txt",
        "a/b/.agents/commands/too-deep.md",
    ]
    assert own_commands(paths) == ["fix", "git:fix_2", "new-one"]
    assert own_file("/git:fix_2 12\nnow") == ".agents/commands/git/fix_2.md"


def test_help_names_every_command_and_fits_letters_of_any_terminal() -> None:
    text = "\n".join(help_lines())
    assert all(f"  /{name}" in text for name in NAMES)
    assert "  /review [(keep|undo) (all|ID ID ...)]\n" in text, "`/review keep` alone is refused"
    assert text.isascii()


@pytest.mark.parametrize(
    "path", ["a.txt", "b c.txt", "ünï/x.py", 'say "hi".txt', r"a\b c", "node_modules/@types/a.ts", "why?"]
)
def test_what_is_offered_names_the_file(path: str) -> None:
    """As the server reads it."""
    assert [each.full for each in mentions(f"see {mention_of(path)} now")] == [path]


@pytest.mark.parametrize(
    ("before", "typed"),
    [
        ("see @sr", ("sr", False)),
        ("@", ("", False)),
        ('see @"b c', ("b c", True)),
        ("see @a.txt and", None),
        ("me@home", None),
        ("see @a.txt and @sr", ("sr", False)),
        ('see @"b c" and @"d e', ("d e", True)),
        ('@"b c" and', None),
    ],
)
def test_a_name_that_is_being_typed(before: str, typed: object) -> None:
    assert unfinished_mention(before) == typed


def test_files_that_can_be_named_are_not_ignored_and_hold_no_secrets(tmp_path: Path) -> None:
    lay_out(
        tmp_path,
        {
            ".gitignore": b"build\n",
            ".git/config": b"",
            "build/out.txt": b"",
            ".env": b"KEY=1",
            "deploy/id_rsa": b"",
            "src/a.py": b"",
            "AGENTS.md": b"",
            "b\x1b[2J.txt": b"",
        },
    )
    (tmp_path / "link.txt").symlink_to(tmp_path / ".env")
    assert sorted(readable_files(tmp_path)) == [".gitignore", "AGENTS.md", "src/a.py"]


LEAVE = ("deny", "allow", "session", "always")


@pytest.mark.parametrize(
    ("choices", "takes_text", "clear", "unclear"),
    [
        (LEAVE, False, ["", " ", "y", "Yes", "n", "NO", "s", "a"], ["yy", "sure", "1", "y\ny", "ja"]),
        (("deny", "allow"), False, ["", "y", "n"], ["s", "a"]),
        (("deny", "Tabs", "Spaces"), True, ["", "1", "both"], []),
        (("deny", "Tabs", "Spaces"), False, ["", "2"], ["3", "both"]),
    ],
)
def test_only_what_can_be_typed_answers_a_question(
    choices: tuple[str, ...], takes_text: bool, clear: list[str], unclear: list[str]
) -> None:
    kind = "command" if "allow" in choices else "question"
    question = Question.of({"kind": kind, "choices": list(choices), "takesText": takes_text})
    assert [typed for typed in clear + unclear if question.is_clear(typed)] == clear
    assert {question.meant_choice(typed) for typed in ("", "n")} <= {"deny", "n"}


def test_history_is_for_its_owner_and_for_several_chats(tmp_path: Path) -> None:
    file = tmp_path / "state" / "chat-history"
    file.parent.mkdir()
    file.write_text('"old"\nnot JSON\n{"no": "text"}\n')
    file.chmod(0o644)
    one, other = MessageHistory(file), MessageHistory(file)
    one.store_string("first\nof two lines")
    other.store_string("second \ud800")
    one.store_string("/undo")
    kept = list(MessageHistory(file).load_history_strings())
    assert kept == [
        "second \ud800",
        "first\nof two lines",
        "old",
    ]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_long_history_loses_its_older_half(tmp_path: Path) -> None:
    file = tmp_path / "chat-history"
    assert not list(MessageHistory(tmp_path / "handrail" / "w" / "chat-history").load_history_strings())
    for made in (tmp_path / "handrail", tmp_path / "handrail" / "w"):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    file.write_text("".join(json.dumps(f"{number} {'x' * 1000}") + "\n" for number in range(1100)))
    kept = list(MessageHistory(file).load_history_strings())
    assert file.stat().st_size < LIMIT_BYTES
    assert kept[0].startswith("1099 ")
    assert 400 < len(kept) < 600
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "no folder"])
def test_a_history_that_cannot_be_kept_is_passed_over(tmp_path: Path, kind: str) -> None:
    file, other = tmp_path / "chat-history", tmp_path / "other"
    other.write_text("theirs\n")
    if kind == "link":
        file.symlink_to(other)
    elif kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file = other / "chat-history"
    history = MessageHistory(file)
    assert list(history.load_history_strings()) == []
    history.store_string("mine")
    assert other.read_text() == "theirs\n"


@pytest.mark.parametrize("columns", [1, 7, 20])
def test_the_end_of_a_long_line_fits(columns: int) -> None:
    text = "begin " + "wörter und 漢字\t" * 50 + "end"
    rows = last_rows(text, columns, 3).split("\n")
    assert len(rows) <= 3
    assert all(get_cwidth(row) <= max(columns, 2) for row in rows)
    assert rows[-1][-1] == "d"
    assert last_rows("", columns, 3) == ""


def test_other_commands_do_without_prompt_toolkit(tmp_path: Path) -> None:
    program = (
        "import sys, handrail.cli.commands as commands, handrail.headless.commands.turn, handrail.apply;"
        "commands.main(['config', 'path']); assert 'prompt_toolkit' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True)


def test_the_meanings_of_letters_are_told_apart() -> None:
    question = Question.of({"kind": "command", "subject": "x", "choices": list(LEAVE)})
    assert question.more == "s: yes, in this conversation; a: always, in this workspace"


async def test_questions_are_asked_one_after_the_other() -> None:
    shown: list[str] = []
    waiting = QuestionQueue(lambda: shown.append(waiting.first.subject if waiting.first is not None else ""))

    def asked(subject: str) -> asyncio.Task[str]:
        question = Question.of({"kind": "command", "subject": subject, "choices": list(LEAVE)})
        return asyncio.create_task(waiting.ask(question))

    first, withdrawn, last = asked("first"), asked("withdrawn"), asked("last")
    await asyncio.sleep(0)
    withdrawn.cancel()
    assert not waiting.answer("what?")
    assert waiting.answer("y")
    assert waiting.answer("n"), "too late, and nobody else's"
    assert await first == "allow"
    await asyncio.wait([withdrawn])
    last.cancel()
    await asyncio.wait([last])
    assert shown == ["first", "last", ""]
    assert waiting.first is None


@pytest.mark.parametrize(
    ("call", "end", "choice", "said"),
    [
        ("c-1", "answered", "allow", "allowed"),
        ("c-1", "answered", "deny", "denied"),
        ("c-1", "timedOut", "deny", "not answered, so not allowed"),
        ("", "answered", "allow", "answered yes"),
        ("", "answered", "deny", "answered no"),
        ("", "answered", "session", "allowed in this conversation"),
        ("", "timedOut", "deny", "not answered, so the answer is no"),
    ],
)
def test_only_a_call_is_said_to_be_allowed(call: str, end: str, choice: str, said: str) -> None:
    """That the model repeats itself is not allowed by a yes: the turn may continue."""
    assert how_it_ended({"call": call, "end": end, "choice": choice, "asksPermission": True}) == said
