"""
Words that may not be known before a shell runs, and the commands that a command made of them runs.

A mark in a word stands for text that is not known: `$X/a` is a mark and `/a`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.values import dataclass

ANY = "\0"  # any text, which may become several words
ONE = "\1"  # any text within one word
MARK = re.compile(f"[{ANY}{ONE}]")

Words = tuple[str, ...]


def is_known(word: str) -> bool:
    """Whether a word is written out."""
    return MARK.search(word) is None


def base_name(word: str) -> str:
    """Returns the name of a program without its folder."""
    return word.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """
    The commands that a command runs.

    Attributes:
        commands: The commands that it runs, as words.
        maybe: Words that are a command if they are not arguments of something else.
        texts: Command lines that it gives to a shell.
        unclear: Why there may be more, as the words after "because of"; empty if there are not.
    """

    commands: tuple[Words, ...] = ()
    maybe: tuple[Words, ...] = ()
    texts: tuple[str, ...] = ()
    unclear: str = ""


NOTHING = Runs()


def of_text(name: str, words: Sequence[str]) -> Runs:
    """Returns the commands of a program of that *name* that gives *words* to a shell."""
    text = " ".join(words)
    if not is_known(text):
        return Runs(unclear=f"the text that `{name}` runs, which only the shell can work out")
    return Runs(texts=(text,))
