"""
Messages between the server and the process that talks to models: pickled values, preceded by their lengths.

Both ends are ours, and no other process has the pipes.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from typing import BinaryIO

from handrail.adapters.models.address import Address
from handrail.core.conversation.message import Message, Piece, ToolOffer
from handrail.values import dataclass

HEAD_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Have a model ready; answered by Opened or Failed. What follows names the model by this *id*."""

    id: int
    address: Address
    default_context: int
    silence_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Learn:
    """Find out how much a model reads; answered by Opened or Failed."""

    id: int
    model: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Ask a model; answered by Said, as often as there is something, then by Opened or Failed."""

    id: int
    model: int
    messages: Sequence[Message]
    tools: Sequence[ToolOffer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """No one waits for a request; has no answer."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A request is done, and by now so many tokens of context are known of its model."""

    id: int
    context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The pieces of an answer that came since the last time."""

    id: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """
    A request has failed.

    Attributes:
        message: As the user reads it; empty for an error of ours, of which *log* tells.
        is_down: Whether asking again may help.
        wait_s: The pause that the model's server asks for.
    """

    id: int
    message: str = ""
    is_down: bool = False
    wait_s: float | None = None
    log: str = ""


Request = Open | Learn | Ask | Cancel
Answer = Opened | Said | Failed


def pack(frame: Request | Answer) -> bytes:
    """A frame as it is sent."""
    body = pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)
    return len(body).to_bytes(HEAD_BYTES, "big") + body


def read(stream: BinaryIO) -> Request | Answer | None:
    """The next frame of a pipe; None if the other end has gone."""
    head = stream.read(HEAD_BYTES)
    size = int.from_bytes(head, "big")
    body = stream.read(size) if len(head) == HEAD_BYTES else b""
    return _unpack(body) if body and len(body) == size else None


async def receive(stream: asyncio.StreamReader) -> Request | Answer:
    """The next frame of a pipe that asyncio reads. Raises IncompleteReadError if the other end has gone."""
    size = int.from_bytes(await stream.readexactly(HEAD_BYTES), "big")
    return _unpack(await stream.readexactly(size))


def _unpack(body: bytes) -> Request | Answer:
    message: Request | Answer = pickle.loads(body)
    return message
