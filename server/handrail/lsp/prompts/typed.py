"""
Follow whose the prompts of open documents are, while the user wants those sent that they have typed.

A change counts as typed unless its file has changed since it was opened or saved: then the editor may have
reloaded it, and what came is another program's. So does all that came while the setting was off.
"""

from __future__ import annotations

from handrail.core.documents.in_code.prompts import Prompt, prompts
from handrail.core.documents.in_code.typed import TypedPrompts
from handrail.lsp import settings
from handrail.lsp.documents import OpenDocument
from handrail.lsp.state import State


def on_open(state: State, document: OpenDocument) -> None:
    """The editor has opened a document."""
    document.file = state.editor.stamp(document.uri)
    document.typed = TypedPrompts()
    document.typed.on_open(find_prompts(document))


def on_change(state: State, document: OpenDocument) -> None:
    """Called when a document has changed, whoever changed it."""
    if state.has_settled and not state.settings.flag(settings.PROMPTS_ON_SAVE):
        document.typed = None
        return
    now = find_prompts(document)
    if document.typed is None:
        document.typed = TypedPrompts()
        document.typed.on_open(now)
    elif [each.text for each in now] != document.typed.texts:
        document.typed.on_change(now, is_typed=state.editor.stamp(document.uri) == document.file)


def on_save(state: State, document: OpenDocument) -> None:
    """The editor has saved a document."""
    document.file = state.editor.stamp(document.uri)


def find_prompts(document: OpenDocument) -> tuple[Prompt, ...]:
    """Returns the prompts of an open document."""
    return prompts(document.text.content, document.language, document.uri)
