"""The editor of these tests."""

from handrail.testing.editor import (
    NOWHERE,
    TIMEOUT_S,
    UNKNOWN,
    Behaviour,
    Editor,
    RefusedError,
    refused,
)

__all__ = ["NOWHERE", "TIMEOUT_S", "UNKNOWN", "Behaviour", "Editor", "RefusedError", "refused"]
