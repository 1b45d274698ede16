"""
Ask a model's server for the size of the model's context, if it reports it.

Ollama reports the window with which it has loaded a model (`/api/ps`), and before that the model's maximum or
configured window (`/api/show`); other servers list it with their models.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx2

from handrail.adapters.models.address import Address
from handrail.adapters.models.http import client
from handrail.values import dataclass

PATIENCE_S = 3.0  # a server that answers at all soon has a list
# By which servers call it: LM Studio, vLLM, llama.cpp, OpenRouter and others.
NAMES = ("loaded_context_length", "max_model_len", "n_ctx", "context_length", "context_window")
SET = re.compile(r"^\s*num_ctx\s+(\d+)", re.MULTILINE)

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """
    The size of a model's context in tokens; a size that is not final may shrink once the model is loaded.
    """

    tokens: int
    is_final: bool = True


async def read_from_list(address: Address) -> Window | None:
    """
    Returns the context size of a model according to its server's list of models. Raises
    httpx2.TransportError.
    """
    return await _read(address, _from_list)


async def read_from_ollama(address: Address) -> Window | None:
    """The same by Ollama's own requests."""
    return await _read(address, _from_ollama)


async def _read(
    address: Address, ask: Callable[[httpx2.AsyncClient, Address], Awaitable[Window | None]]
) -> Window | None:
    try:
        async with client(address.base_url) as http:
            http.timeout = httpx2.Timeout(PATIENCE_S)
            if address.key:
                http.headers["Authorization"] = f"Bearer {address.key}"
            return await ask(http, address)
    except httpx2.TransportError:
        raise
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError):
        return None


async def _from_list(http: httpx2.AsyncClient, address: Address) -> Window | None:
    listed = await _json(http, "GET", f"{address.base_url.rstrip('/')}/models")
    return _find_listed(_objects(listed.get("data")), address.name)


async def _from_ollama(http: httpx2.AsyncClient, address: Address) -> Window | None:
    for each in _objects((await _json(http, "GET", f"{address.root}/api/ps")).get("models")):
        names = {_whole(str(each.get(key, ""))) for key in ("name", "model")}
        if _whole(address.name) in names and (tokens := _count(each.get("context_length"))):
            return Window(tokens=tokens)
    shown = await _json(http, "POST", f"{address.root}/api/show", {"model": address.name})
    if chosen := SET.search(str(shown.get("parameters", ""))):
        return Window(tokens=int(chosen[1]), is_final=False)
    (facts,) = _objects([shown.get("model_info")]) or ({},)
    most = max((_count(fact) for name, fact in facts.items() if name.endswith(".context_length")), default=0)
    return Window(tokens=most, is_final=False) if most else None


def _find_listed(entries: list[Json], name: str) -> Window | None:
    mine = [each for each in entries if each.get("id") == name] or (entries if len(entries) == 1 else [])
    for each in mine:
        known = {**each, **next(iter(_objects([each.get("meta")])), {})}
        tokens = next(filter(None, (_count(known.get(key)) for key in NAMES)), 0)
        if tokens:
            return Window(tokens=tokens)
    return None


async def _json(http: httpx2.AsyncClient, method: str, url: str, body: Json | None = None) -> Json:
    response = await http.request(method, url, json=body)
    value = response.json() if response.is_success else {}
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _whole(name: str) -> str:
    """A model's name with its tag."""
    return name if ":" in name else f"{name}:latest"
