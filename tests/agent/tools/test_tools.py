"""What the tools answer, with the real disk and scripted calls; no editor in between."""

import re
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest

from bench import Bench, Yes
from handrail.adapters.files.disk import Disk
from handrail.core.conversation.message import (
    LIMIT_PICTURE_BYTES,
    Delta,
    Message,
    Response,
    ToolMessage,
    ToolOffer,
)
from handrail.core.conversation.pictures import CANNOT_SEE
from handrail.core.conversation.prompt import Mode
from handrail.core.conversation.todo import latest
from handrail.core.failure import Failure
from handrail.core.ledger.report import Asked, CallEnded, CallStarted, QuestionEnd
from handrail.ports import DENY, Document, Question, Terms
from handrail.testing import answer, call, lay_out


async def results(bench: Bench, *calls: dict[str, object]) -> list[str]:
    """The texts of the results of *calls*, made at once in a session of their own."""
    bench.says(answer("", *calls), answer("Done."))
    report = await bench.turn()
    return bench.texts(report.session)


async def result(bench: Bench, name: str, **arguments: object) -> str:
    (text,) = await results(bench, call(name, **arguments))
    return text


@pytest.mark.parametrize("mode", ["replace", "search_replace"])
async def test_a_model_that_names_no_file_is_told_of_the_argument(bench: Bench, mode: str) -> None:
    hunk = {"patch": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"}
    edit = {"old_string": "a", "new_string": "b"} if mode == "replace" else hunk
    text = await result(bench, "patch", mode=mode, path="", **edit)
    assert "No file was given: the argument 'path' is empty." in text
    assert "Give the file's path." in text
    assert "block" not in text


# ---- read_file --------------------------------------------------------------------------------------

WRITTEN = {
    "plain": (b"a\nb\n", "2 lines, utf-8, LF"),
    "one line": (b"a", "1 line, utf-8, LF, no final newline"),
    "empty": (b"", "0 lines, utf-8, LF"),
    "CRLF, tabs": (b"a\r\n\tb\r\n", "2 lines, utf-8, CRLF, indented by tabs"),
    "mark, spaces": (
        b"\xef\xbb\xbfa:\n  b\n  c:\n    d\n",
        "4 lines, utf-8 with byte order mark, LF, indented by 2 spaces",
    ),
    "mixed": (b"a\r\nb\nc\r\n", "3 lines, utf-8, mixed line endings, mostly CRLF"),
    "UTF-16": (
        b"\xff\xfe" + "a\n    b\n".encode("utf-16-le"),
        "2 lines, utf-16-le with byte order mark, LF, indented by 4 spaces",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
async def test_reading_says_how_a_document_is_written(bench: Bench, name: str) -> None:
    raw, said = WRITTEN[name]
    lay_out(bench.root, {"a.txt": raw})
    text = await result(bench, "read_file", path="a.txt")
    assert text.partition("\n")[0] == f"a.txt: {said}; not open in the editor."


@pytest.mark.parametrize(
    ("is_unsaved", "said"),
    [(False, "a.txt: 1 line, utf-8, LF."), (True, "a.txt: 1 line, utf-8, LF; it has unsaved changes.")],
)
async def test_without_an_editor_a_result_does_not_mention_one(
    bench: Bench, is_unsaved: bool, said: str
) -> None:
    lay_out(bench.root, {"a.txt": b"a\n"})
    bench.terms = Terms(is_headless=True)

    class Holding(Disk):
        async def read(self, uri: str) -> Document | Failure:
            document = await super().read(uri)
            return replace(document, unsaved=is_unsaved) if isinstance(document, Document) else document

    bench.editor = Holding()
    text = await result(bench, "read_file", path="a.txt")
    assert text.partition("\n")[0] == said


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


async def test_a_model_that_sees_is_shown_a_picture(bench: Bench) -> None:
    lay_out(bench.root, {"a.png": PNG})
    bench.terms = Terms(sees=True)
    bench.says(answer("", call("read_file", path="a.png")), answer("Done."))
    report = await bench.turn()
    (shown,) = [
        result
        for message in bench.host.sessions[report.session].messages
        if isinstance(message, ToolMessage)
        for result in message.results
    ]
    assert shown.text == "a.png: an image (PNG), 264 bytes."
    (picture,) = shown.pictures
    assert (picture.path, picture.media, b64decode(picture.data)) == ("a.png", "image/png", PNG)


async def test_a_model_that_comes_later_and_does_not_see_is_shown_none(bench: Bench) -> None:
    lay_out(bench.root, {"a.png": PNG})
    bench.terms = Terms(sees=True)
    bench.says(answer("", call("read_file", path="a.png")), answer("Done."))
    report = await bench.turn()
    bench.terms = Terms(sees=False)
    asked: list[str] = []

    class Blind:
        context_tokens = 1_000_000

        async def complete(
            self, messages: Sequence[Message], tools: Sequence[ToolOffer]
        ) -> AsyncGenerator[Delta | Response]:
            asked.append(str(messages))
            yield Response(text="I cannot see.")

    bench.provider = Blind()
    await bench.turn(session=report.session)
    assert CANNOT_SEE in asked[0]
    assert b64encode(PNG).decode() not in asked[0]


@pytest.mark.parametrize(
    ("sees", "size", "says"),
    [
        (
            False,
            100,
            "a.png is an image (PNG). handrail does not show you pictures: the",
        ),
        (True, LIMIT_PICTURE_BYTES, "the limit for pictures is 3,500,000"),
    ],
)
async def test_a_picture_that_cannot_be_shown_is_a_clear_failure(
    bench: Bench, sees: bool, size: int, says: str
) -> None:
    lay_out(bench.root, {"a.png": PNG + bytes(size)})
    bench.terms = Terms(sees=sees)
    assert says in await result(bench, "read_file", path="a.png")


async def test_what_only_has_the_name_of_a_picture_is_read_as_text(bench: Bench) -> None:
    lay_out(bench.root, {"a.png": b"one\n"})
    bench.terms = Terms(sees=True)
    assert (await result(bench, "read_file", path="a.png")).endswith("1|one")


async def test_at_most_2000_lines_are_read_at_once(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"".join(b"%d\n" % n for n in range(1, 2501))})
    _, *lines, rest = (await result(bench, "read_file", path="a.txt")).split("\n")
    assert (lines[0], lines[-1], len(lines)) == ("1|1", "2000|2000", 2000)
    assert rest == "Lines 2001 to 2500 are not shown; continue with start_line=2001."
    _, *lines = (await result(bench, "read_file", path="a.txt", start_line=2001)).split("\n")
    assert (lines[0], lines[-1]) == ("2001|2001", "2500|2500")


async def test_at_most_as_many_characters_are_read_as_the_limit_says(bench: Bench) -> None:
    bench.terms = Terms(output_chars=2_000)
    lay_out(bench.root, {"a.txt": b"0123456789\n" * 1000})
    text = await result(bench, "read_file", path="a.txt")
    assert len(text) <= 2_000
    assert text.endswith("continue with start_line=124.")
    assert "<<cut" not in text


@pytest.mark.parametrize("mode", list(Mode))
async def test_a_line_beyond_the_limit_is_shown_in_part(bench: Bench, mode: Mode) -> None:
    bench.terms = Terms(output_chars=2_000)
    lay_out(bench.root, {"a.txt": b"x" * 5000 + b"\nnext\n"})
    bench.says(answer("", call("read_file", path="a.txt")), answer("Done."))
    await bench.host.wait(bench.host.start("Read it.", None, mode=mode).id)
    (text,) = bench.texts()
    said = r"\nLine 1 is too long: 3,2\d\d more characters are not shown\. "
    by_command = ", or use `cut -c`" if mode is Mode.EDIT else ""
    assert re.search(said + rf"To see more, search for text in it{by_command}\.\n", text)
    assert text.endswith("Line 2 is not shown; continue with start_line=2.")
    assert len(text) <= 2_000


async def test_lines_that_are_not_there(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    text = await result(bench, "read_file", path="a.txt", start_line=7)
    assert text.endswith("The file has no line 7; it has 1 line.")
    text = await result(bench, "read_file", path="a.txt", start_line=7, end_line=3)
    assert text.endswith("The file has no line 7; it has 1 line.")
    lay_out(bench.root, {"b.txt": b"one\n" * 9})
    text = await result(bench, "read_file", path="b.txt", start_line=7, end_line=3)
    assert text.endswith("end_line=3 is before start_line=7; no lines are shown.")


# ---- read_output ------------------------------------------------------------------------------------


async def kept(bench: Bench, output: bytes) -> str:
    """The id under which *output* is kept."""
    shown = await bench.spills.keep(output.decode())
    assert shown is not None
    return shown


async def test_a_long_result_is_kept_aside_and_can_be_read_page_by_page(bench: Bench) -> None:
    bench.terms = Terms(output_chars=2_000)
    lay_out(bench.root, {"a.txt": b"".join(b"line %d\n" % n for n in range(200))})
    blocks = "".join(f"<<<<<<< SEARCH\nline {n}\n=======\nLINE {n}\n>>>>>>> REPLACE\n" for n in range(200))
    text = await result(bench, "patch", mode="search_replace", path="a.txt", patch=blocks)
    assert "are left out at <<cut-1>>" in text
    assert len(text) < 2_300
    spill = text.partition('{"output": "')[2].partition('"')[0]
    whole, offset = "", 0
    while f"The output has only {offset} characters. Give a smaller offset." != (
        page := await result(bench, "read_output", output=spill, offset=offset)
    ):
        _, _, part = page.partition("\n")
        whole += part
        offset += len(part)
        assert len(page) <= 2_000
    assert whole == "\n".join(f"Landed: a.txt, hunk {n}." for n in range(1, 201))


async def test_an_output_is_searched_by_a_regular_expression(bench: Bench) -> None:
    spill = await kept(bench, b"one\r\nTwo three\r\n\r\nfour two\r\n")
    found = await result(bench, "read_output", output=spill, pattern=r"\btwo$")
    assert found == "1 line matches: line|offset|text\n4|23|four two"
    found = await result(bench, "read_output", output=spill, pattern="two", ignore_case=True)
    assert found.split("\n")[1:] == ["2|5|Two three", "4|23|four two"]
    assert await result(bench, "read_output", output=spill, pattern="five") == "No lines match."
    page = await result(bench, "read_output", output=spill, pattern="", offset=0, ignore_case=False)
    assert page.startswith("Characters 0 to ")
    assert "not a valid regular expression" in await result(bench, "read_output", output=spill, pattern="(")


async def test_lines_beyond_the_limit_ask_for_a_narrower_pattern(bench: Bench) -> None:
    spill = await kept(bench, b"two\n" * 5_000)
    found = await result(bench, "read_output", output=spill, pattern="two")
    head = found.partition("\n")[0]
    assert head.endswith("lines match, and there are more (narrow the pattern): line|offset|text")


@pytest.mark.parametrize("spill", ["o-0000000000000000", "../../etc/passwd", "o-0", "nonsense"])
async def test_an_unknown_output_is_said_so(bench: Bench, spill: str) -> None:
    assert "does not exist, or is no longer stored" in await result(bench, "read_output", output=spill)
    assert "does not exist, or is no longer stored" in await result(
        bench, "read_output", output=spill, pattern="x"
    )


async def test_keys_are_in_no_result(bench: Bench) -> None:
    bench.secrets = ("sk-very-secret",)
    lay_out(bench.root, {"a.txt": b"key = sk-very-secret\n"})
    text = await result(bench, "read_file", path="a.txt")
    assert "sk-very-secret" not in text
    assert text.endswith("1|key = [key removed by handrail]")


# ---- search, list_files -----------------------------------------------------------------------------


async def test_a_search_shows_each_document_once_above_its_lines(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\none\n", "b/c.txt": b"one\n"})
    text = await result(bench, "search", pattern="one")
    assert text == "3 lines in 2 files.\na.txt\n  1|one\n  3|one\nb/c.txt\n  1|one"
    assert await result(bench, "search", pattern="one", path="b") == "1 line in 1 file.\nb/c.txt\n  1|one"
    assert await result(bench, "search", pattern="ONE", glob="*.md") == (
        "No lines match. Ignored and protected files were not searched."
    )


async def test_listing_and_searching_are_judged_by_their_path(bench: Bench) -> None:
    lay_out(bench.root, {".git/config": b"x\n", ".env": b"KEY=1\n"})
    bench.approver.says = DENY
    bench.says(
        answer(
            "",
            call("search", pattern="x", path=".git"),
            call("list_files", path=".git"),
            call("search", pattern="KEY", path=".env"),
            call("list_files", path="../"),
        ),
        answer("Done."),
    )
    await bench.turn()
    assert [code for _, code in bench.results()] == ["blocked", "blocked", "denied", "denied"]


async def test_a_large_folder_is_listed_as_folders(bench: Bench) -> None:
    lay_out(bench.root, {f"{n % 3}/{n % 30}/{n}.txt": b"" for n in range(1500)} | {"a.txt": b""})
    text = await result(bench, "list_files")
    head, *rows = text.split("\n")
    assert head == "1,501 files; list a folder, or give a glob, to see the files below it."
    assert (rows[0], rows[-1], len(rows)) == ("0/0/ (50 files)", "a.txt", 31)


# ---- todo, ask_user ---------------------------------------------------------------------------------


async def test_the_list_of_what_is_to_be_done_is_what_the_last_call_said(bench: Bench) -> None:
    items = [{"text": "Read", "state": "done"}, {"text": "Write", "state": "active"}, {"text": "Test"}]
    text = await result(bench, "todo", items=items)
    assert text == "1 of 3 done.\n[x] Read\n[>] Write\n[ ] Test"
    (session,) = bench.host.sessions.values()
    assert [item.text for item in latest(session.messages)] == ["Read", "Write", "Test"]


async def test_the_user_is_asked_what_the_model_wants_to_know(bench: Bench) -> None:
    bench.approver.says = "Tabs"
    text = await result(bench, "ask_user", question="Tabs or spaces?", choices=["Tabs", "Spaces"])
    assert text == "The user chose: Tabs"
    (asked,) = bench.approver.asked
    assert (asked.subject, asked.choices) == ("Tabs or spaces?", ("deny", "Tabs", "Spaces"))
    ended = Asked(
        call=asked.call,
        subject="Tabs or spaces?",
        question=asked.id,
        asks_permission=False,
        could_last=False,
        choice="Tabs",
        end=QuestionEnd.ANSWERED,
    )
    assert ended in bench.events


async def test_the_user_may_answer_in_other_words(bench: Bench) -> None:
    bench.approver.says = "Neither: ask the formatter."
    text = await result(bench, "ask_user", question="Tabs or spaces?", choices=["Tabs", "Spaces"])
    assert text == "The user answered in their own words: Neither: ask the formatter."


@pytest.mark.parametrize("says", [None, "allow", " \n", "x" * 10_001], ids=["none", "leave", "blank", "long"])
async def test_what_says_nothing_is_no_answer(bench: Bench, says: str | None) -> None:
    bench.approver.says = says
    text = await result(bench, "ask_user", question="Tabs or spaces?", choices=["Tabs", "Spaces"])
    assert text.startswith("The user did not answer.")


async def test_what_was_called_after_a_question_waits_for_its_answer(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    seen = []

    class Looks(Yes):
        async def ask(self, question: Question) -> str | None:
            seen.append((bench.root / "a.txt").read_bytes())
            return await super().ask(question)

    bench.approver = Looks("Yes")
    await results(
        bench,
        call("patch", path="a.txt", old_string="one", new_string="two"),
        call("ask_user", question="Go on?", choices=["Yes", "No"]),
        call("patch", path="a.txt", old_string="two", new_string="three"),
    )
    assert seen == [b"two\n"]
    assert (bench.root / "a.txt").read_bytes() == b"three\n"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ask_user", {"question": "", "choices": ["a", "b"]}),
        ("ask_user", {"question": "Which?", "choices": ["a"]}),
        ("ask_user", {"question": "Which?", "choices": ["a", "a"]}),
        ("ask_user", {"question": "Which?", "choices": ["a", ""]}),
        ("ask_user", {"question": "Which?", "choices": ["a", 1]}),
        ("ask_user", {"question": "Which?", "choices": "ab"}),
        ("ask_user", {"question": "Which?", "choices": ["a", "b" * 81]}),
        ("ask_user", {"choices": ["a", "b"]}),
        ("search", {"pattern": ""}),
        ("search", {}),
        ("search", {"pattern": "x", "path": 1}),
        ("search", {"pattern": "x", "glob": ["*"]}),
        ("list_files", {"path": 1}),
        ("list_files", {"glob": 1}),
        ("read_output", {"pattern": "x"}),
        ("read_output", {"output": "", "offset": 1}),
        ("read_output", {"output": 1}),
        ("read_output", {"output": "o-1", "offset": -1}),
        ("read_output", {"output": "o-1", "offset": True}),
        ("read_output", {"output": "o-1", "pattern": 1}),
        ("todo", {}),
        ("todo", {"items": "all"}),
        ("todo", {"items": [1]}),
        ("todo", {"items": [{"text": ""}]}),
        ("todo", {"items": [{"text": "x", "state": "later"}]}),
        ("todo", {"items": [{"text": "x", "state": []}]}),
        ("todo", {"items": [{"text": "x"}] * 51}),
        ("todo", {"items": [{"text": "x" * 501}]}),
        ("read_file", {"path": "  "}),
        ("read_file", {"path": "a.txt", "start_line": 0}),
    ],
)
async def test_wrong_arguments_are_a_failure(bench: Bench, tool: str, arguments: dict[str, object]) -> None:
    bench.says(answer("", call(tool, **arguments)), answer("Done."))
    await bench.turn()
    assert [code for _, code in bench.results()] == ["bad-arguments"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"output": ""},
        {"output": None, "offset": None, "pattern": None, "ignore_case": None},
        {"ignore_case": False},
        {"offset": 0},
        {"output": " ", "offset": 0, "pattern": "", "ignore_case": False},
    ],
)
async def test_arguments_that_say_nothing_list_the_background_commands(
    bench: Bench, arguments: dict[str, object]
) -> None:
    assert await result(bench, "read_output", **arguments) == "There are no background commands."


async def test_arguments_that_are_null_or_their_default_change_nothing(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n"})
    nothing = {"glob": None, "path": None, "ignore_case": None}
    assert "No lines match." in await result(bench, "search", pattern="ONE", **nothing)
    for old, new, mode in (("one", "1", None), ("two", "2", "")):
        given = {"mode": mode, "start_line": None, "replace_all": None, "partial": None, "patch": None}
        bench.says(
            answer("", call("patch", path="a.txt", old_string=old, new_string=new, **given)), answer("")
        )
        await bench.turn()
    assert (bench.root / "a.txt").read_bytes() == b"1\n2\n"


@pytest.mark.parametrize("room", [0, 9, 18, 27, 40, 60, 333, 351, 370, 385])
async def test_nothing_is_shortened_to_a_part_of_a_key(bench: Bench, room: int) -> None:
    key = "sk-Test/Key+0123456789abcdefXYZ" * 2
    bench.secrets, bench.approver.says = (key,), "deny"
    row = f"value = {'p' * room}{key}{'q' * 300}"
    lay_out(bench.root, {"long.py": f"def f():\n    x = 1\n{row}\n    return x\n".encode()})
    calls = (
        call("patch", path="long.py", old_string=row.replace(key, "WRONG"), new_string="y"),
        call("search", pattern="value", path="long.py"),
        call("search", pattern="qqq$", path="long.py"),
        call("terminal", command=f"cat {'p' * room}{key}"),
        call("terminal", command=f"unknown {'p' * room}{key}"),
    )
    bench.says(answer("", *calls), answer("Done."))
    await bench.turn()
    titles = [event.title for event in bench.events if isinstance(event, CallStarted)]
    ends = [event.summary for event in bench.events if isinstance(event, CallEnded)]
    details = [question.detail for question in bench.approver.asked]
    assert all((titles, ends, details))
    for text in (*bench.texts(), *titles, *ends, *details):
        parts = [key[at : at + 12] for at in range(len(key) - 12)]
        assert not any(part in text for part in parts), text


async def test_no_line_of_a_key_is_shown(bench: Bench) -> None:
    rows = ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHH")
    key = "\n".join(("-----BEGIN PRIVATE KEY-----", *rows, "-----END PRIVATE KEY-----"))
    bench.secrets = (key,)
    lay_out(bench.root, {"conf.txt": f"x\n{key}\ny\n".encode()})
    calls = (
        call("read_file", path="conf.txt"),
        call("read_file", path="conf.txt", start_line=4, end_line=4),
        call("search", pattern="AAAABBBB|MIIE"),
        *(
            call("terminal", command=line)
            for line in ("cat conf.txt", "cat -n conf.txt", "grep -n . conf.txt")
        ),
        call("patch", path="conf.txt", old_string=f"{rows[0]}\nBBBB{rows[1][4:]}", new_string="y"),
    )
    bench.says(answer("", *calls), answer("Done."))
    await bench.turn()
    assert len(bench.texts()) == len(calls)
    for text in bench.texts():
        assert not any(row in text for row in rows), text
