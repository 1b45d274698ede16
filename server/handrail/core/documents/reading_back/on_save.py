"""
Tell what a save made of a text: formatters run then, and the user may type at the same time.

What a formatter does when we have the editor save a document belongs to our edit, but what the user types
does not. Both are seen only as a difference of two texts, so a difference that looks like typing counts as
typing. A formatter inserts marks and blanks, moves rows and replaces words; it hardly ever inserts a word.

    >>> may_be_typed("x = 'a'\\n", 'x = "a"\\n')
    False
    >>> may_be_typed("x = a\\n", "x = ab\\n")
    True
    >>> may_be_typed("import b\\nimport a\\n", "import a\\nimport b\\n")
    False
"""

from __future__ import annotations

from handrail.core.documents.edit import TextEdit, apply, edits_between, rebase
from handrail.core.documents.text import Text

LIMIT_TYPED = 20  # characters that a user types during a save


def may_be_typed(before: str, after: str) -> bool:
    """Whether the user may have typed a part of the difference of two texts."""
    return any(_is_like_typing(before, each) for each in edits_between(before, after))


def carry_over(ours: Text, before: str, after: str) -> Text:
    """Returns a text with what a save changed in another one, if that collides with no difference of both."""
    moved = rebase(Text(before), edits_between(before, after), ours.content)
    if any(each.conflict for each in moved):
        return ours
    return Text(apply(ours.content, [each.edit for each in moved]), ours.encoding, ours.bom)


def _is_like_typing(before: str, edit: TextEdit) -> bool:
    """Whether an edit only inserts a word or a short new row, or only removes a character of a row."""
    gone = before[edit.span.start : edit.span.end]
    if edit.new and gone:
        return False
    if edit.new.strip() in {row.strip() for row in before.splitlines()}:
        return False  # the formatter has sorted the rows
    limit = LIMIT_TYPED if edit.new else 1
    return len(edit.new + gone) <= limit and any(map(str.isalnum, edit.new + gone))
