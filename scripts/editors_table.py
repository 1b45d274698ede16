"""
The table of docs/editors.md: what is tested in which editor.

A cell follows from the tests that there are: *yes* if an end-to-end test plays that client, *real* if one
runs the editor itself. That they pass, CI shows. Without arguments the table is written; with `--check`
nothing is, and the exit code says whether it is what it should be.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Set
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "editors.md"
BEGIN, END = "<!-- made by scripts/editors_table.py -->", "<!-- end -->"

# Columns: what it is called, the client of the end-to-end tests, the files of tests in the editor itself.
CLIENTS = (
    ("VS Code", "vscode", "test_vscode.py"),
    ("Neovim", "neovim", "test_neovim.py"),
    ("Emacs", "emacs", "test_emacs.py test_emacs_servers.py"),
    ("Emacs, lsp-mode", "lsp-mode", "test_lsp_mode.py"),
    ("Vim plugins", "vim", ""),
    ("Vim with ALE", "reader", "test_vim.py"),
)

# Rows: a feature, the end-to-end tests that show it, and the tests in real editors.
FEATURES: Mapping[str, tuple[str, ...]] = {
    "edits change unsaved text, byte for byte": (
        "test_turn.py::test_three_land_byte_exact",
        "test_scenarios.py::",
        "test_vscode.py::test_a_pasted_reply_in_vscode",
        "test_neovim.py::test_a_turn_with_four_patches",
        "test_emacs.py::test_a_turn_with_four_patches",
        "test_lsp_mode.py::test_a_conversation_through_lsp_mode",
    ),
    "an edit is offered as a code action": (
        "test_no_edits.py::test_an_edit_is_offered_and_told_as_landed_once_it_is_made",
        "test_vim.py::test_a_conversation_through_ale",
    ),
    "an edit that did not land is a diagnostic with quick fixes": (
        "test_turn.py::test_its_quick_fix_applies",
        "test_no_edits.py::test_a_fix_carries_its_edit",
        "test_vscode.py::test_a_pasted_reply_in_vscode",
        "test_neovim.py::test_the_whole_story_in_a_neovim_without_our_file",
        "test_emacs.py::test_a_conversation_through_eglot_alone",
        "test_lsp_mode.py::test_a_conversation_through_lsp_mode",
        "test_vim.py::test_a_conversation_through_ale",
    ),
    "you can type while edits arrive": (
        "test_typing.py::",
        "test_truth.py::",
        "test_neovim.py::test_typing_on_while_edits_arrive",
        "test_emacs.py::test_typing_on_while_edits_arrive",
        "test_lsp_mode.py::test_a_selection_typing_and_comments_through_lsp_mode",
    ),
    "the conversation as a document": (
        "test_chat.py::test_what_is_written_is_sent_and_answered_below",
        "test_no_edits.py::test_a_conversation_is_written_for_it_to_reload",
        "test_neovim.py::test_the_whole_story_in_a_neovim_without_our_file",
        "test_emacs.py::test_a_conversation_through_eglot_alone",
        "test_lsp_mode.py::test_a_conversation_through_lsp_mode",
        "test_vim.py::test_a_conversation_through_ale",
    ),
    "questions are answered in the conversation": (
        "test_chat.py::test_a_question_is_answered_where_it_stands",
        "test_vscode.py::test_questions_in_vscode",
        "test_neovim.py::test_a_question_takes_nothing_but_a_word_typed_in_full",
        "test_emacs.py::test_a_question_takes_nothing_but_a_word_typed_in_full",
        "test_lsp_mode.py::test_a_conversation_through_lsp_mode",
        "test_vim.py::test_a_conversation_through_ale",
    ),
    "ask about a selection": (
        "test_chat_ask.py::test_a_selection_is_quoted_where_the_user_goes_on",
        "test_neovim.py::test_the_same_by_the_commands_of_our_file",
        "test_emacs.py::test_a_conversation_by_the_commands_of_ours_beside_another_server",
        "test_lsp_mode.py::test_a_selection_typing_and_comments_through_lsp_mode",
    ),
    "`@names` and `/commands` are completed": (
        "test_chat_commands.py::test_names_and_commands_are_completed",
    ),
    "prompts in code comments (`handrail: …`)": (
        "test_prompts.py::test_its_first_edit_removes_the_comment_and_one_undo_brings_both_back",
    ),
    "changes can be kept or undone one by one": (
        "test_review.py::test_a_change_is_undone_at_the_cursor_and_the_other_one_kept",
        "test_vscode.py::test_changes_are_typed_in_undone_commented_on_and_committed",
        "test_neovim.py::test_changes_are_typed_in_undone_commented_on_and_committed",
        "test_emacs.py::test_changes_are_typed_in_undone_commented_on_and_committed",
        "test_lsp_mode.py::test_a_conversation_through_lsp_mode",
        "test_vim.py::test_a_conversation_through_ale",
    ),
    "the review document and comments": (
        "test_review_page.py::test_comments_are_sent_as_one_turn_and_show_what_answered_them",
        "test_vscode.py::test_changes_are_typed_in_undone_commented_on_and_committed",
        "test_neovim.py::test_changes_are_typed_in_undone_commented_on_and_committed",
        "test_emacs.py::test_changes_are_typed_in_undone_commented_on_and_committed",
        "test_lsp_mode.py::test_a_selection_typing_and_comments_through_lsp_mode",
    ),
    "a turn can be undone": (
        "test_turn.py::test_restore_brings_every_byte_back",
        "test_prompts.py::test_a_restore_brings_the_comment_back",
        "test_vscode.py::test_a_pasted_reply_in_vscode",
        "test_neovim.py::test_the_whole_story_in_a_neovim_without_our_file",
        "test_emacs.py::test_a_conversation_through_eglot_alone",
        "test_lsp_mode.py::test_a_conversation_through_lsp_mode",
    ),
    "each place is shown as it is edited": ("test_follow.py::test_each_place_is_shown_and_the_focus_stays",),
    "the model is told about new problems after edits": (
        "test_vscode.py::test_a_new_problem_is_told_to_the_model_and_mended",
        "test_neovim.py::test_a_new_error_is_told_to_the_model_and_mended",
        "test_emacs_servers.py::test_a_new_error_is_told_to_the_model_and_mended",
    ),
    "the model finds definitions, uses and symbols": (
        "test_vscode.py::test_a_new_problem_is_told_to_the_model_and_mended",
        "test_neovim.py::test_a_new_error_is_told_to_the_model_and_mended",
        "test_emacs_servers.py::test_a_new_error_is_told_to_the_model_and_mended",
    ),
    "the session continues after the server was killed (`kill -9`)": (
        "test_killed.py::",
        "test_chat.py::",
        "test_vscode.py::test_the_server_is_killed_and_is_of_another_version_in_vscode",
        "test_neovim.py::test_the_whole_story_in_a_neovim_without_our_file",
        "test_emacs.py::test_a_conversation_through_eglot_alone",
        "test_lsp_mode.py::test_a_conversation_through_lsp_mode",
    ),
}


def collected() -> list[str]:
    """The ids of all tests with and in editors."""
    argv = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*argv, "tests/e2e", "tests/editors"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [row for row in done.stdout.splitlines() if "::" in row]


def table(tests: list[str]) -> str:
    """The table as Markdown; raises KeyError for a test that is not there."""
    rows = [f"| | {' | '.join(name for name, _, _ in CLIENTS)} |", "|---|" + "---|" * len(CLIENTS)]
    for feature, wanted in FEATURES.items():
        found = {each: {test for test in tests if _is_named(test, each)} for each in wanted}
        if missing := [each for each, known in found.items() if not known]:
            raise KeyError(f"{feature}: there is no test {', '.join(missing)}")
        shown = set().union(*found.values())
        rows.append(f"| {feature} | {' | '.join(_cell(shown, *names) for _, *names in CLIENTS)} |")
    return "\n".join(rows)


def _is_named(test: str, wanted: str) -> bool:
    """Whether a test's id is that of a test, or of a file with `::` at the end."""
    path = test.partition("[")[0].rpartition("/")[2]
    return path.startswith(wanted) if wanted.endswith("::") else path == wanted


def _cell(shown: Set[str], client: str, real: str) -> str:
    is_played = any("/e2e/" in test and client in _parameters(test) for test in shown)
    is_real = any(f"/{file}::" in test for file in real.split() for test in shown)
    return "real" if is_real else "yes" if is_played else ""


def _parameters(test: str) -> list[str]:
    return test.partition("[")[2].rstrip("]").split("-")


def written(page: str, made: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{made}\n{END}{rest.partition(END)[2]}"


def main() -> int:
    """Write or check the page; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, say whether it is out of date")
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    now = written(page, table(collected()))
    if now == page:
        return 0
    print(f"docs/editors.md: {'out of date; run scripts/editors_table.py' if check else 'written'}")
    if not check:
        PAGE.write_text(now, encoding="utf-8", newline="\n")
    return int(check)


if __name__ == "__main__":
    raise SystemExit(main())
