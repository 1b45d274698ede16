"""
Ask the server of a model which models it has.

`formats` has the address and the format of the list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2

from handrail.adapters.models.address import Address, usable
from handrail.adapters.models.formats import Listing, format_of
from handrail.adapters.models.http import UNREACHED, client
from handrail.adapters.models.keys import Keys
from handrail.adapters.models.window import NAMES
from handrail.core.failure import why_not_json
from handrail.core.results import redact
from handrail.ports.errors import ProviderError
from handrail.ports.models import KnownModel, ModelChoice

PATIENCE_S = 15.0  # a list of some hundred models, from far away
LIMIT_MODELS = 2_000
CHECK = "Check the network or, if it is your own server, that it is running."

Json = Mapping[str, Any]


async def models(choice: ModelChoice, keys: Keys) -> tuple[KnownModel, ...]:
    """
    Returns the models of the chosen model's server, by name; none if it has no server.

    Raises:
        ProviderError: The server does not tell, is not there, or wants another key.
    """
    kind = choice.model.partition(":")[0]
    if kind in ("paste", "scripted", "record", "editor"):
        return ()
    address = await asyncio.to_thread(usable, choice, keys)  # which may ask the keyring
    form = format_of(address.kind)
    base = (address.base_url or (form.home if form is not None else "")).rstrip("/")
    if not base:
        raise ProviderError(f"handrail does not know where {kind!r} lists its models.")
    where = urlsplit(base).hostname or "The model's server"
    listing = form.listing if form is not None else Listing()
    try:
        found = await asyncio.wait_for(_entries(address, base, listing), PATIENCE_S)
    except (TimeoutError, httpx2.TransportError) as error:
        raise ProviderError(_why_no_list(where, error, keys.secrets(choice.key_name))) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        reason = redact.redact(str(error).rstrip("."), keys.secrets(choice.key_name))
        raise ProviderError(f"{where} does not list its models: {reason}.") from error
    known = {each.model: each for each in _read_models(kind, found)}
    return tuple(known[name] for name in sorted(known)[:LIMIT_MODELS])


def _why_no_list(where: str, error: TimeoutError | httpx2.TransportError, secrets: Sequence[str]) -> str:
    """Returns what is wrong with a server that has sent no list, or no whole one."""
    if isinstance(error, (TimeoutError, httpx2.TimeoutException)):
        return f"{where} has not listed its models within {PATIENCE_S:.0f} seconds. {CHECK}"
    reason = redact.redact(str(error), secrets).rstrip(".") or type(error).__name__
    if isinstance(error, UNREACHED):
        return f"{where} cannot be reached, so its models cannot be listed. {reason}. {CHECK}"
    return f"{where} was reached, but did not send a whole list of its models. {reason}."


async def _entries(address: Address, base: str, listing: Listing) -> list[object]:
    async with client(base) as http:
        http.timeout = httpx2.Timeout(PATIENCE_S)
        http.headers.update(listing.headers(address.key))
        root = base.removesuffix("/v1") if listing.is_below_root else base
        return await _list(http, f"{root}{listing.path}", listing.under)


async def _list(http: httpx2.AsyncClient, url: str, under: str) -> list[object]:
    response = await http.get(url)
    if not response.is_success:
        hint = " It rejects the key." if response.status_code in (401, 403) else ""
        raise ValueError(f"it answers HTTP {response.status_code}.{hint}")
    try:
        body = response.json()
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its answer is not valid JSON: {why_not_json(error)}.") from error
    entries = body.get(under) if isinstance(body, dict) else body
    if not isinstance(entries, list):
        raise ValueError(f"its answer has no list under {under!r}.")
    return entries


def _read_models(kind: str, entries: list[object]) -> Iterator[KnownModel]:
    for each in entries:
        if not isinstance(each, dict):
            continue
        name = each.get("id") or each.get("model") or each.get("name")
        if not isinstance(name, str) or not name.strip():
            continue
        title = each.get("display_name") or each.get("name") or ""
        tokens = next((each[key] for key in NAMES if _is_count(each.get(key))), None)
        yield KnownModel(
            model=f"{kind}:{name}",
            title=title if isinstance(title, str) and title != name else "",
            window=tokens,
        )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
