"""The terms of a turn, and the limits of checkpoints, as the settings and the client give them."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.checkpoint import Limits
from handrail.core.conversation import prompt
from handrail.core.policy.containment import Sandbox
from handrail.core.policy.rules import Rule
from handrail.lsp import model_settings, settings
from handrail.lsp.client import Client
from handrail.lsp.settings import Settings
from handrail.ports import Terms


def terms(
    values: Settings, client: Client, rules: tuple[Rule, ...], folders: Sequence[str], sandbox: Sandbox | None
) -> Terms:
    """
    The terms on which tools run.

    Args:
        values: The settings.
        folders: The workspace folders.
        sandbox: Set if the environment decides how commands are contained.
    """
    return Terms(
        rules=rules,
        output_chars=values.number(settings.OUTPUT_LIMIT),
        window_tokens=values.number(settings.CONTEXT_WINDOW),
        reserve_tokens=values.number(settings.CONTEXT_RESERVE),
        timeout_s=values.number(settings.TERMINAL_TIMEOUT),
        longest_s=values.number(settings.TERMINAL_LONGEST),
        reasons=prompt.reasons_by_itself(values.text(settings.MODEL)),
        sees=model_settings.takes_pictures(values),
        behaviour=values.text(settings.BEHAVIOUR),
        roots=tuple(folders),
        needs_checkpoint=values.flag(settings.CHECKPOINTS_REQUIRED),
        saves=values.text(settings.TERMINAL_SAVE) if client.saves else "never",
        sandbox=sandbox or Sandbox(values.text(settings.SANDBOX)),
        is_headless=client.is_headless,
        is_unattended=client.unattended,
        is_untrusted=client.untrusted,
        checks=() if client.untrusted else values.checks(settings.CHECKS),
    )


def limits(values: Settings) -> Limits:
    """The limits of the checkpoints of a workspace."""
    return Limits(
        max_bytes=values.number(settings.CHECKPOINTS_SIZE) * 1_000_000,
        max_age_days=values.number(settings.CHECKPOINTS_AGE),
    )
