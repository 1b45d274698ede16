"""
Make the SDKs' clients send the long parts of a request unchanged.

The SDKs search each request for keys that Python spells differently. Requests from pydantic-ai have no such
keys, and the search takes a hundred times as long as sending a long conversation. Extra parts of the body are
not searched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LONG = ("messages", "input", "tools")  # the parts of a request that may be


def send_unchanged(resource: Any, **empty: object) -> None:
    """Have *resource* send the long parts of its requests as they are, and see what is *empty* instead."""
    create: Callable[..., Any] = resource.create

    async def body_as_is(*, extra_body: object = None, **options: object) -> object:
        long = {name: options.pop(name) for name in LONG if isinstance(options.get(name), list)}
        around = {**(extra_body if isinstance(extra_body, dict) else {}), **long}
        return await create(**{**empty, **options}, extra_body=around)

    resource.create = body_as_is
