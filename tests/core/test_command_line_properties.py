"""What holds of every command line, pattern and list of arguments: found by chance, not by cases."""

from __future__ import annotations

import fnmatch
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from core.test_properties import quick
from handrail.core.policy.commands import git, glob, line
from handrail.core.policy.commands.known import Known, find_command
from handrail.core.policy.commands.line import Kind, NeedsShell
from handrail.core.policy.commands.options import Below
from handrail.core.policy.commands.table import TABLE

PIECES = (
    *"$`'\"\\(){}[]<>|&;*?#~! \n\t=-a2é,.:^",
    *(
        "&&",
        "||",
        "ls",
        "a.txt",
        "'a b'",
        '"a b"',
        "\\\n",
        " \\\n",
        "2>&1",
        ">/dev/null",
        "$(",
        "<<",
        "${",
        "<(",
        "*.py",
    ),
)
lines = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
words = st.text("ab-=/.*@+:,{}!~ 2", max_size=6)
names = st.sampled_from(sorted({*TABLE, "git", "rm", "xargs"}))
options = st.sampled_from(
    ["-r", "-o", "--output", "-n5", "-la", "--", "-", "--color=always", "-exec", "-f", "-e"]
)
subcommands = st.sampled_from([*git.SUBCOMMANDS, "commit", "fetch"]).map(str.split)


@quick
@given(lines)
def test_every_character_of_a_line_belongs_to_one_token(text: str) -> None:
    found = line.tokens(text)
    if isinstance(found, NeedsShell):
        return
    assert "".join(text[token.start : token.end] for token in found) == text
    assert all(left.end == right.start for left, right in pairwise(found))
    assert all((token.kind is Kind.WORD) == (token.word is not None) for token in found)


@quick
@given(lines)
def test_what_is_read_of_a_line_is_all_of_it(text: str) -> None:
    found = line.read(text)
    if isinstance(found, NeedsShell):
        assert found.why
        return
    commands = [command for pipeline in found for command in pipeline.commands]
    assert all(command.words for command in commands)
    tokens = line.tokens(text)
    assert not isinstance(tokens, NeedsShell)
    read = [word for command in commands for word in command.words]
    negations = sum(pipeline.negated for pipeline in found)
    assert len(read) + negations == sum(token.kind is Kind.WORD for token in tokens)
    joints = sum(token.text in ("|", "&&", "||") for token in tokens if token.kind is Kind.OPERATOR)
    assert joints <= len(commands) - 1


@quick
@given(st.text("ab.*?[]!^-", max_size=8), st.text("ab.-", max_size=8))
def test_a_pattern_matches_as_python_has_it(pattern: str, name: str) -> None:
    word = line.read(f"ls {pattern}")
    if isinstance(word, NeedsShell) or not word[0].commands[0].words[1:]:
        return
    found = word[0].commands[0].words[1]
    if not found.pattern or not name:
        return
    expected = fnmatch.fnmatchcase(name, pattern.replace("[^", "[!"))
    is_hidden = name.startswith(".") and not pattern.startswith(".")
    assert glob.matches(found.pattern, name) is (expected and not is_hidden)


@quick
@given(names, st.lists(st.one_of(words, options), max_size=5))
def test_whatever_the_words_are_they_are_known_or_not(name: str, arguments: list[str]) -> None:
    found = find_command((name, *arguments), "text")
    if isinstance(found, Known):
        assert name in TABLE or name == "git"
        left = iter(found.arguments)
        assert all(word in left for word in arguments)  # in this order, with ours among them
    else:
        assert found.endswith(".")


@quick
@given(subcommands, st.lists(st.one_of(words, options), max_size=5))
def test_git_is_always_given_its_settings(subcommand: list[str], arguments: list[str]) -> None:
    found = find_command(("git", *subcommand, *arguments), "text")
    if isinstance(found, Known):
        assert found.arguments[: len(git.options())] == git.options()
        assert found.meant.below is Below.NOTHING
