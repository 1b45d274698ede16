"""Tell whether two URIs name the same document, or the same path."""

from __future__ import annotations

from handrail.core.failure import Failure
from handrail.ports import Ports


def identity(ports: Ports, uri: str) -> str:
    """Returns an identity for a document that does not depend on the spelling of its URI."""
    place = ports.workspace.resolve(uri)
    return uri if isinstance(place, Failure) else place.identity


def unfollowed_identity(ports: Ports, uri: str) -> str:
    """
    Returns an identity for a path that does not depend on the spelling of its folder; does not follow a link
    there.
    """
    folder, _, name = uri.rpartition("/")
    return f"{identity(ports, folder)}/{name}"
