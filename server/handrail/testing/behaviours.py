"""
Faults of clients, and actions of users at the wrong moment: each is given to `ScriptedEditor.behaviours`.

`Reaction` is the general one, from which most others are made: it has everything that can happen to an edit
between its arrival and the moment when the server is told about the change, in the order in which it happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from handrail.testing.editor import Behaviour, ScriptedEditor
from handrail.testing.texts import Json
from handrail.testing.wire import RefusedError

Action = Callable[[], object]
Formatter = Callable[[str], str]


class Response(Enum):
    """The answers to an edit that a client can give, whatever it does."""

    TRUE = "applied: true"
    FALSE = "applied: false, with a reason"
    NULL = "null"
    ERROR = "an error"
    NOTHING = "nothing, ever"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """
    A client's reaction to one edit.

    Attributes:
        opens: Nothing happens before this.
        before: The user's action before the edit is applied.
        applies: The edit is applied when this opens, although it has already been answered.
        is_forced: Whether it is then applied whatever version of the text it is for.
        only: How many of the text edits of each document are applied, if not all.
        formats: The formatter that runs on the changed documents at once.
        is_apart: Whether that is told in a message of its own.
        after: The user's action before the server is told about the edit.
        tells: The server is told about the edit when this opens, although it has already been answered.
        later: The user's action after that.
        response: The response.
    """

    opens: asyncio.Event | None = None
    before: Action | None = None
    applies: asyncio.Event | None = None
    is_forced: bool = False
    only: int | None = None
    formats: Formatter | None = None
    is_apart: bool = False
    after: Action | None = None
    tells: asyncio.Event | None = None
    later: Action | None = None
    response: Response = Response.TRUE

    async def __call__(self, editor: ScriptedEditor, given: Json) -> Json | None:
        """React."""
        if self.opens is not None:
            await self.opens.wait()
        _do(self.before)
        if self.applies is None and (refusal := editor.refusal(given)) is not None:
            return refusal
        if self.applies is None:
            self._apply(editor, given)
        if self.applies is not None or self.tells is not None:
            editor.run_in_background(self._finish(editor, given))
        else:
            self._tell(editor)
        return await self._answer()

    async def _finish(self, editor: ScriptedEditor, given: Json) -> None:
        if self.applies is not None:
            await self.applies.wait()
            self._apply(editor, given)
        if self.tells is not None:
            await self.tells.wait()
        self._tell(editor)

    def _apply(self, editor: ScriptedEditor, given: Json) -> None:
        if editor.buffers.is_stale(given) and not self.is_forced:
            return  # the editor lets it be, so there is nothing to which the user could react
        changed = [uri for uri in editor.buffers.named_uris(given) if uri in editor.buffers.documents]
        editor.buffers.apply(given, only=self.only, is_forced=self.is_forced)
        for uri in changed:
            if self.formats is not None:
                if self.is_apart:
                    editor.buffers.tell()
                editor.buffers.rewrite(uri, self.formats(editor.buffers[uri]))
            editor.buffers.documents[uri].is_silent = True
        _do(self.after)

    def _tell(self, editor: ScriptedEditor) -> None:
        for document in editor.buffers.documents.values():
            document.is_silent = False
        if self.later is None:
            editor.tell_soon()
        else:
            editor.buffers.tell()
            self.later()
            editor.tell_soon()

    async def _answer(self) -> Json | None:
        match self.response:
            case Response.TRUE:
                return {"applied": True}
            case Response.FALSE:
                return {"applied": False, "failure_reason": "a dialog is open"}
            case Response.NULL:
                return None
            case Response.ERROR:
                raise RefusedError(message="something went wrong", code=-32603)
            case Response.NOTHING:
                await asyncio.get_running_loop().create_future()
                raise AssertionError


def _do(action: Action | None) -> None:
    if action is not None:
        action()


# ---- Formatters -----------------------------------------------------------------------------------


def strip_blanks(text: str) -> str:
    """Without blanks at the ends of lines."""
    return "\n".join(line.rstrip(" \t") for line in text.split("\n"))


def expand_tabs(text: str) -> str:
    """With four blanks for each tab."""
    return text.replace("\t", "    ")


def indent(*rows: str) -> Formatter:
    """These rows are indented by four blanks more."""

    def formatter(text: str) -> str:
        return "\n".join("    " + line if line.strip() in rows else line for line in text.split("\n"))

    return formatter


def end_last_line(text: str) -> str:
    """With a line end at the end."""
    return text if text.endswith("\n") else text + "\n"


# ---- What is done with one edit -------------------------------------------------------------------


async def hang(editor: ScriptedEditor, given: Json) -> Json | None:
    """Do nothing, and never answer."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError


async def apply_without_answer(editor: ScriptedEditor, given: Json) -> Json | None:
    """Apply and tell, as Vim's ALE does, but never answer."""
    editor.buffers.apply(given)
    editor.buffers.tell()
    return await hang(editor, given)


async def claim(editor: ScriptedEditor, given: Json) -> Json | None:
    """Answer that it is applied, and do nothing."""
    return {"applied": True}


async def refuse(editor: ScriptedEditor, given: Json) -> Json | None:
    """Answer that it is not applied, and why."""
    return {"applied": False, "failure_reason": "a dialog is open"}


async def refuse_silently(editor: ScriptedEditor, given: Json) -> Json | None:
    """Answer that it is not applied, but not why."""
    return {"applied": False}


half = Reaction(only=1)  # of each document the first text edit only, and claim all


def wait_for(gate: asyncio.Event) -> Behaviour:
    """Wait for *gate*, then do as the editor does."""

    async def behave(editor: ScriptedEditor, given: Json) -> Json | None:
        await gate.wait()
        return await editor.obey(given)

    return behave


def act_before(action: Action) -> Behaviour:
    """The user does something just before the edit is applied."""

    async def behave(editor: ScriptedEditor, given: Json) -> Json | None:
        action()
        return await editor.obey(given)

    return behave


def act_after(action: Action) -> Behaviour:
    """The user does something after the edit is applied, before its echo is sent unless that is at once."""

    async def behave(editor: ScriptedEditor, given: Json) -> Json | None:
        answer = await editor.obey(given)
        action()
        editor.tell_soon()
        return answer

    return behave


def act_within(action: Action) -> Behaviour:
    """The user does something after the edit is applied; the server is told about both in one message."""
    return Reaction(after=action)
