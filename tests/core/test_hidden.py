"""
Edits with the placeholder that a model reads in place of a key: the key stays in the document, or the edit is
refused. The placeholder is never written.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.documents import edit
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.patches import notations
from handrail.core.patches.hunk import FilePatch, Hunk, Operation
from handrail.core.planning import plan
from handrail.core.planning.plan_file import plan_file
from handrail.core.results.redact import REDACTED, find_keys, redact

ONE, TWO = "sk-testkey-1234567890", "ghp_0123456789abcdef"
KEYS = (ONE, TWO)
FIND = partial(find_keys, secrets=KEYS)
DOCUMENT = f"""\
[server]
API = "{ONE}"
TIMEOUT = 10

[other]
TOKEN = "{TWO}"
URL = "https://me:{ONE}@host/?token={TWO}"
"""


def written(document: str, patch: FilePatch) -> str | Failure:
    """The text of *document* after *patch*, or why it is refused."""
    text = Text(document)
    made = plan_file(patch, text, find_keys=FIND)
    if isinstance(made, Failure):
        return made
    failed = [part.result for part in made.parts if isinstance(part.result, Failure)]
    return failed[0] if failed else edit.apply(document, made.edits)


def hunk(old: str, new: str, **more: Any) -> FilePatch:
    one = Hunk(number=1, old=old, new=new, whole_lines=False, **more)
    return FilePatch(path="a.toml", operation=Operation.UPDATE, hunks=(one,))


def whole(content: str) -> FilePatch:
    return FilePatch(path="a.toml", operation=Operation.WRITE, content=content)


def shown(document: str = DOCUMENT) -> str:
    return redact(document, KEYS)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("TIMEOUT = 10", "TIMEOUT = 30"),
        ("URL =", "ADDRESS ="),
        ("[server]\n", ""),
        ("API =", "SERVER_API ="),
        ("\n[other]\nTOKEN", "\nmore = 1\n\n[other]\nTOKEN"),
        ("/?token=", "/v2?token="),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_whole_file_keeps_the_keys_of_its_lines(before: str, after: str, end: str) -> None:
    document = DOCUMENT.replace("\n", end)
    wanted = DOCUMENT.replace(before, after).replace("\n", end)
    assert written(document, whole(shown().replace(before, after))) == wanted


def test_a_line_that_is_moved_keeps_its_key() -> None:
    api, token = f'API = "{ONE}"\n', f'TOKEN = "{TWO}"\n'
    moved = DOCUMENT.replace(api, "").replace(token, token + api)
    assert written(DOCUMENT, whole(shown(moved))) == moved


def test_lines_in_another_order_keep_their_keys() -> None:
    document = f"a = {ONE}\nb = {TWO}\n"
    swapped = f"b = {TWO} # b\na = {ONE} # a\n"
    assert written(document, whole(shown(swapped))) == swapped
    assert written(document, hunk(shown(document), shown(swapped))) == swapped


def test_two_keys_of_a_line_change_their_places_with_their_names() -> None:
    document = f"a={ONE} b={TWO}\n"
    swapped = f"b={TWO} a={ONE} c=1\n"
    assert written(document, hunk(shown(document), shown(swapped))) == swapped


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f'API = "{REDACTED}"\nTIMEOUT = 10', f'API = "{REDACTED}"\nTIMEOUT = 30'),
        (f'API = "{REDACTED}"', f'API_KEY = "{REDACTED}"  # ours'),
        (f'TOKEN = "{REDACTED}"\n', ""),
        (f"https://me:{REDACTED}@host/?token={REDACTED}", f"https://you:{REDACTED}@h/?token={REDACTED}"),
        (f"https://me:{REDACTED}@host/?token={REDACTED}", f"https://h/?token={REDACTED}"),
        (f'TOKEN = "{REDACTED}"', 'TOKEN = "none"'),
    ],
)
def test_a_search_text_matches_the_line_as_it_is_shown(old: str, new: str) -> None:
    made = written(DOCUMENT, hunk(old, new))
    assert isinstance(made, str)
    assert shown(made) == shown().replace(old, new)
    at = [made.find(key) for key in (ONE, TWO) if key in made]
    assert REDACTED not in made
    assert at


@pytest.mark.parametrize(
    ("notation", "patch"),
    [
        (
            "v4a",
            f'*** Begin Patch\n*** Update File: a.toml\n@@ [other]\n-TOKEN = "{REDACTED}"\n'
            f'+TOKEN_2 = "{REDACTED}"\n URL = "https://me:{REDACTED}@host/?token={REDACTED}"\n'
            "*** End Patch\n",
        ),
        (
            "udiff",
            f'--- a/a.toml\n+++ b/a.toml\n@@ -5,3 +5,3 @@\n [other]\n-TOKEN = "{REDACTED}"\n'
            f'+TOKEN_2 = "{REDACTED}"\n URL = "https://me:{REDACTED}@host/?token={REDACTED}"\n',
        ),
        (
            "search_replace",
            f'<<<<<<< SEARCH\nTOKEN = "{REDACTED}"\n=======\nTOKEN_2 = "{REDACTED}"\n>>>>>>> REPLACE\n',
        ),
    ],
)
def test_every_notation_keeps_the_keys(notation: str, patch: str) -> None:
    files = notations.NOTATIONS[notation].read(patch, "a.toml", ())
    assert not isinstance(files, Failure)
    assert written(DOCUMENT, files[0]) == DOCUMENT.replace("TOKEN =", "TOKEN_2 =")


@pytest.mark.parametrize(
    "patch",
    [
        whole(shown() + f'NEW = "{REDACTED}"\n'),
        whole(f'OTHER = "{REDACTED}"\n'),
        whole(f"{shown()}# key removed by handrail\n"),
        hunk("TIMEOUT = 10", f'TIMEOUT = 30\nKEY2 = "{REDACTED}"'),
        hunk(f'API = "{REDACTED}"', f'API = "{REDACTED}"\nKEY2 = "{REDACTED}"'),
        hunk("TIMEOUT = 10", f'TIMEOUT = "{REDACTED.upper()}"'),
        hunk(
            f'TOKEN = "{REDACTED}"\nURL = "https://me:{REDACTED}@host', f'A = "{REDACTED}"\nB = "{REDACTED}"'
        ),
        FilePatch(path="a.toml", operation=Operation.UPDATE, hunks=(Hunk(number=1, old="", new=REDACTED),)),
    ],
)
def test_a_placeholder_that_stands_for_no_value_there_is_refused(patch: FilePatch) -> None:
    failure = written(DOCUMENT, patch)
    assert isinstance(failure, Failure)
    assert failure.code is Code.OMISSION
    assert REDACTED in failure.message
    assert len(failure.steps) == 2


@pytest.mark.parametrize("operation", [Operation.WRITE, Operation.ADD])
def test_a_new_file_with_the_placeholder_is_refused(operation: Operation) -> None:
    patch = FilePatch(path="new.toml", operation=operation, content=f"a = {REDACTED}\n")
    failure = plan_file(patch, None, find_keys=FIND)
    assert isinstance(failure, Failure)
    assert failure.code is Code.OMISSION


def test_nothing_is_made_at_a_path_with_the_placeholder() -> None:
    patch = FilePatch(path=f"{REDACTED}/a.toml", operation=Operation.WRITE, content="a\n")
    assert isinstance(plan_file(patch, None), Failure)
    moved = FilePatch(path="a.toml", operation=Operation.UPDATE, move_to=f"{REDACTED}.toml")
    assert isinstance(plan_file(moved, Text("a\n")), Failure)


def test_lines_that_are_shown_alike_are_told_apart_by_a_line_number() -> None:
    document = f"[a]\nkey = {ONE}\n[b]\nkey = {TWO}\n"
    failure = written(document, hunk(f"key = {REDACTED}", f"key = {REDACTED} # x"))
    assert isinstance(failure, Failure)
    assert failure.code is Code.AMBIGUOUS_MATCH
    assert "lines 2, 4" in failure.message
    assert [document[each.span.start : each.span.end] for each in failure.near] == [
        f"key = {ONE}",
        f"key = {TWO}",
    ]
    made = written(document, hunk(f"key = {REDACTED}", f"key = {REDACTED} # x", line_number=4))
    assert made == document.replace(TWO, f"{TWO} # x")
    everywhere = written(document, hunk(f"key = {REDACTED}", f"name = {REDACTED}", replace_all=True))
    assert isinstance(everywhere, Failure)
    assert everywhere.code is Code.AMBIGUOUS_MATCH
    one = document.replace(TWO, ONE)
    everywhere = written(one, hunk(f"key = {REDACTED}", f"name = {REDACTED}", replace_all=True))
    assert everywhere == one.replace("key =", "name =")


def test_a_row_of_several_that_are_shown_alike_is_removed_only_if_signs_tell_which() -> None:
    document = f"- {ONE}\n- {TWO}\nend\n"
    failure = written(document, hunk(f"- {REDACTED}\n- {REDACTED}\nend", f"- {REDACTED}\nend"))
    assert isinstance(failure, Failure)
    assert failure.code is Code.OMISSION
    files = notations.NOTATIONS["v4a"].read(
        f"*** Begin Patch\n*** Update File: a.toml\n@@\n-- {REDACTED}\n - {REDACTED}\n end\n*** End Patch\n",
        "a.toml",
        (),
    )
    assert not isinstance(files, Failure)
    assert written(document, files[0]) == f"- {TWO}\nend\n"


def test_a_document_that_has_the_placeholder_itself_is_edited_as_any_other() -> None:
    document = f"handrail writes `{REDACTED}` there.\n"
    new = f"handrail writes `{REDACTED}` here.\nAnd {REDACTED}.\n"
    assert written(document, whole(new)) == new
    assert written(document, hunk(f"`{REDACTED}` there", f"`{REDACTED}` here")) == document.replace("th", "h")


def test_a_placeholder_of_the_document_and_a_key_are_not_confused() -> None:
    document = f"a = {REDACTED}\nb = {ONE}\n"
    assert written(document, whole(shown(document) + "c = 1\n")) == document + "c = 1\n"
    made = written(document, hunk(f"b = {REDACTED}", f"b = {REDACTED} # b"))
    assert made == document.replace(ONE, f"{ONE} # b")


def test_a_key_of_several_lines_stays() -> None:
    pem = "-----BEGIN-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQC7\n-----END-----"
    document = f'KEY = """{pem}"""\nB = 1\n'
    read = redact(document, [pem])
    patch = hunk(read, read.replace("B = 1", "B = 2"))
    made = plan_file(patch, Text(document), find_keys=partial(find_keys, secrets=[pem]))
    assert not isinstance(made, Failure)
    assert edit.apply(document, made.edits) == document.replace("B = 1", "B = 2")


def test_a_quick_fix_does_not_write_the_placeholder() -> None:
    text = Text("TIMEOUT = 10\n")
    one = Hunk(number=1, old="TIMEOUT = 11", new=f"TIMEOUT = {REDACTED}")
    failure = plan.plan_hunk(text, one)
    assert isinstance(failure, Failure)
    near = plan.plan_hunk(text, Hunk(number=1, old="TIMEOUT = 11x", new="x"))
    assert isinstance(near, Failure)
    assert isinstance(plan.plan_at(text, one, near.near[0].span), Failure)


ROWS = st.sampled_from(
    ["x", "y", "", "  z", *(f"{name}{key}" for name in ("a = ", "b = ", "- ", "a = 1, b = ") for key in KEYS)]
)


A1, A2, B1, B2 = f"a = {ONE}", f"a = {TWO}", f"b = {ONE}", f"b = {TWO}"
NEARLY_MIXED_UP = {
    "a removed row beside one that is changed": (["x", A1, B2, B2, "x", "x"], ["x", f"{B2} # c", B2, "x"]),
    "alike rows, the first of which moves up": (
        ["x", "z", B2, "x", "x", "z", B1, "x"],
        ["x", B2, "z", B1],
    ),
    "an empty row more and one less": (["", "", A1, "", A1, "x", A2, "x"], ["", "", "", A1, A1, "x"]),
    "a row that was unique stands before it now": ([A1, "x", A2], ["x", A1]),
    "the same with two names": ([A1, "x", B2], ["x", f"{A1} # c"]),
    "one section goes, another comes": (["[a]", A1, "[b]", A2], ["[b]", A2, "[c]", A1]),
    "a section goes, the other is copied": (["[a]", A1, "[b]", A2], ["[b]", A2, "[c]", A2]),
}


@pytest.mark.parametrize("rows", NEARLY_MIXED_UP.values(), ids=NEARLY_MIXED_UP)
def test_a_key_is_not_given_to_a_row_that_only_looks_like_its_own(rows: tuple[list[str], list[str]]) -> None:
    document, wanted = ("".join(f"{row}\n" for row in each) for each in rows)
    for patch in (whole(shown(wanted)), hunk(shown(document), shown(wanted))):
        made = written(document, patch)
        assert isinstance(made, Failure) or made == wanted


CLEAR = {
    "two sections that look alike stay": (["[a]", A1, "[b]", A2], ["[a]", "# c", A1, "[b]", A2, "[c]"]),
    "two names change": (["[a]", A1, "[b]", B2], ["[a]", f"api = {ONE}", "[b]", f"token = {TWO}"]),
    "rows with names change places": ([A1, "x", B2], [f"{B2} # c", "x", f"{A1} # c"]),
    "a changed row of a name beside a removed one": ([A1, B2, B2, "x"], [f"{B2} # c", B2, "x"]),
}


@pytest.mark.parametrize("rows", CLEAR.values(), ids=CLEAR)
def test_a_row_whose_key_is_certain_has_it(rows: tuple[list[str], list[str]]) -> None:
    document, wanted = ("".join(f"{row}\n" for row in each) for each in rows)
    for patch in (whole(shown(wanted)), hunk(shown(document), shown(wanted))):
        assert written(document, patch) == wanted


@given(st.lists(ROWS, max_size=9), st.data())
def test_no_line_gets_the_key_of_another(rows: list[str], data: st.DataObject) -> None:
    """A text in which lines were removed, added or changed is written as meant, or refused."""
    document = "".join(f"{row}\n" for row in rows)
    meant = []
    for row in rows:
        match data.draw(st.sampled_from(["keep", "keep", "keep", "remove", "add", "change", "indent"])):
            case "remove":
                continue
            case "add":
                meant += [data.draw(st.sampled_from(["new", "x", ""])), row]
            case "change":
                meant.append(f"{row}  # changed")
            case "indent":
                meant.append(f"  {row}")
            case _:
                meant.append(row)
    wanted = "".join(f"{row}\n" for row in meant)
    made = written(document, whole(shown(wanted)))
    assert isinstance(made, Failure) or made == wanted
    first = data.draw(st.integers(0, len(rows)))
    old = "".join(f"{row}\n" for row in rows[first:])
    if old.strip() and len(rows) == first + old.count("\n"):
        new = shown(old).replace("x", "xx").replace("a =", "aa =")
        made = written(document, hunk(shown(old), new))
        assert isinstance(made, Failure) or (REDACTED not in made and shown(made).endswith(new))
