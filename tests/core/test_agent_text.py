"""Whether all unsaved text of a document is the agent's, after any edits, typing and undoing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handrail.core.documents.edit import edits_between
from handrail.core.documents.reading_back.agent_text import LIMIT_TEXTS, AgentText

DISK = "".join(f"row {number}\n" for number in range(6))
Acts = list[tuple[str, int]]
acts = st.lists(st.tuples(st.sampled_from(["edit", "edit", "type", "remove", "undo"]), st.integers(0, 9)))


def play(acts: Acts) -> tuple[AgentText, str, bool]:
    """Plays the acts; returns what is known of the text, the text, and whether the user has typed at all."""
    known, now, past, has_typed = AgentText(saved=None, texts=(DISK,)), DISK, [DISK], False
    for count, (act, at) in enumerate(acts):
        rows = now.splitlines(keepends=True)
        if act == "edit":
            rows[at % len(rows) : at % len(rows) + 1] = [f"agent {count}\n"]
            after = "".join(rows)
            known = known.add_edit(now, after, [(now, edits_between(now, after))])
            now = after
        elif act == "type":
            rows.insert(at % len(rows), f"user {count}\n")
            now, has_typed = "".join(rows), True
        elif act == "remove":
            now = "".join(row for row in rows if not row.startswith("user"))
        elif len(past) > 1:
            now = past.pop()
            continue
        past.append(now)
    return known, now, has_typed


@given(acts)
def test_text_with_a_row_of_the_users_is_never_all_the_agents(acts: Acts) -> None:
    known, now, _ = play(acts)
    assert not (known.is_all_of(now) and "user" in now)


@given(acts.map(lambda acts: [each for each in acts if each[0] == "edit"]))
def test_text_of_edits_alone_is_all_the_agents(acts: Acts) -> None:
    known, now, has_typed = play(acts)
    assert (known.is_all_of(now), has_typed) == (True, False)
    assert len(known.texts) <= LIMIT_TEXTS
    assert known.texts[0] == DISK


def test_an_edit_of_the_users_rows_makes_it_unknown_and_their_removal_does_not() -> None:
    known = AgentText(saved=None, texts=("one\n",))
    typed = "one\nuser\n"
    changed = known.add_edit(typed, "one\nuser!\n", [(typed, edits_between(typed, "one\nuser!\n"))])
    assert changed.texts == ()
    removed = known.add_edit(typed, "one\n", [(typed, edits_between(typed, "one\n"))])
    assert removed.is_all_of("one\n")
