"""What clients do wrong, and what users do at the wrong moment: each is given to `Editor.behaviours`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from e2e.client import Behaviour, Editor
from e2e.texts import Json


async def never(editor: Editor, given: Json) -> Json:
    """Do nothing, and never answer."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError


async def silent(editor: Editor, given: Json) -> Json:
    """Apply and tell, as Vim's ALE does, but never answer."""
    editor.desk.apply(given)
    editor.desk.tell()
    return await never(editor, given)


async def claim(editor: Editor, given: Json) -> Json:
    """Answer that it is applied, and do nothing."""
    return {"applied": True}


async def refuse(editor: Editor, given: Json) -> Json:
    """Answer that it is not applied, and why."""
    return {"applied": False, "failure_reason": "a dialog is open"}


async def half(editor: Editor, given: Json) -> Json:
    """Apply the first text edit of each document only, and claim all."""
    editor.desk.apply(given, only=1)
    editor.tell_soon()
    return {"applied": True}


def late(gate: asyncio.Event) -> Behaviour:
    """Wait for *gate*, then do as the editor does."""

    async def behave(editor: Editor, given: Json) -> Json:
        await gate.wait()
        return await editor.obey(given)

    return behave


def before(action: Callable[[], object]) -> Behaviour:
    """The user does something just before the edit is applied."""

    async def behave(editor: Editor, given: Json) -> Json:
        action()
        return await editor.obey(given)

    return behave


def after(action: Callable[[], object]) -> Behaviour:
    """The user does something after the edit is applied, before its echo is sent."""

    async def behave(editor: Editor, given: Json) -> Json:
        answer = await editor.obey(given)
        action()
        editor.tell_soon()
        return answer

    return behave
