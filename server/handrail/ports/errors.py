"""The errors that end a turn: raised anywhere, caught once at the outermost layer, and shown to the user."""

from __future__ import annotations

SEE_LOG = "The details are in handrail's log (in an editor: the log of the editor's language servers)."
INTERNAL_ERROR = f"Internal error in handrail. {SEE_LOG}"


class HandrailError(Exception):
    """The turn cannot go on; the message is for the user."""


class ProviderError(HandrailError):
    """The model cannot be reached, or cannot be used with these settings."""


class ProviderDown(ProviderError):
    """
    The model could not be reached, or its answer broke off. Trying again may help.

    Attributes:
        wait_s: The pause that the provider asks for, if any.
    """

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class CheckpointError(HandrailError):
    """A checkpoint could not be taken, read or found."""


class LostCheckpointError(CheckpointError):
    """A checkpoint was removed or is damaged: it can never be read again."""


class EditorGone(HandrailError):
    """The client's connection is lost."""


class ServedError(HandrailError):
    """A document for the user cannot be written."""
