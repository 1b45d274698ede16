"""
Let open failures follow a document that the user or another program renames.

An editor that says so is believed. From others we see only that a document appears with the text of one whose
file is gone.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.agent.host import Host
from handrail.core.documents.text import Text, to_lf
from handrail.core.ledger import ledger
from handrail.core.policy.place import Place


def follow(host: Host, renamed: Mapping[str, Place]) -> None:
    """
    Notes where documents are now, by their identities before.

    Nothing is shown yet, because the failures have no positions until the text there is observed.
    """
    for identity, place in renamed.items():
        if identity != place.identity:
            host.ledger = ledger.rename(host.ledger, identity, place)


async def find_renamed(host: Host, opened: Place, text: Text) -> bool:
    """Returns whether a document that was just *opened* is the one that is gone and had its *text*."""
    alike = ledger.documents_with(host.ledger, to_lf(text.content)) if text.content.strip() else {}
    if not alike or any(mutation.identity == opened.identity for mutation in host.ledger.mutations):
        return False
    gone = [name for name, uri in alike.items() if await host.ports().editor.read_bytes(uri) is None]
    if len(gone) == 1:
        host.ports().renames.on_rename(gone[0], opened.uri)
        follow(host, {gone[0]: opened})
    return len(gone) == 1
