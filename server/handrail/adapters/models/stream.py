"""
One model with pydantic-ai: converts our messages, its stream, and its errors.

Problems of a stream are distinguished here: a stream that breaks off is an error worth a retry, whatever the
wire format; an empty answer is not an error; arguments are passed on as they were sent. `answer` reads what
comes, and checks its types. Importing this module takes a second, and each SDK as long; one that the model
does not need is never imported.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any, Literal, TypeVar

import httpx2
from pydantic import ValidationError
from pydantic_ai import exceptions
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.settings import ModelSettings

from handrail.adapters.models import answer, request
from handrail.adapters.models.address import IF_ELSEWHERE, Address
from handrail.adapters.models.formats import FORMATS, format_of, is_near
from handrail.adapters.models.http import UNREACHED, NoAnswer, without_login
from handrail.core.conversation import recover
from handrail.core.conversation.message import Message, Piece, Response, StopReason, ToolOffer
from handrail.core.results import redact, sanitize
from handrail.ports.errors import ProviderDown, ProviderError
from handrail.ports.models import Reasoning

EFFORTS: Mapping[Reasoning, Literal["none", "low", "medium", "high"]] = {
    Reasoning.OFF: "none",
    Reasoning.LOW: "low",
    Reasoning.MEDIUM: "medium",
    Reasoning.HIGH: "high",
}
NO_KEY = "none"  # local servers want none, and the SDKs insist on one
LIMIT_REASON_CHARS = 600
ATTEMPTS = 3  # as often a server that is not there is asked how much its model reads
END = object()
CANNOT_READ = "The answer of the model's server cannot be read:"
BROKEN_OFF = "The model's answer ended before it was complete."
STOPS = {
    "stop": StopReason.FINISH,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.REFUSED,
    "tool_call": StopReason.TOOL_CALLS,
}
AGAIN = (  # what waiting may mend
    exceptions.ModelRateLimitError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelConnectionError,
)
RETRIED_STATUS = {408, 409, 425, 429}
# Errors of an answer that came.
NOT_READ = (httpx2.DecodingError, UnicodeError, json.JSONDecodeError)
T = TypeVar("T")
# What the SDKs raise of what they cannot read.
UNREADABLE = (
    ValidationError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
)


class Engine:
    """A model that is ready to be asked."""

    def __init__(self, address: Address, default_context: int, silence_s: float) -> None:
        self._key, self._origin = address.key, f"{address.kind}:{address.name}"
        self._has_price = not is_near(address.base_url)
        known = self._format = format_of(address.kind)
        self._silence_s = silence_s
        self._settings = ModelSettings(timeout=silence_s, max_retries=0)  # the loop tries again, and says so
        if address.output_tokens:
            self._settings |= ModelSettings(max_tokens=address.output_tokens)
        self._has_cache_key = known is not None and known.takes_cache_key(address)
        self._address = address
        self._may_tell = ATTEMPTS if known is not None and known.tells_window(address) else 0
        try:
            self._model, always = _model(address)
        except _refusals() as error:
            raise ProviderError(self._reason(error)) from error
        self._settings = always | self._settings
        if address.reasoning is not None:
            self._settings |= _thinking_settings(address, address.reasoning)
        self.context_tokens = self._model.context_window or default_context

    async def learn(self) -> None:
        """Ask the server how much the model reads, until that is certain; it may be once it has answered."""
        if self._format is None or not self._may_tell:
            return
        try:
            window = await self._format.read_window(self._address)
        except httpx2.TransportError:
            self._may_tell -= 1  # it may not be there yet
            return
        self._may_tell = ATTEMPTS if window is not None and not window.is_final else 0
        if window is not None:
            self.context_tokens = window.tokens

    async def stream(self, messages: Sequence[Message], tools: Sequence[ToolOffer]) -> AsyncGenerator[Piece]:
        """Ask the model. Raises ProviderError."""
        has_begun = False
        try:
            async with aclosing(self._ask(messages, tools)) as pieces:
                async for piece in pieces:
                    has_begun = True
                    if piece is not None:
                        yield piece
        except exceptions.ModelAPIError as error:
            if (full := self._full(error)) is None:
                raise self._error_of(error, has_begun=has_begun) from error
            yield full
        except exceptions.ContentFilterError as error:
            yield Response(text="", stop=StopReason.REFUSED, reason=self._reason(error))
        except exceptions.UserError as error:
            raise ProviderError(self._reason(error)) from error
        except NoAnswer as error:
            raise self._other_server(error) from error
        except (exceptions.AgentRunError, httpx2.RequestError, *UNREADABLE) as error:
            raise ProviderDown(f"{CANNOT_READ} {self._reason(error)}") from error

    async def _ask(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece | None]:
        """Returns what the model says; None for an event that adds nothing to what the user sees."""
        offers, settings = [request.tool(offer) for offer in tools], self._settings
        marks = self._format is not None and self._format.marks_cache
        if marks and not offers and (named := request.named_tools(messages)):
            offers, settings = named, settings | ModelSettings(tool_choice="none")
        if self._has_cache_key:
            from handrail.adapters.models.sdks import openai_sdk

            settings = settings | openai_sdk.with_cache_key(request.cache_key(messages))
        only_signed = bool(self._model.profile.get("mimics_assistant_message_formatting"))
        wired = request.messages(messages, self._origin, marks=marks, only_signed=only_signed)
        parameters = ModelRequestParameters(function_tools=offers)
        async with AsyncExitStack() as stack:
            begun = self._model.request_stream(wired, settings, parameters)
            streamed = await self._in_time(stack.enter_async_context(begun))
            yield None  # it has been reached
            events: AsyncIterator[object] = aiter(streamed)
            while (event := await self._in_time(anext(events, END))) is not END:
                yield answer.piece_of(event)
            yield self._response(streamed)

    async def _in_time(self, coming: Awaitable[T]) -> T:
        """Yields what is *coming* in time; bytes that say nothing, such as comments, do not count."""
        try:
            async with asyncio.timeout(self._silence_s):
                return await coming
        except TimeoutError as error:
            raise ProviderDown(f"The model has sent nothing for {self._silence_s:g} seconds.") from error

    def _response(self, streamed: StreamedResponse) -> Response:
        raw = (streamed.provider_details or {}).get("finish_reason")
        if streamed.finish_reason is None and not raw:
            raise ProviderDown(BROKEN_OFF)
        if streamed.finish_reason == "error":
            raise ProviderDown(f"The model's server ended its answer with an error ({raw}).")
        whole = streamed.get()
        refusal = (streamed.provider_details or {}).get("refusal")
        return Response(
            text=answer.text_of(whole),
            calls=answer.calls_of(whole),
            stop=STOPS.get(streamed.finish_reason or "", StopReason.FINISH),
            reason=self._reason(refusal) if refusal else "",
            usage=answer.usage_of(whole, has_price=self._has_price),
            private=answer.private_of(whole, self._origin),
        )

    def _full(self, error: exceptions.ModelAPIError) -> Response | None:
        """The response that stands for a context that is full, if that is what the error says."""
        status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else None
        said = isinstance(error, exceptions.ModelContextWindowExceededError)
        if said or (status in (400, 413, 422, 500) and recover.is_context_full(str(error))):
            return Response(text="", stop=StopReason.CONTEXT_FULL, reason=self._reason(error))
        return None

    def _error_of(self, error: exceptions.ModelAPIError, *, has_begun: bool) -> ProviderError:
        reason = self._reason(error)
        if isinstance(error, exceptions.ModelHTTPError):
            reason = f"HTTP {error.status_code}: {reason}"
            is_final = error.status_code < 500 and error.status_code not in RETRIED_STATUS
            if is_final or recover.is_out_of_quota(str(error.body)):
                return ProviderError(f"The model's server refused the request. {reason}")
        elif not isinstance(error, AGAIN) and isinstance(error, exceptions.ModelRequestRejectedError):
            return ProviderError(f"The model's server refused the request. {reason}")
        cause = error if isinstance(error, exceptions.ModelHTTPError) else _cause(error)
        if isinstance(cause, NoAnswer):
            return self._other_server(cause)
        if isinstance(cause, NOT_READ):
            return ProviderDown(f"{CANNOT_READ} {self._reason(cause)}", error.retry_after)
        if isinstance(cause, httpx2.RequestError):
            reason = self._reason(cause) or type(cause).__name__
        if has_begun:
            return ProviderDown(f"{BROKEN_OFF} {reason}", error.retry_after)
        return ProviderDown(self._what(error, cause, reason), error.retry_after)

    def _what(self, error: exceptions.ModelAPIError, cause: Exception, reason: str) -> str:
        """Returns what is wrong with a server that has answered nothing: only what is known of it."""
        shown = without_login(self._address.base_url) if self._format is not None else ""
        server = f"The model's server at {shown}" if shown else "The model's server"
        if isinstance(cause, httpx2.RequestError):
            if not isinstance(cause, UNREACHED):
                return f"{server} was reached, but did not send a whole answer. {reason}"
        elif not isinstance(error, exceptions.ModelConnectionError):
            return f"{server} cannot answer now. {reason}"
        if not shown:
            return f"{server} cannot be reached. {reason}"
        source = self._address.source
        check = (
            f"Check that it runs, and the address in {source}."
            if source
            else f"Check that it runs. {IF_ELSEWHERE}"
        )
        return f"{server} cannot be reached. {reason.removesuffix('.')}. {check}"

    def _other_server(self, error: NoAnswer) -> ProviderError:
        """Returns the error for an answer that does not come from a model's server."""
        return ProviderError(f"{self._reason(error)} {self._address.advice}")

    def _reason(self, error: object) -> str:
        """Returns the text of an error, shortened and without the key."""
        said = error
        if isinstance(error, exceptions.ModelHTTPError) and isinstance(error.body, dict):
            inner = error.body.get("error")
            said = (inner if isinstance(inner, dict) else error.body).get("message") or error.body
        text = redact.redact(str(said), (self._key,))
        return sanitize.clean(text, LIMIT_REASON_CHARS)


