"""On what terms tools run."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.core.policy.checks import Check
from handrail.core.policy.containment import Sandbox
from handrail.core.policy.rules import Rule
from handrail.core.results.truncate import LIMIT_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """
    On what terms tools run: what the user has set, as it holds for a turn.

    Attributes:
        rules: What the setting `approvals` says.
        output_chars: How much of one result the model reads; the rest is kept aside.
        timeout_s: After how long a command is stopped, unless the model asks for another time.
        longest_s: For how long at most it may ask.
        reasons: Whether the model is known to reason by itself.
        sees: Whether the model is shown pictures.
        behaviour: The name of a preset of rules for the model's tone; "none" is none.
        roots: The workspace folders, as people know them.
        window_tokens: How much the model reads at once, if the user says; else 0.
        reserve_tokens: How much of the model's context is kept for the answer; 0 for a quarter.
        needs_checkpoint: Whether what cannot be kept before may not be changed.
        sandbox: Whether commands that may change files run contained.
        saves: Whether the user's own unsaved text is saved before a command: "ask", "always" or "never".
        is_headless: Whether there is no editor.
        is_unattended: Whether every question is answered with no at once.
        is_untrusted: Whether nothing that the workspace holds may be obeyed.
        checks: What says which problems documents have, where the editor passes nothing on.
    """

    rules: tuple[Rule, ...] = ()
    output_chars: int = LIMIT_CHARS
    timeout_s: float = 120.0
    longest_s: float = 600.0
    reasons: bool = False
    sees: bool = False
    behaviour: str = "none"
    roots: tuple[str, ...] = ()
    window_tokens: int = 0
    reserve_tokens: int = 0
    needs_checkpoint: bool = True
    sandbox: Sandbox = Sandbox.OFF
    saves: str = "ask"
    is_headless: bool = False
    is_unattended: bool = False
    is_untrusted: bool = False
    checks: tuple[Check, ...] = ()
