"""
Make files writable for a restore if the turn left them read-only.

Whoever else made a file read-only does not want it changed, so it stays as it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from handrail.core.checkpoint import Restoration
from handrail.ports import Ports

OF_OWNER, OF_ANYONE = 0o200, 0o222  # the bits that allow writing


@asynccontextmanager
async def made_writable(ports: Ports, each: Restoration) -> AsyncIterator[None]:
    """Keeps a file that the turn left read-only writable for the block; then its permissions come back."""
    now, mode = await ports.editor.read_image(each.uri), each.after.mode if each.after else None
    if now is None or now.raw is None or now.is_link or mode is None or now.mode != mode or mode & OF_ANYONE:
        yield
        return
    await ports.editor.put(each.uri, now.raw, now.raw, mode | OF_OWNER)
    try:
        yield
    finally:  # also if the restore is stopped
        raw = await ports.editor.read_bytes(each.uri)
        if raw is not None:
            is_restored = raw != now.raw and each.before.mode is not None
            await ports.editor.put(each.uri, raw, raw, each.before.mode if is_restored else mode)
