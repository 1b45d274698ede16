"""List and remove the rules that answers have added."""

from typing import Any

from handrail.headless import values
from handrail.headless.client import Client
from handrail.headless.commands.stage import (
    ALL_LANDED,
    STORE_TIMEOUT_S,
    Options,
    Stage,
    client_of,
    on_stage,
)
from handrail.headless.errors import REQUEST_FAILED, HeadlessError, RequestRefusedError


async def list_rules(options: Options) -> int:
    """Show the permanent rules that answers have added; returns the exit code."""
    return await on_stage(options, lambda stage: _list_rules(options, stage))


async def remove_rules(options: Options, rules: list[str]) -> int:
    """Remove rules that answers have added; returns the exit code."""
    return await on_stage(options, lambda stage: _remove_rules(options, rules, stage))


async def _list_rules(options: Options, stage: Stage) -> int:
    async with client_of(options, stage) as client:
        json = await stage.interrupts.guard(_rules(client, "list", {}))
    if options.as_json:
        stage.show.json(json)
    else:
        stage.show.rules(values.rules(json))
    return ALL_LANDED


async def _remove_rules(options: Options, rules: list[str], stage: Stage) -> int:
    async with client_of(options, stage) as client:
        for rule in rules:
            await stage.interrupts.guard(_rules(client, "remove", {"rule": rule}))
            if not options.as_json:
                stage.show.line(f"removed    {rule}")
        json = await stage.interrupts.guard(_rules(client, "list", {}))
    if options.as_json:
        stage.show.json(json)
    else:
        stage.show.rules(values.rules(json), title="These rules are left:")
    return ALL_LANDED


async def _rules(client: Client, about: str, params: dict[str, str]) -> Any:
    try:
        return await client.request(f"handrail/rules/{about}", params, timeout_s=STORE_TIMEOUT_S)
    except RequestRefusedError as refusal:
        if refusal.code != REQUEST_FAILED:
            raise
        raise HeadlessError(f"{refusal.reason} `handrail rules list` lists the rules.") from refusal
