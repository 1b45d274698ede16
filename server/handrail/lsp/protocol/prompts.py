"""Prompts in code: params of the requests that send them."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.lsp.protocol.values import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSendParams:
    """Names the comment: its document, and any line of it, counted from 0."""

    uri: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDiagnostic:
    """
    What another program says of a place.

    Attributes:
        source: The program.
        code: What it calls this kind of problem.
    """

    range: Range
    message: str
    source: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFixParams:
    """Names the document, the place, and what is wrong there; 20 diagnostics at most are sent."""

    uri: str
    range: Range
    diagnostics: list[PromptDiagnostic]
