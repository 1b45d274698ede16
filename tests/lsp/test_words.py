"""The texts of questions for people: of what is asked, and which rules an answer adds."""

from __future__ import annotations

import pytest

from handrail.core.ledger.report import QuestionEnd
from handrail.lsp.questions import words
from handrail.ports import ALLOW, ALWAYS, DENY, FOR_SESSION, LEAVE, Kind, Question
from handrail.values import replace

RULES = ("terminal may run a", "terminal may run b")


def question(kind: Kind, tool: str, *rules: str) -> Question:
    return Question(
        id="q-1",
        turn="t-1",
        call="",
        tool=tool,
        kind=kind,
        subject="a.py",
        choices=(DENY, ALLOW, FOR_SESSION),
        rules=rules,
    )


@pytest.mark.parametrize(
    ("kind", "tool", "short", "size"),
    [
        (
            Kind.COMMAND,
            "terminal",
            "May this command run? terminal: a.py",
            "\nTool: terminal. The question is about this (4 characters):\n",
        ),
        (Kind.SAVING, "save", "May this document be saved? a.py", ""),
        (Kind.QUESTION, "ask_user", "The model asks: a.py", ""),
        (Kind.TOOL, words.OURSELVES, "May the turn continue? a.py", ""),
    ],
)
def test_only_what_a_tool_would_do_names_it(kind: Kind, tool: str, short: str, size: str) -> None:
    asked = question(kind, tool)
    assert words.short(asked) == short
    assert ("The question is about this" in words.document(asked)) == bool(size)
    assert size in words.document(asked)


@pytest.mark.parametrize(("kind", "where"), [(Kind.FILE, ""), (Kind.OUTSIDE, " outside the workspace")])
@pytest.mark.parametrize(("changes", "verb"), [(True, "change"), (False, "read"), (None, "use")])
def test_it_says_whether_files_would_be_read_or_changed(
    kind: Kind, where: str, changes: bool | None, verb: str
) -> None:
    asked = replace(question(kind, "read_file"), changes_files=changes)
    assert words.heading(asked) == f"May the agent {verb} this file{where}?"
    several = f"May the agent {verb} these files{where}?"
    assert words.heading(replace(asked, subject="a.py, b.py")) == several
    assert words.heading(replace(asked, tool="list_files", subject="src")) == several, "it may be a folder"


@pytest.mark.parametrize(
    ("subject", "files", "whose"),
    [
        ("a.py", "this new file, which was moved away,", "Its"),
        ("a/", "these new files, which were moved away,", "Their"),
        ("a, b", "these new files, which were moved away,", "Their"),
    ],
)
def test_files_that_appeared_are_one_or_several(subject: str, files: str, whose: str) -> None:
    asked = replace(question(Kind.APPEARED, "terminal"), subject=subject, diff="+one")
    assert words.heading(asked) == f"May {files} be put back?"
    assert f"\n{whose} contents:\n" in words.document(asked)


@pytest.mark.parametrize(
    ("subject", "size"), [("a", "1 character"), ("ab", "2 characters"), ("a\nb", "2 lines, 3 characters")]
)
def test_the_size_of_a_subject_is_that_of_the_text_below(subject: str, size: str) -> None:
    asked = replace(question(Kind.COMMAND, "terminal"), subject=subject)
    assert f"\nTool: terminal. The question is about this ({size}):\n" in words.document(asked)


@pytest.mark.parametrize(("count", "said"), [(1, "adds this rule:\n"), (2, "adds these rules:\n")])
def test_the_rules_that_an_answer_adds_are_counted(count: int, said: str) -> None:
    assert said in words.document(question(Kind.COMMAND, "terminal", *RULES[:count]))


@pytest.mark.parametrize(
    ("kind", "tool", "choices", "yes"),
    [
        (Kind.COMMAND, "terminal", LEAVE, "Allow once"),
        (Kind.SAVING, "save", (DENY, ALLOW, FOR_SESSION), "Allow once"),
        (Kind.FILE, "patch", (DENY, ALLOW, ALWAYS), "Allow once"),
        (Kind.COMMAND, "terminal", (DENY, ALLOW), "Yes"),  # in the background
        (Kind.APPEARED, "terminal", (DENY, ALLOW), "Yes"),
        (Kind.TOOL, words.OURSELVES, (DENY, ALLOW), "Yes"),
    ],
)
def test_a_yes_is_for_once_only_beside_one_that_lasts(
    kind: Kind, tool: str, choices: tuple[str, ...], yes: str
) -> None:
    asked = replace(question(kind, tool), choices=choices)
    assert words.choice_title(asked, ALLOW) == yes
    assert words.choice_title(asked, DENY) == "No"
    assert f"*No* · *{yes}*" in words.document(asked)
    assert f"Answer: {yes}.\n" in words.closing_words(asked, QuestionEnd.ANSWERED, ALLOW)
