"""An AGENTS.md below the workspace folder reaches the model when it works below it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bench import Bench
from handrail.adapters.models.paste import Paste
from handrail.core.conversation import as_json
from handrail.core.conversation.journal import Said
from handrail.core.conversation.message import (
    Delta,
    Excerpt,
    Message,
    Response,
    StopReason,
    ToolCall,
    ToolOffer,
    UserMessage,
)
from handrail.core.conversation.prompt import LIMIT_INSTRUCTIONS, user_text
from handrail.core.ledger.report import Notice, State
from handrail.core.policy.rules import Decision, Rule
from handrail.testing import answer, call, lay_out

SECRET = "the secret of somebody"
FILES = {
    "AGENTS.md": b"top rules",
    "src/AGENTS.md": b"rules of src",
    "src/api/AGENTS.md": b"rules of api",
    "src/api/a.py": b"one\n",
    "src/b.py": b"one\n",
    "docs/AGENTS.md": b"rules of docs",
    "docs/c.md": b"one\n",
}


def read(path: str) -> dict[str, object]:
    return answer("", call("read_file", path=path))


def told(bench: Bench, session: str = "s-1") -> list[tuple[str, str]]:
    """The instructions that the model was given by messages: the path, and the text."""
    messages = bench.history(session)
    return [
        (each.instructions, "".join(excerpt.text for excerpt in each.context))
        for each in messages
        if isinstance(each, UserMessage) and each.instructions
    ]


def notices(bench: Bench) -> list[str]:
    return [event.text for event in bench.events if isinstance(event, Notice)]


async def test_those_above_a_document_are_told_once_the_nearest_last(bench: Bench) -> None:
    lay_out(bench.root, FILES)
    bench.says(read("src/api/a.py"), read("src/b.py"), read("src/api/a.py"), answer("Done."), answer("Done."))
    await bench.turn()
    expected = [("src/AGENTS.md", "rules of src"), ("src/api/AGENTS.md", "rules of api")]
    assert told(bench) == expected
    at = [isinstance(each, UserMessage) and bool(each.instructions) for each in bench.history()].index(True)
    assert bench.texts()[0].startswith("src/api/a.py"), "they come with the result of the first reading"
    assert at == 3
    await bench.turn("s-1")
    assert told(bench) == expected


@pytest.mark.parametrize(
    "made",
    [
        call("patch", path="docs/c.md", old_string="one", new_string="1"),
        call("write_file", path="docs/new/d.md", content="new\n"),
    ],
    ids=["edit", "new file"],
)
async def test_they_are_told_with_the_first_edit(made: dict[str, object], bench: Bench) -> None:
    lay_out(bench.root, FILES)
    bench.says(answer("", made), answer("Done."))
    await bench.turn()
    assert told(bench) == [("docs/AGENTS.md", "rules of docs")]


async def test_they_come_with_a_prompt_that_points_below(bench: Bench) -> None:
    lay_out(bench.root, FILES)
    bench.says(answer("Done."))
    shown = (Excerpt(path="docs/c.md", first_line=1, text="one\n"),)
    await bench.host.wait(bench.host.start("Do it.", None, shown).id)
    assert told(bench) == [("docs/AGENTS.md", "rules of docs")]


async def test_the_title_of_what_a_prompt_shows_is_not_a_path(bench: Bench) -> None:
    lay_out(bench.root, FILES)
    bench.says(answer("Done."))
    shown = (Excerpt(path="docs/c.md", first_line=0, text="one\n"),)
    await bench.host.wait(bench.host.start("Do it.", None, shown).id)
    assert told(bench) == []


async def test_what_changes_or_goes_is_told_with_the_next_touch(bench: Bench) -> None:
    lay_out(bench.root, FILES)
    file = bench.root / "docs" / "AGENTS.md"
    bench.says(
        read("docs/c.md"),
        read("src/b.py"),
        read("docs/c.md"),
        read("docs/c.md"),
        answer("Done."),
        acts={2: lambda: file.write_text("other rules"), 3: file.unlink},
    )
    await bench.turn()
    assert told(bench) == [
        ("docs/AGENTS.md", "rules of docs"),
        ("src/AGENTS.md", "rules of src"),
        ("docs/AGENTS.md", "other rules"),
        ("docs/AGENTS.md", ""),
    ]
    texts = [each.text for each in bench.history() if isinstance(each, UserMessage) and each.instructions]
    assert "replace what you were told about docs/AGENTS.md" in texts[2]
    assert "was removed" in texts[3]


async def test_without_a_document_below_them_they_are_not_read(bench: Bench) -> None:
    lay_out(bench.root, FILES)
    bench.says(answer("", call("list_files"), call("search", pattern="one")), answer("Done."))
    await bench.turn()
    assert told(bench) == []


async def test_an_untrusted_workspace_tells_nothing(bench: Bench) -> None:
    lay_out(bench.root, FILES)
    bench.terms = replace(bench.terms, is_untrusted=True)
    bench.says(read("docs/c.md"), answer("Done."))
    await bench.turn()
    assert told(bench) == []


async def test_a_workspace_folder_within_another_is_not_told_twice(bench: Bench) -> None:
    lay_out(bench.root, FILES)
    bench.folders.replace([bench.root, bench.root / "src"])
    bench.terms = replace(bench.terms, roots=(str(bench.root), str(bench.root / "src")))
    bench.says(read(str(bench.root / "src" / "api" / "a.py")), answer("Done."))
    await bench.turn()
    assert [text for _, text in told(bench)] == ["rules of api"]


def outside(bench: Bench) -> Path:
    folder = bench.state.parent / "elsewhere"
    lay_out(folder, {"AGENTS.md": SECRET.encode()})
    return folder / "AGENTS.md"


def to_a_file_outside(bench: Bench, file: Path) -> None:
    file.symlink_to(outside(bench))


def to_a_protected_file(bench: Bench, file: Path) -> None:
    lay_out(bench.root, {".env": f"KEY={SECRET}".encode()})
    file.symlink_to(bench.root / ".env")


def ignored(bench: Bench, file: Path) -> None:
    lay_out(bench.root, {".gitignore": b"AGENTS.md\n"})
    file.write_text(SECRET)


def to_an_ignored_file(bench: Bench, file: Path) -> None:
    lay_out(bench.root, {".gitignore": b"build\n", "build/rules.md": SECRET.encode()})
    file.symlink_to(bench.root / "build" / "rules.md")


def not_utf8(bench: Bench, file: Path) -> None:
    file.write_bytes(SECRET.encode() + b"\xff\xfe\xfa")


def ruled_out(bench: Bench, file: Path) -> None:
    file.write_text(SECRET)
    rule = Rule(tool="read", match="docs/AGENTS.md", decision=Decision.BLOCK)
    bench.terms = replace(bench.terms, rules=(rule,))


@pytest.mark.parametrize(
    ("lay", "why"),
    [
        (to_a_file_outside, "outside the workspace"),
        (to_a_protected_file, "which leads to .env"),
        (ignored, "another ignore file excludes it"),
        (to_an_ignored_file, "another ignore file excludes it"),
        (not_utf8, "The file is not valid utf-8: it has the byte 0xFF"),
        (ruled_out, "neither read nor sent"),
    ],
)
async def test_what_may_not_be_read_is_named_to_the_user_once(
    lay: Callable[[Bench, Path], None], why: str, bench: Bench
) -> None:
    lay_out(bench.root, {"docs/c.md": b"one\n"})
    lay(bench, bench.root / "docs" / "AGENTS.md")
    bench.says(read("docs/c.md"), read("docs/c.md"), answer("Done."))
    await bench.turn()
    assert told(bench) == []
    (notice,) = notices(bench)
    assert notice.startswith("docs/AGENTS.md")
    assert why in notice
    assert SECRET not in str(bench.history())


@pytest.mark.parametrize("kind", ["folder", "blank"])
async def test_what_is_no_text_is_passed_over(kind: str, bench: Bench) -> None:
    lay_out(bench.root, {"docs/c.md": b"one\n"})
    path = bench.root / "docs" / "AGENTS.md"
    if kind == "folder":
        path.mkdir()
    else:
        path.write_text(" \n\n")
    bench.says(read("docs/c.md"), answer("Done."))
    await bench.turn()
    assert told(bench) == []
    assert notices(bench) == []


@pytest.mark.parametrize("kind", ["fifo", "loop"])
async def test_what_cannot_be_read_is_said(kind: str, bench: Bench) -> None:
    lay_out(bench.root, {"docs/c.md": b"one\n"})
    path = bench.root / "docs" / "AGENTS.md"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("AGENTS.md")
    bench.says(read("docs/c.md"), answer("Done."))
    await bench.turn()
    assert told(bench) == []
    (said,) = notices(bench)
    assert said.startswith("docs/AGENTS.md is not sent to the model. AGENTS.md")


async def test_five_megabytes_are_cut_and_that_is_said_once(bench: Bench) -> None:
    lay_out(bench.root, {"docs/c.md": b"one\n", "docs/AGENTS.md": b"0123456789" * 500_000})
    bench.says(read("docs/c.md"), read("docs/c.md"), answer("Done."))
    await bench.turn()
    ((_, text),) = told(bench)
    assert len(text) == LIMIT_INSTRUCTIONS
    (message,) = [each for each in bench.history() if isinstance(each, UserMessage) and each.instructions]
    assert "Only the first 32,000 of 5,000,000 characters" in message.text


async def test_of_many_only_the_paths_are_told_once_there_is_no_room(bench: Bench) -> None:
    names = [f"part{number}" for number in range(60)]
    lay_out(bench.root, {f"{name}/AGENTS.md": b"rules " * 2_000 for name in names})
    lay_out(bench.root, {f"{name}/a.py": b"one\n" for name in names})
    calls = [call("read_file", path=f"{name}/a.py") for name in names]
    bench.says(answer("", *calls), answer("", *calls), answer("Done."))
    await bench.turn()
    found = told(bench)
    assert len(found) == len(names)
    assert sum(len(text) for _, text in found) <= 2 * LIMIT_INSTRUCTIONS
    assert sum(bool(text) for _, text in found) >= 5


async def test_above_a_deep_document_the_nearest_folders_are_looked_at(bench: Bench) -> None:
    deep = "/".join(["d"] * 100)
    lay_out(bench.root, {f"{deep}/a.py": b"one\n", "d/AGENTS.md": b"far", f"{deep}/AGENTS.md": b"near"})
    bench.says(read(f"{deep}/a.py"), answer("Done."))
    await bench.turn()
    assert [text for _, text in told(bench)] == ["near"]


async def test_a_pasted_reply_is_still_the_prompt(bench: Bench) -> None:
    lay_out(bench.root, FILES)
    bench.provider = Paste()
    blocks = "docs/c.md\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n\nThat is all.\n"
    report = await bench.host.wait(bench.host.start(blocks, None).id)
    assert (bench.root / "docs" / "c.md").read_text() == "1\n"
    assert (report.state, report.answer) == (State.FINISHED, "That is all.")


def test_a_journal_has_what_a_message_brings() -> None:
    written = UserMessage(text="t", context=(Excerpt(path="p", first_line=1, text="x"),), instructions="p")
    line = as_json.line(Said(message=written))
    assert as_json.read(line) == Said(message=written)


def reading(path: str, number: int) -> Response:
    made = ToolCall(id=f"c{number}", name="read_file", arguments=f'{{"path": "{path}"}}')
    return Response(text="", calls=(made,), stop=StopReason.TOOL_CALLS)


@dataclass
class Small:
    """A model with a small window that reads documents, and keeps nothing in its summaries."""

    paths: Sequence[str]
    context_tokens: int = 6_000
    asked: list[str] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Delta | Response]:
        text = "\n".join(user_text(each) for each in messages if isinstance(each, UserMessage))
        if not tools:
            self.summaries.append(text)
            yield Response(text="Documents were read.")
            return
        self.asked.append(text)
        number = len(self.asked) - 1
        yield reading(self.paths[number], number) if number < len(self.paths) else Response(text="Done.")


async def test_they_survive_a_summary_word_for_word(bench: Bench) -> None:
    others = [f"big/{number}.txt" for number in range(8)]
    lay_out(bench.root, {**FILES, **dict.fromkeys(others, b"filler words\n" * 250)})
    model = Small(["docs/c.md", *others])
    bench.provider = model
    await bench.turn()
    assert model.summaries, "the conversation was made smaller"
    assert all(text.count("rules of docs") == 1 for text in model.asked[1:])
    assert not [text for text in model.summaries if "rules of docs" in text]
