"""Why a restore leaves a document as it is, for the user: what is in the way, and what to do about it."""

from __future__ import annotations

CHANGED_AGAIN = "Lines that the turn changed have changed again since. The document was left unchanged."
OPEN = (
    "This file is not text. Close it, then try again. (Some editors keep a file open for a few minutes after "
    "you close its tab.)"
)
KILLED = (
    "handrail ended while it was writing this document, so it cannot tell which changes are yours. Compare "
    "the document with the checkpoint, and change it by hand."
)
NOT_IN_PART = (
    "Only a text file that existed before and after the turn, and can still be read at the same path, can be "
    "restored in part."
)
LINK_CHANGED = (
    "A link can only be restored as a whole, and it has been changed or removed since. Nothing was restored."
)
