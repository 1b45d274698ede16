"""List, show, keep and undo the agent's changes."""

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any

from handrail.headless import values
from handrail.headless.client import Client
from handrail.headless.commands.stage import (
    ALL_LANDED,
    SOMETHING_FAILED,
    STORE_TIMEOUT_S,
    Options,
    Stage,
    client_of,
    on_stage,
)
from handrail.headless.show import Show
from handrail.values import dataclass

LINE_END = re.compile("\r\n|\n|\r")
TYPED = (
    "To undo these changes together with the text that you typed in them, give --typed. A checkpoint stores "
    "that text, so you can restore it."
)
NONE, NONE_OF_THESE = "No changes are pending.", "No such changes are pending."
Params = dict[str, object]  # which changes, as the request's params have it


async def list_changes(options: Options, params: Params) -> int:
    """Show pending changes, one line each; returns the exit code."""
    return await on_stage(options, lambda stage: _list(options, params, stage))


async def show_changes(options: Options, params: Params) -> int:
    """Show changes with their rows; returns the exit code."""
    return await on_stage(options, lambda stage: _show(options, params, stage))


async def keep_changes(options: Options, params: Params) -> int:
    """Keep changes; returns the exit code."""
    return await on_stage(options, lambda stage: _keep(options, params, stage))


async def undo_changes(options: Options, params: Params) -> int:
    """Undo changes; returns the exit code."""
    return await on_stage(options, lambda stage: _undo(options, params, stage))


async def _list(options: Options, params: Params, stage: Stage) -> int:
    async with client_of(options, stage) as client:
        json = await stage.interrupts.guard(ask(client, "list", params))
    if options.as_json:
        stage.show.json(json)
        return ALL_LANDED
    hunks = read(json)
    for each in hunks:
        stage.show.line(each.show(stage.show.name))
    if not hunks:
        stage.show.line(NONE_OF_THESE if params else NONE)
    return ALL_LANDED


async def _show(options: Options, params: Params, stage: Stage) -> int:
    ids = params.pop("hunks", None)
    async with client_of(options, stage) as client:
        json = await stage.interrupts.guard(ask(client, "list", params))
    wanted = [each for each in json if not isinstance(ids, list) or each.get("id") in ids]
    missing = (
        [each for each in ids if each not in [one.get("id") for one in wanted]]
        if isinstance(ids, list)
        else []
    )
    if options.as_json:
        stage.show.json(wanted)
    for each in read(wanted) if not options.as_json else ():
        stage.show.line(each.show(stage.show.name))
        stage.show.diff(each.diff)
    if not wanted and not missing and not options.as_json:
        stage.show.line(NONE_OF_THESE if params else NONE)
    for each in missing:
        stage.show.note(f"Change {each!r} is not pending. It may have been kept, undone or rewritten.")
    return SOMETHING_FAILED if missing else ALL_LANDED


async def _keep(options: Options, params: Params, stage: Stage) -> int:
    async with client_of(options, stage) as client:
        json = await stage.interrupts.guard(ask(client, "keep", params))
    if options.as_json:
        stage.show.json(json)
    else:
        tell_kept(stage.show, json)
    return ALL_LANDED


async def _undo(options: Options, params: Params, stage: Stage) -> int:
    async with client_of(options, stage) as client:
        json = await stage.interrupts.guard(ask(client, "undo", params))
        is_dirty = client.workspace.is_dirty
    if options.as_json:
        stage.show.json(json)
    else:
        tell_undone(stage.show, json)
        if any(each.get("editedByUser") for each in json.get("conflicts", [])):
            stage.show.line(TYPED)
    return SOMETHING_FAILED if json.get("conflicts") or is_dirty else ALL_LANDED


def tell_kept(show: Show, json: Any) -> None:
    """Show which changes were kept."""
    _tell(show, "kept", values.texts("ReviewKept", json, "hunks"))


def tell_undone(show: Show, json: Any) -> None:
    """Show which changes were undone, and which could not be."""
    conflicts = json.get("conflicts", [])
    _tell(show, "undone", values.texts("ReviewUndone", json, "hunks"), conflicts)
    for each in conflicts:
        show.line(f"conflict   {each['hunk']}  {show.name(each['uri'])}: {each['reason']}")
        show.diff(_diff(each["now"], each["before"]), "To undo it, handrail would have made this change:")


def _tell(show: Show, what: str, hunks: Sequence[str], conflicts: Sequence[Any] = ()) -> None:
    for each in hunks:
        show.line(f"{what:10} {each}")
    if not hunks and not conflicts:
        show.line(f"Nothing was {what}: no such changes are pending.")
    elif not hunks:
        show.line(f"Nothing was {what}.")


async def ask(client: Client, about: str, params: Params) -> Any:
    """Ask the server to `list`, `keep` or `undo` changes."""
    return await client.request(f"handrail/review/{about}", params, timeout_s=STORE_TIMEOUT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """
    A pending change.

    Attributes:
        line: The first line that it has now, counted from 1.
        before, after: What would be there without it, and what is there.
        renamed_from: The URI that a renamed document had; None for all others.
    """

    id: str
    uri: str
    line: int
    before: str
    after: str
    turns: tuple[str, ...]
    is_edited: bool
    kind: str
    renamed_from: str | None

    def show(self, name: Callable[[str], str]) -> str:
        """
        It in one line.

        Args:
            name: Makes a name that people know of a URI.
        """
        gone, new = self._changed
        size = f"+{len(new)} -{len(gone)}"
        edited = "  edited by you" if self.is_edited else ""
        where = f"{name(self.uri)}:{self.line}" if self.kind == "changed" else name(self.uri)
        kind = f"{self.kind} from {name(self.renamed_from)}" if self.renamed_from else self.kind
        what = {"changed": size, "whole": "changed (not a text file)"}.get(self.kind, f"{kind} {size}")
        return f"{self.id}  {where}  {what}{edited}  {', '.join(self.turns)}"

    @property
    def diff(self) -> str:
        """Its rows: those that went, then those that came."""
        gone, new = self._changed
        return "\n".join([*(f"-{row}" for row in gone), *(f"+{row}" for row in new)])

    @property
    def _changed(self) -> tuple[list[str], list[str]]:
        """The rows that went and those that came; of a renamed document, without those that it kept."""
        before, after = _rows(self.before), _rows(self.after)
        if self.renamed_from is None:
            return before, after
        rows = list(difflib.unified_diff(before, after, n=0))[2:]  # without the names
        return [row[1:] for row in rows if row[0] == "-"], [row[1:] for row in rows if row[0] == "+"]


def _diff(before: str, after: str) -> str:
    return "\n".join([*(f"-{row}" for row in _rows(before)), *(f"+{row}" for row in _rows(after))])


def _rows(text: str) -> list[str]:
    """The lines of a text, which end as in LSP: a form feed ends none."""
    rows = LINE_END.split(text)
    return rows if rows[-1] else rows[:-1]


def read(json: Any) -> list[Hunk]:
    """Pending changes, as the server lists them."""
    return [
        Hunk(
            id=values.text("Hunk", each, "id"),
            uri=values.text("Hunk", each, "uri"),
            line=each["range"]["start"]["line"] + 1,
            before=values.text("Hunk", each, "before"),
            after=values.text("Hunk", each, "after"),
            turns=values.texts("Hunk", each, "turns"),
            is_edited=each.get("editedByUser") is True,
            kind=values.text("Hunk", each, "kind"),
            renamed_from=each.get("renamedFrom"),
        )
        for each in json
    ]