def _cause(error: Exception) -> Exception:
    """Returns the error of the connection or of the decoding that an SDK's error stands for; else itself."""
    each: BaseException | None = error
    while each is not None:
        if isinstance(each, NoAnswer | httpx2.RequestError | UnicodeError | json.JSONDecodeError):
            return each
        each = each.__cause__ or each.__context__
    return error


def _thinking_settings(address: Address, wanted: Reasoning) -> ModelSettings:
    """Returns the settings for how much a model thinks; the SDK knows too few models of other servers."""
    effort = EFFORTS[wanted]
    known = format_of(address.kind)
    if known is not None and known.takes_effort(address):
        from handrail.adapters.models.sdks import openai_sdk

        return openai_sdk.with_effort(effort)
    return ModelSettings(thinking=False if effort == "none" else effort)


# ---- There ------------------------------------------------------------------------------------------


def _model(address: Address) -> tuple[Model, ModelSettings]:
    """A model, and what it is always told."""
    base_url, key = address.base_url or None, address.key or None
    if address.base_url:
        key = key or NO_KEY
    there: dict[str, Any] = {"base_url": base_url, "api_key": key}
    known = format_of(address.kind)
    if known is None:
        try:
            return infer_model(f"{address.kind}:{address.name}"), ModelSettings()
        except exceptions.UserError as error:
            raise exceptions.UserError(
                f"The model {address.kind}:{address.name} cannot be used. {str(error).rstrip('.')}. Check "
                "the name of the chosen model."
            ) from error
    if known.needs_key and key is None:
        raise exceptions.UserError(f"No key was found: set {known.key_name}.")
    return known.make(address, there)


def _refusals() -> tuple[type[Exception], ...]:
    """Returns the errors that say that a model cannot exist: ours, and those of the imported SDKs."""
    errors = {each.error for each in FORMATS.values() if each.error[0] in sys.modules}
    theirs = (getattr(sys.modules[sdk], error) for sdk, error in errors)
    return (exceptions.UserError, ImportError, *UNREADABLE, *theirs)
