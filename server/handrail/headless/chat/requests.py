"""
The commands of a chat that the server carries out: their requests, and how the answers are shown.

Each takes a running server. Input, scheduling and sessions are handled elsewhere.
"""

from collections.abc import Sequence
from typing import Any

from handrail.counts import count_of
from handrail.headless import values
from handrail.headless.client import Client
from handrail.headless.commands import review
from handrail.headless.commands.stage import STORE_TIMEOUT_S
from handrail.headless.errors import REQUEST_FAILED, HeadlessError, RequestRefusedError
from handrail.headless.show import DIM, Show

LIMIT_SESSIONS = 20
LIMIT_CHANGES = 50  # that are shown with their rows
LIMIT_ROWS = 40  # of one change
ALL = "all"
TYPED = "--typed"  # as for `handrail review undo`
REVIEW_WISHES = ("keep", "undo")
HOW_TO_REVIEW = "Keep or undo them with: /review keep all, /review undo all, or /review keep ID ID."
COPIED = "The turns up to here were copied from another session. Undo them there: /sessions lists it."
HOW_TO_CONTINUE = "Continue one with: /sessions ID"


async def stop_background(client: Client, name: str, show: Show) -> None:
    """End a command that runs in the background; without a name, show all of them."""
    asked = ("stop", {"command": name}) if name else ("list", dict[str, str]())
    json = await client.request(f"handrail/command/{asked[0]}", asked[1], timeout_s=STORE_TIMEOUT_S)
    commands = values.commands([json] if name else json)
    for command, line, state in commands:
        show.line(f"{command}  {line}\n  {state}")
    if not commands:
        show.line("No commands are running in the background.")


async def list_checkpoints(client: Client, session: str, show: Show) -> None:
    """Show which turns of a session can be restored."""
    answer = await client.request("handrail/checkpoint/list", {"session": session}, timeout_s=STORE_TIMEOUT_S)
    found = [values.checkpoint(each) for each in (answer if isinstance(answer, list) else ())]
    show.checkpoints(found, of="session")


async def undo_turn(client: Client, session: str, show: Show) -> None:
    """Take the last turn of a session back, whoever has begun it."""
    turns = values.turns(await _resume(client, session))
    own = [each for each in turns if not each.copied]
    if not own:
        show.line(COPIED if turns else "There is nothing to undo.")
        return
    last = own[-1]
    wish = {"checkpoint": last.turn, "conversation": True}
    json = await client.request("handrail/checkpoint/restore", wish, timeout_s=STORE_TIMEOUT_S)
    first_line, *_ = last.prompt.strip().splitlines() or [last.turn]
    report = values.restore_report(json)
    stay = "was removed from the conversation, but not all of its changes could be undone:"
    is_whole = not report.conflicts and not report.partial
    show.line(f"Undone: {first_line}" if is_whole else f"The turn “{first_line}” {stay}")
    show.restore_report(report, in_chat=True)


async def resume(client: Client, session: str, show: Show, how_to_list: str) -> tuple[str, str | None]:
    """Take a session up again, and show where it is; returns what its turns may do, and what they used."""
    try:
        known = await _resume(client, session)
    except RequestRefusedError as refusal:
        if refusal.code != REQUEST_FAILED:
            raise
        raise HeadlessError(f"{refusal.reason} {how_to_list}") from refusal
    turns, (mode, used) = values.turns(known), values.session_state(known)
    show.line(f"session {session}, turns: {values.count_turns(turns):,}, mode: {mode}")
    show.turns(turns[-1:])
    has_ended = any(each.state for each in turns)
    return mode, used or ("" if has_ended else None)


async def _resume(client: Client, session: str) -> Any:
    return await client.request("handrail/session/resume", {"session": session}, timeout_s=STORE_TIMEOUT_S)


async def list_sessions(client: Client, current: str | None, show: Show) -> None:
    """Show the newest sessions of the workspace but the current one."""
    asked = {"limit": LIMIT_SESSIONS + 2}  # one may be the current one; one more tells whether there are more
    answer = values.sessions(await client.request("handrail/session/list", asked, timeout_s=STORE_TIMEOUT_S))
    others = [each for each in answer if each.session != current]
    if not others:
        show.line("There is no other session in this workspace.")
        return
    show.sessions(others[:LIMIT_SESSIONS], has_more=False)
    if others[LIMIT_SESSIONS:]:
        list_all = show.command("session", "list", "--all")
        show.line(f"Older sessions are not shown; to list them, run in another terminal: {list_all}", DIM)
    show.line(f"  {HOW_TO_CONTINUE}", DIM)


async def compact(client: Client, session: str, show: Show) -> None:
    """Have all but the latest part of a session summarised; this asks the model, which may take long."""
    show.line("Summarising the conversation. Ctrl-C stops that.", DIM)
    json = await client.request("handrail/session/compact", {"session": session}, timeout_s=None)
    sizes = values.compacted_sizes(json)
    if sizes is None:
        show.line("The conversation is still too short to summarise.")
    else:
        show.line(f"Summarised for the model: from about {sizes[0]:,} tokens to {sizes[1]:,}.")


async def review_changes(client: Client, words: Sequence[str], show: Show) -> None:
    """Show the changes that are pending; or keep or undo those that are named."""
    wish, *named = words or [""]
    takes_typed = wish == "undo" and TYPED in named
    if takes_typed:
        named = [each for each in named if each != TYPED]
    if not wish:
        await _show_changes(client, show)
    elif wish not in REVIEW_WISHES or not named:
        show.note(f"/review alone lists the changes. {HOW_TO_REVIEW}")
    else:
        asked: review.Params = {"all": True} if named == [ALL] else {"hunks": named}
        if wish == "keep":
            review.tell_kept(show, await review.ask(client, "keep", asked))
        else:
            undone = await review.ask(client, "undo", {**asked, "typed": takes_typed})
            review.tell_undone(show, undone)
            typed = [each["hunk"] for each in undone.get("conflicts", []) if each.get("editedByUser")]
            if typed:
                show.line(f"To undo the text that you typed too: /review undo {' '.join(typed)} {TYPED}")


async def _show_changes(client: Client, show: Show) -> None:
    hunks = review.read(await review.ask(client, "list", {}))
    for each in hunks[:LIMIT_CHANGES]:
        show.line(each.show(show.name))
        rows = each.diff.split("\n")
        show.diff("\n".join(rows[:LIMIT_ROWS]))
        if cut := rows[LIMIT_ROWS:]:
            command = show.command("review", "show", each.id)
            show.line(f"  … {count_of(len(cut), 'more line')}; in another terminal: {command}", DIM)
    if left_out := hunks[LIMIT_CHANGES:]:
        command = show.command("review", "list")
        show.line(f"… {count_of(len(left_out), 'more change')}; in another terminal: {command}", DIM)
    show.line(f"  {HOW_TO_REVIEW}" if hunks else "No changes are pending.", DIM if hunks else "")
