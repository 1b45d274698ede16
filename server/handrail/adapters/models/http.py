"""
The HTTP client for models, which decompresses responses in small steps and up to a limit.

A few kilobytes of gzip can be gigabytes of text, in an answer or an error. HTTP libraries decompress
everything, so this is done here before they see it.
"""

from __future__ import annotations

import re
import ssl
import zlib
from collections.abc import AsyncIterator
from functools import cache
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
from pydantic_ai.models import DEFAULT_HTTP_TIMEOUT, get_user_agent

LIMIT_ANSWER_BYTES = 64_000_000  # the longest answers are some megabytes, with what is around them
LIMIT_ROW_BYTES = 4_000_000  # SDKs collect a row before they read it
LIMIT_ERROR_BYTES = 200_000  # of which people are shown some hundred characters
PIECE_BYTES = 65_536
CONNECT_S = 5.0
# Errors of a connection that was never made.
UNREACHED = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)
# What zlib is told for each encoding.
WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
PLAIN = ("", "identity")
LIMIT_SHOWN_BYTES = 1_000
ROWS = "application/x-ndjson"  # what a request accepts that is answered with JSON, one object a row
EVENTS = re.compile(rb"^\xef?\xbb?\xbf?(?:data|event|id|retry)?:", re.MULTILINE)
TAG = re.compile(r"<(?:script|style)\b.*?(?:</(?:script|style)>|$)|<[^>]*>?", re.DOTALL | re.IGNORECASE)


class NoAnswer(Exception):
    """A server answered a request with something other than a model's answer; says what, but not why."""


class Client(httpx2.AsyncClient):
    """An HTTP client whose responses are bounded."""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Send a request; see httpx2."""
        request.headers["Accept-Encoding"] = "gzip, deflate"
        response = await super().send(request, stream=True, **options)
        if stream and 300 <= response.status_code < 400:
            await response.aclose()
            raise NoAnswer(_redirection(response))
        encoding = response.headers.pop("Content-Encoding", "").strip().lower()
        if encoding not in PLAIN and encoding not in WINDOWS:
            await response.aclose()
            raise httpx2.DecodingError(
                f"The answer has an unsupported encoding, {encoding[:40]!r}.", request=request
            )
        response.headers.pop("Content-Length", None)
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            return response
        response.stream = Bounded(
            response, response.stream, encoding, is_events=stream and request.headers.get("Accept") != ROWS
        )
        if not stream:
            await response.aread()
        return response


class Bounded(httpx2.AsyncByteStream):
    """A body, unpacked; of an error the beginning, of an answer all or an error."""

    def __init__(
        self,
        response: httpx2.Response,
        raw: httpx2.AsyncByteStream,
        encoding: str,
        *,
        is_events: bool = False,
    ) -> None:
        self._response, self._raw, self._encoding = response, raw, encoding
        self._is_events = is_events and not response.is_error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, none of them large."""
        is_error = self._response.is_error
        left, row = LIMIT_ERROR_BYTES if is_error else LIMIT_ANSWER_BYTES, 0
        begin = b"" if self._is_events else None
        async for piece in self._pieces():
            if begin is not None:
                begin = _still_unknown(begin + piece)
            yield piece[:left]
            left -= len(piece)
            row = len(piece) - piece.rfind(b"\n") - 1 if b"\n" in piece else row + len(piece)
            if row > LIMIT_ROW_BYTES and not is_error:
                raise httpx2.ReadError(f"A line of the answer has more than {LIMIT_ROW_BYTES:,} bytes.")
            if left <= 0 and is_error:
                return
            if left < 0:
                raise httpx2.ReadError(f"The answer has more than {LIMIT_ANSWER_BYTES:,} bytes.")
        if begin:
            raise NoAnswer(_what(begin))

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self._encoding in PLAIN:
            async for raw in self._raw:
                yield raw
            return
        unpacking = zlib.decompressobj(WINDOWS[self._encoding])
        async for raw in self._raw:
            packed = raw
            while packed and not unpacking.eof:
                try:
                    piece = unpacking.decompress(packed, PIECE_BYTES)
                except zlib.error as error:
                    raise httpx2.DecodingError(str(error)) from error
                packed = unpacking.unconsumed_tail
                if piece:
                    yield piece

    async def aclose(self) -> None:
        """Close what it comes from."""
        await self._raw.aclose()


def _still_unknown(begin: bytes) -> bytes | None:
    """
    The beginning of an answer, if it does not show yet that events come; None once it does.

    Raises NoAnswer if it is a page or an object: asking again would bring the same.
    """
    if EVENTS.search(begin) is not None:
        return None
    begin = begin.lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.startswith((b"<", b"{", b"[")):
        raise NoAnswer(_what(begin))
    return begin if len(begin) < LIMIT_SHOWN_BYTES else None


def no_answer(said: str) -> NoAnswer:
    """The error for something that is not part of a model's answer."""
    return NoAnswer(_what(said.encode()))


def _what(body: bytes) -> str:
    """Describes a response, for people."""
    kind = "a web page" if body.startswith(b"<") else "a response that is not a stream"
    said = " ".join(TAG.sub(" ", body[:LIMIT_SHOWN_BYTES].decode(errors="replace")).split())
    return f"The model's server sent {kind} instead of an answer: {said!r}."


def _redirection(response: httpx2.Response) -> str:
    """Describes a redirect, for people, with the other address: often that is what the user has meant."""
    location = response.headers.get("Location", "")
    other = (
        f" to {without_login(urljoin(str(response.url), location))[:LIMIT_SHOWN_BYTES]}" if location else ""
    )
    return (
        f"The model's server redirects the request{other} (HTTP {response.status_code}), and handrail does "
        "not follow redirects."
    )


def without_login(url: str) -> str:
    """Returns an address as messages show it: without what may be a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that cannot be read"
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    return shown if parts.netloc else shown.rpartition("@")[2]  # a URL that is not well-formed


def client(base_url: str) -> Client:
    """A client for a server, with the limits of the SDKs' own."""
    return Client(
        timeout=httpx2.Timeout(DEFAULT_HTTP_TIMEOUT, connect=CONNECT_S),
        headers={"User-Agent": get_user_agent()},
        verify=_trust_context(has_tls=not base_url.lower().startswith("http://")),
    )


@cache
def _trust_context(*, has_tls: bool) -> ssl.SSLContext:
    """Whom to trust: all that Python does, which takes a while to read; no one where there is no TLS."""
    return httpx2.create_ssl_context() if has_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
