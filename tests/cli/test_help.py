"""`--help` of every command, on any terminal."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest

from handrail.cli.parser import parser


def parsers(of: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield of
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers(each)


@pytest.mark.parametrize("columns", ["20", "80"])
@pytest.mark.parametrize("which", list(parsers(parser())), ids=lambda each: each.prog)
def test_help_is_shown(columns: str, which: argparse.ArgumentParser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = which.format_help()
    assert text.isascii(), "a terminal may know no other letters"
    assert "  2  " in text or not which.epilog


@pytest.mark.parametrize("which", list(parsers(parser())), ids=lambda each: each.prog)
def test_help_says_what_a_command_does(which: argparse.ArgumentParser) -> None:
    said = which.description or ""
    assert said[:1].isupper(), said
    assert said.endswith("."), said


@pytest.mark.parametrize("command", [["run"], ["apply"], ["session", "resume"]])
def test_exit_codes_are_told(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args([*command, "--help"])
    said = capsys.readouterr().out
    assert "exit codes:" in said
    assert ("or there were no edits" in said) is (command != ["apply"]), "a reply without edits is an error"


def test_only_a_command_that_asks_takes_yes_for_granted() -> None:
    asking = {each.prog for each in parsers(parser()) if "--yes" in each.format_help()}
    assert asking == {
        f"handrail {each}"
        for each in (
            "run",
            "chat",
            "apply",
            "session resume",
            "session delete",
            "checkpoint prune",
            "layer copy",
        )
    }


@pytest.mark.parametrize("which", list(parsers(parser())), ids=lambda each: each.prog)
def test_help_names_only_arguments_that_the_command_has(which: argparse.ArgumentParser) -> None:
    arguments = {str(each.metavar) for each in which._actions if each.metavar and not each.option_strings}
    known = {str(each.metavar) for other in parsers(parser()) for each in other._actions if each.metavar}
    of_others = {each for each in known if each.isupper()} - arguments
    for action in which._actions:
        own = set(re.findall(r"[A-Z]+", str(action.metavar)))
        named = set(re.findall(r"(?<![:/=\w])[A-Z]{2,}(?![\w.:])", action.help or ""))
        assert not (named & of_others) - own, action.help


@pytest.mark.parametrize("command", ["run", "chat", "session resume"])
def test_help_says_about_which_commands_a_rule_leaves_a_question(command: str) -> None:
    which = next(each for each in parsers(parser()) if each.prog == f"handrail {command}")
    text = " ".join(which.format_help().split())
    for reason in ("runs in the background", "names a protected file", "needs more access"):
        assert reason in text
