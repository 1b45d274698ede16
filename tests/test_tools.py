"""What the tools answer, with the real disk and scripted calls; no editor in between."""

import pytest

from bench import Bench
from handrail.ports import Terms
from handrail.testing import answer, call, lay_out


async def results(bench: Bench, *calls: dict[str, object]) -> list[str]:
    """The texts of the results of *calls*, made at once in a session of their own."""
    bench.says(answer("", *calls), answer("Done."))
    report = await bench.turn()
    return bench.texts(report.session)


async def result(bench: Bench, name: str, **arguments: object) -> str:
    (text,) = await results(bench, call(name, **arguments))
    return text


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
    "mixed": (b"a\r\nb\nc\r\n", "3 lines, utf-8, mixed line ends, most CRLF"),
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


async def test_at_most_2000_lines_are_read_at_once(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"".join(b"%d\n" % n for n in range(1, 2501))})
    _, *lines, rest = (await result(bench, "read_file", path="a.txt")).split("\n")
    assert (lines[0], lines[-1], len(lines)) == ("1|1", "2000|2000", 2000)
    assert rest == "Lines 2001 to 2500 are not shown; read on with start_line=2001."
    _, *lines = (await result(bench, "read_file", path="a.txt", start_line=2001)).split("\n")
    assert (lines[0], lines[-1]) == ("2001|2001", "2500|2500")


async def test_at_most_as_many_characters_are_read_as_the_limit_says(bench: Bench) -> None:
    bench.terms = Terms(output_chars=2_000)
    lay_out(bench.root, {"a.txt": b"0123456789\n" * 1000})
    text = await result(bench, "read_file", path="a.txt")
    assert len(text) <= 2_000
    assert text.endswith("read on with start_line=124.")
    assert "<<cut" not in text


async def test_a_line_beyond_the_limit_is_shown_in_part(bench: Bench) -> None:
    bench.terms = Terms(output_chars=2_000)
    lay_out(bench.root, {"a.txt": b"x" * 5000 + b"\nnext\n"})
    text = await result(bench, "read_file", path="a.txt")
    assert "Line 1 is too long: its last 3,2" in text
    assert text.endswith("Lines 2 to 2 are not shown; read on with start_line=2.")
    assert len(text) <= 2_000


async def test_lines_that_are_not_there(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    text = await result(bench, "read_file", path="a.txt", start_line=7)
    assert text.endswith("There are no lines 7 to the end in it.")


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
    assert "Where <<cut-1>> stands" in text
    assert len(text) < 2_300
    spill = text.partition('{"output": "')[2].partition('"')[0]
    whole, offset = "", 0
    while f"The output ends at {offset}." != (
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
    assert await result(bench, "read_output", output=spill, pattern="five") == "No line matches."
    assert "not a regular expression" in await result(bench, "read_output", output=spill, pattern="(")


@pytest.mark.parametrize("spill", ["o-0000000000000000", "../../etc/passwd", "", "o-0", "nonsense"])
async def test_an_unknown_output_is_said_so(bench: Bench, spill: str) -> None:
    assert "There is no output" in await result(bench, "read_output", output=spill)
    assert "There is no output" in await result(bench, "read_output", output=spill, pattern="x")


async def test_keys_are_in_no_result(bench: Bench) -> None:
    bench.terms = Terms(secrets=("sk-very-secret",))
    lay_out(bench.root, {"a.txt": b"key = sk-very-secret\n"})
    text = await result(bench, "read_file", path="a.txt")
    assert "sk-very-secret" not in text
    assert text.endswith("1|key = [key removed by handrail]")
