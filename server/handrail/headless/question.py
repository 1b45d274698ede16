"""
Questions in a terminal, and the meaning of a typed line.

A request for permission is answered with a letter; anything else is a no. A question of the model is answered
with a number, or in other words; an empty line is not an answer. Input that was typed before a question was
shown never answers it.
"""

from collections.abc import Mapping
from typing import Any

from handrail.headless.terminal import CANNOT_ASK, hang
from handrail.values import dataclass

NO = "deny"
QUESTION = "question"  # the kind of the model's own questions
# The choices of a question for leave, by letter; the last one is what an empty line means.
LETTERS = (("y", "allow"), ("s", "session"), ("a", "always"), ("N", NO))
MEANING = {"session": "s: yes, in this conversation", "always": "a: always, in this workspace"}
# How a question has ended, by the choice; that a question by the model has no answer denies nothing.
ANSWERED = {
    NO: "denied",
    "allow": "allowed",
    "session": "allowed in this conversation",
    "always": "always allowed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A `handrail/approval/request`."""

    id: str
    kind: str
    tool: str
    subject: str
    detail: str
    choices: tuple[str, ...]
    folder: str = ""
    rules: tuple[str, ...] = ()
    diff: str = ""
    takes_text: bool = False

    @staticmethod
    def of(params: Mapping[str, Any]) -> "Question":
        """Read the params; what is missing is empty."""
        texts = ("id", "kind", "tool", "subject", "detail", "folder", "diff")
        given = {name: str(params.get(name) or "") for name in texts}
        choices, rules = _strings(params.get("choices")), _strings(params.get("rules"))
        return Question(**given, choices=choices, rules=rules, takes_text=params.get("takesText") is True)

    @property
    def asks_permission(self) -> bool:
        """Whether it is about something that is to be done."""
        return self.kind != QUESTION if self.kind else "allow" in self.choices

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that can be chosen for the model's own question."""
        return tuple(choice for choice in self.choices if choice != NO)

    @property
    def text(self) -> str:
        """The question as people read it; further lines of its parts are indented."""
        subject, detail = hang(self.subject), hang(self.detail)
        if not self.asks_permission:
            return subject
        if self.tool == "handrail":  # not for a tool, but whether the turn may continue
            return f"May the turn continue? {subject}. {detail}".strip()
        if self.kind == "appeared":
            is_one = ", " not in self.subject and not self.subject.endswith("/")
            were = "this new file, which was" if is_one else "these new files, which were"
            return f"May {were} moved away, be put back: {subject}? {detail}".strip()
        if self.kind == "saving":
            documents = "these documents" if ", " in self.subject else "this document"
            return f"May {documents} be saved: {subject}? {detail}".strip()
        return f"Allow {self.tool}: {subject}? {detail}".strip()

    @property
    def unanswered(self) -> str:
        """The message if no one can be asked."""
        end = "" if self.text.endswith((".", "?", "!")) else "."
        if self.asks_permission:
            return f"{self.text}{end} Not allowed, because {CANNOT_ASK} To allow it, give --yes."
        return f"{self.text}{end} Not answered, because {CANNOT_ASK}"

    @property
    def prompt(self) -> str:
        """All of the question, with what can be typed."""
        if not self.asks_permission:
            return f"{self.head}\n{self.hint}"
        diff = self.diff.rstrip("\n").split("\n") if self.diff else []
        more = f" ({self.more})" if self.more else ""
        return "\n".join([self.head, *diff, *map(hang, self.notes)]) + f"{more} {self.hint}"

    @property
    def head(self) -> str:
        """The question; a question by the model has its choices too."""
        choices = () if self.asks_permission else enumerate(self.answers, 1)
        return self.text + "".join(f"\n  {number}: {hang(choice)}" for number, choice in choices)

    @property
    def notes(self) -> tuple[str, ...]:
        """More information about what is to be done."""
        folder = f"It runs in the folder {self.folder}."
        notes = [folder] if self.asks_permission and self.folder not in ("", ".") else []
        rules = self.rules if self.more else ()
        letters = " or ".join(
            f"`{letter}`" for letter, choice in LETTERS if choice in MEANING.keys() & set(self.choices)
        )
        return (*notes, *(f"With {letters}, handrail adds this rule: {rule}" for rule in rules))

    @property
    def more(self) -> str:
        """The meaning of the letters that allow more than this."""
        return "; ".join(
            MEANING[choice] for choice in self.choices if self.asks_permission and choice in MEANING
        )

    @property
    def hint(self) -> str:
        """The letters that can be typed, in brackets; an empty line is the capital one."""
        if not self.asks_permission:
            own = ", or your own answer" if self.takes_text else ""
            return f"[1-{len(self.answers)}{own}]"
        return f"[{'/'.join(letter for letter, choice in LETTERS if choice in self.choices)}]"

    def is_clear(self, typed: str) -> bool:
        """Whether a typed line is one of the answers that can be typed, or nothing."""
        word = typed.strip().lower()
        if not self.asks_permission:
            return not word or self.takes_text or self.meant_choice(typed) != NO
        words = {letter.lower() for letter, choice in LETTERS if choice in self.choices}
        return word in {"", "n", "no", *words, *(("yes",) if "y" in words else ())}

    def meant_choice(self, typed: str) -> str:
        """The choice that a typed line means."""
        word = typed.strip().lower()
        if self.asks_permission:
            by_letter = {letter.lower(): choice for letter, choice in LETTERS} | {"yes": "allow", "": NO}
            choice = by_letter.get(word, NO)
            return choice if choice in self.choices else NO
        number = int(word) if word.isascii() and word.isdigit() and len(word) < 9 else 0
        if 1 <= number <= len(self.answers):
            return self.answers[number - 1]
        return typed.strip() if word and self.takes_text else NO


def how_it_ended(event: Mapping[str, Any]) -> str:
    """Returns how a question ended, by its `approval` event, as words before its subject."""
    asks_permission, choice = event.get("asksPermission") is not False, str(event.get("choice"))
    match event.get("end"):
        case "withdrawn":
            return "question withdrawn"
        case "timedOut" if not event.get("call"):  # handrail asks, such as whether the turn may continue
            return "not answered, so the answer is no"
        case "timedOut":
            return "not answered, so not allowed" if asks_permission else "no answer"
        case _ if not event.get("call") and choice in (NO, "allow"):
            return "answered no" if choice == NO else "answered yes"
        case _ if choice == NO and not asks_permission:
            return "no answer"
        case _:
            return ANSWERED.get(choice, f'answered "{choice}"')


def _strings(given: object) -> tuple[str, ...]:
    return tuple(each for each in given if isinstance(each, str)) if isinstance(given, list) else ()
