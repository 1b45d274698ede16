"""List, show, compare, restore, remove and check checkpoints."""

from typing import Any

from handrail.headless import terminal, values
from handrail.headless.client import Client
from handrail.headless.commands.stage import (
    ALL_LANDED,
    SOMETHING_FAILED,
    STORE_TIMEOUT_S,
    Options,
    Stage,
    client_of,
    on_stage,
    read_line,
)
from handrail.headless.errors import REQUEST_FAILED, HeadlessError, RequestRefusedError
from handrail.headless.terminal import one_line

KNOWN_SHOWN = 5  # of the checkpoints that exist, when another one is named


async def list_checkpoints(options: Options) -> int:
    """Show what can be restored, newest turn first; returns the exit code."""
    return await on_stage(options, lambda stage: _list(options, stage))


async def restore_checkpoint(options: Options, params: dict[str, Any]) -> int:
    """Restore a turn; *params* is the request's params; returns the exit code."""
    return await on_stage(options, lambda stage: _restore(options, params, stage))


async def show_checkpoint(options: Options, checkpoint: str) -> int:
    """Show one checkpoint and what its turn changed; returns the exit code."""
    return await on_stage(options, lambda stage: _show(options, checkpoint, stage))


async def diff_checkpoint(options: Options, params: dict[str, str]) -> int:
    """Show a checkpoint as a unified diff; *params* is the request's params; returns the exit code."""
    return await on_stage(options, lambda stage: _diff(options, params, stage))


async def prune_checkpoints(options: Options, checkpoints: list[str]) -> int:
    """Remove checkpoints, or what the limits do not allow; returns the exit code."""
    return await on_stage(options, lambda stage: _prune(options, checkpoints, stage))


async def verify_checkpoints(options: Options) -> int:
    """Say whether all that is kept can be read; returns the exit code."""
    return await on_stage(options, lambda stage: _verify(options, stage))


async def _list(options: Options, stage: Stage) -> int:
    async with client_of(options, stage) as client:
        json = await stage.interrupts.guard(_checkpoints(client))
    if options.as_json:
        stage.show.json(json)
    else:
        stage.show.checkpoints([values.checkpoint(checkpoint) for checkpoint in json])
    return ALL_LANDED


async def _show(options: Options, checkpoint: str, stage: Stage) -> int:
    async with client_of(options, stage) as client:
        answer = await stage.interrupts.guard(_ask(client, "diff", {"checkpoint": checkpoint}))
        known = await stage.interrupts.guard(_checkpoints(client))
    one = next(each for each in known if values.checkpoint(each).has(checkpoint))
    if options.as_json:
        stage.show.json({**one, "diff": values.diff(answer)})
    else:
        shown = values.checkpoint(one)
        stage.show.checkpoints([shown])
        for step, paths in shown.steps if len(shown.steps) > 1 else ():
            stage.show.line(f"  step     {step}  {', '.join(map(one_line, paths))}")
        stage.show.diff(values.diff(answer))
    return ALL_LANDED


async def _diff(options: Options, params: dict[str, str], stage: Stage) -> int:
    async with client_of(options, stage) as client:
        json = await stage.interrupts.guard(_ask(client, "diff", params))
    if options.as_json:
        stage.show.json(json)
    else:
        stage.show.diff(values.diff(json))
        if not values.diff(json):
            stage.show.note("Nothing differs.")
    return ALL_LANDED


async def _prune(options: Options, checkpoints: list[str], stage: Stage) -> int:
    async with client_of(options, stage) as client:
        if checkpoints and not options.yes:
            known = [values.checkpoint(each) for each in await stage.interrupts.guard(_checkpoints(client))]
            for checkpoint in checkpoints:
                if not any(each.has(checkpoint) for each in known):
                    raise _unknown(checkpoint, known)
            question = f"Remove {', '.join(checkpoints)} permanently? [y/N]"
            answer = await read_line(question, stage) if terminal.can_ask() else None
            if answer is None or answer.strip().lower() not in ("y", "yes"):
                raise HeadlessError("Nothing was removed. To remove, answer y or give --yes.")
        json = await stage.interrupts.guard(_ask(client, "prune", {"checkpoints": checkpoints or None}))
    stage.show.pruned_checkpoints(*values.pruned_checkpoints(json))
    if options.as_json:
        stage.show.json(json)
    return ALL_LANDED


async def _verify(options: Options, stage: Stage) -> int:
    async with client_of(options, stage) as client:
        json = await stage.interrupts.guard(_ask(client, "verify", {}))
    count, problems = values.soundness(json)
    stage.show.soundness(count, problems)
    if options.as_json:
        stage.show.json(json)
    return SOMETHING_FAILED if problems else ALL_LANDED


async def _restore(options: Options, params: dict[str, Any], stage: Stage) -> int:
    async with client_of(options, stage) as client:
        json = await stage.interrupts.guard(_request_restore(client, params))
        report = values.restore_report(json)
    stage.show.restore_report(report)
    if options.as_json:
        stage.show.json(json)
    is_whole = not (client.workspace.is_dirty or report.partial or report.conflicts)
    return ALL_LANDED if is_whole else SOMETHING_FAILED


async def _checkpoints(client: Client) -> list[Any]:
    answer = await client.request("handrail/checkpoint/list", {}, timeout_s=STORE_TIMEOUT_S)
    return answer if isinstance(answer, list) else []


async def _ask(client: Client, about: str, params: dict[str, Any]) -> Any:
    return await client.request(f"handrail/checkpoint/{about}", params, timeout_s=STORE_TIMEOUT_S)


async def _request_restore(client: Client, params: dict[str, Any]) -> Any:
    """Restore; an unknown id is answered with those that exist."""
    checkpoint = params["checkpoint"]
    try:
        return await _ask(client, "restore", params)
    except RequestRefusedError as refusal:
        if refusal.code != REQUEST_FAILED:
            raise
        known = [values.checkpoint(each) for each in await _checkpoints(client)]
        if any(each.has(checkpoint) for each in known):
            raise
        raise _unknown(checkpoint, known) from refusal


def _unknown(checkpoint: str, known: list[values.Checkpoint]) -> HeadlessError:
    newest = ", ".join(each.id for each in known[:KNOWN_SHOWN])
    has = "It has" if len(known) == 1 else "The newest are:"
    those = f"{has} {newest}." if known else "It has no checkpoints yet."
    return HeadlessError(f"This workspace has no checkpoint {checkpoint}. {those}")
