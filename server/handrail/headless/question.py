"""
What a person is asked on a terminal, and what a typed line means.

A question for leave is answered with a letter, any other with the number of a choice; all else is no answer,
which the server takes for no.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# The choices of a question for leave, by letter; the last one is what an empty line means.
LETTERS = (("y", "allow"), ("s", "session"), ("a", "always"), ("N", "deny"))
MEANING = {"session": "s: yes, for this session", "always": "a: always, in this folder"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A `handrail/approval/request`."""

    tool: str
    subject: str
    detail: str
    choices: tuple[str, ...]

    @staticmethod
    def of(params: Mapping[str, Any]) -> "Question":
        """Read the params; what is missing is empty."""
        tool, subject, detail = (str(params.get(part) or "") for part in ("tool", "subject", "detail"))
        given = params.get("choices")
        choices = tuple(each for each in given if isinstance(each, str)) if isinstance(given, list) else ()
        return Question(tool=tool, subject=subject, detail=detail, choices=choices)

    @property
    def asks_leave(self) -> bool:
        """Whether it is about something that is to run."""
        return "allow" in self.choices

    @property
    def text(self) -> str:
        """The question as people read it."""
        return (
            f"Allow {self.tool} on {self.subject}? {self.detail}".strip() if self.asks_leave else self.subject
        )

    @property
    def unanswered(self) -> str:
        """What is said where nobody can be asked."""
        no = "which is a no; --yes allows it." if self.asks_leave else "so it is not answered."
        return f"{self.text} Nobody is here to ask, {no}"

    @property
    def prompt(self) -> str:
        """The question with what can be typed."""
        if not self.asks_leave:
            numbered = "".join(f"\n  {number}: {choice}" for number, choice in enumerate(self.choices, 1))
            return f"{self.text}{numbered}\n[1-{len(self.choices)}]"
        letters = "/".join(letter for letter, choice in LETTERS if choice in self.choices)
        more = ", ".join(MEANING[choice] for choice in self.choices if choice in MEANING)
        return f"{self.text}{f' ({more})' if more else ''} [{letters}]"

    def meant(self, typed: str) -> str | None:
        """The choice that a typed line means."""
        word = typed.strip().lower()
        if self.asks_leave:
            by_letter = {letter.lower(): choice for letter, choice in LETTERS} | {"yes": "allow", "": "deny"}
            choice = by_letter.get(word, "deny")
            return choice if choice in self.choices else None
        number = int(word) if word.isascii() and word.isdigit() else 0
        return self.choices[number - 1] if 1 <= number <= len(self.choices) else None
