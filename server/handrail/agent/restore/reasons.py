"""Why a restore leaves a document as it is, for the user: what is in the way, and what to do about it."""

from __future__ import annotations

LEFT_UNCHANGED = " The document was left unchanged."
CHANGED_AGAIN = (
    "The lines to restore, or text next to them, have changed since, so it is unclear what to restore."
    f"{LEFT_UNCHANGED}"
)
CREATED = (
    "This file was to be deleted, because it did not exist before. It has changed since, so it was kept."
)
DELETED = "This document was deleted, and it has been created again since. The new one was kept."
NO_TEXT = "The document was not a text file before the change. It was left unchanged."
CHANGED_WHOLE = (
    "This file cannot be read as text, or could not be before the change, and it has changed since. Such a "
    "file is restored only if nothing else has changed it, so it was left as it is."
)
OPEN = (
    "This file, or what it was before the change, cannot be read as text. Close it, then try again. (Some "
    "editors keep a file open for a few minutes after you close its tab.)"
)
FORM_STAYS = (
    "The lines are as they were, but the line endings, the byte order mark or the encoding are not. They "
    "cannot be changed back, because other text of the document has changed since."
)
FORM_STAYS_OPEN = (
    "The lines are as they were, but the line endings, the byte order mark or the encoding are not, because "
    "the document is open. Close it, then restore again."
)
KILLED = (
    "handrail ended while it was writing this document, so it cannot tell which changes are yours. Compare "
    "the document with the checkpoint, and change it by hand."
)
NOT_IN_PART = (
    "Only a text file that existed before and after the change, and can still be read at the same path, "
    "can be restored in part."
)
NO_FILE = (
    "This document had no file, and it is no longer open. If you saved it under a name, undo the change in "
    "that file: in the review, as long as the change is pending there, or else by hand."
)
GONE = (
    "The file has been deleted or renamed since. If you renamed it, give it its old name again, or open it "
    "in the editor under its new name; then restore again. Or undo its changes in the review, as long as "
    "they are pending there."
)
LINK_CHANGED = (
    "A link can only be restored as a whole, and this one has been changed or removed since. It was left "
    "as it is."
)


def of_text(reason: str) -> str:
    """Returns the reason for a document whose file was restored, but not its text in the editor."""
    why = reason.removesuffix(LEFT_UNCHANGED)
    return f"The file on disk was restored, but not the text in the editor. {why}"
