"""
Make the result of a call fit to be read by a model: without keys, and no longer than is allowed.

What is too long is kept aside first, so that `read_output` can read all of it.
"""

from __future__ import annotations

from dataclasses import replace

from handrail.core import redact, truncate
from handrail.core.message import ToolResult
from handrail.ports import Ports


async def fitted(result: ToolResult, ports: Ports) -> ToolResult:
    """*result* as the model gets it."""
    text = redact.redact(result.text, ports.terms.secrets)
    cut = truncate.head_tail(text, ports.terms.output_chars)
    if cut is not None:
        text = truncate.shortened(text, cut, await ports.spills.keep(text))
    return result if text == result.text else replace(result, text=text)
