"""What a conversation shows of turns that another process runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from handrail.adapters.state.session_log import SessionLog
from handrail.agent.chat.view import View
from handrail.core.conversation.journal import TurnBegun, TurnEnded
from handrail.core.documents.page import Page
from handrail.lsp.chat.page import ChatPage


async def test_an_end_that_is_written_while_the_page_is_made_is_shown(tmp_path: Path) -> None:
    """The other process lets go of the session between our reading its journal and our asking for it."""
    theirs, ours = (SessionLog(lambda: tmp_path / "sessions") for _ in range(2))
    release = theirs.claim("s-1")
    assert release is not None
    theirs.append("s-1", [TurnBegun(turn="t-1", prompt="Go.", mode="edit")])
    await theirs.wait_until_written()
    nothing = cast(Any, lambda *_: None)
    view = View(facts=lambda: ("", "", ""), question=lambda _: None, redactor=lambda: lambda text: text)
    world = [nothing] * 6  # nothing is written
    page = ChatPage(*world, session="s-1", journals=ours, view=view)
    await page.prepare(Page())
    assert page.transcript.turns[-1].is_elsewhere
    theirs.append("s-1", [TurnEnded(turn="t-1", state="cancelled")])
    await theirs.wait_until_written()
    release()
    await page.prepare(Page())
    assert page.transcript.turns[-1].state == "cancelled"
