"""Prompts in code: params of the requests that send them."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.lsp.protocol.values import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSendParams:
    """
    The comment to send.

    Attributes:
        uri: URI of the document.
        line: Any line of the comment, counted from 0.
    """

    uri: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDiagnostic:
    """
    A problem that another program reports.

    Attributes:
        range: The place in the document.
        message: What the program says.
        source: Name of the program.
        code: The program's code for this kind of problem.
    """

    range: Range
    message: str
    source: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFixParams:
    """
    The problems to fix.

    Attributes:
        uri: URI of the document.
        range: The place to fix; the model is shown the lines around it.
        diagnostics: The problems there, at least one; the model is sent the first 20.
    """

    uri: str
    range: Range
    diagnostics: list[PromptDiagnostic]
