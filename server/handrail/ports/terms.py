"""The settings that apply to tools."""

from __future__ import annotations

from handrail.core.conversation.prompt import Mode
from handrail.core.policy.checks import Check
from handrail.core.policy.containment import Sandbox
from handrail.core.policy.rules import Rule
from handrail.core.results.truncate import LIMIT_CHARS
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """
    The user's settings for tools, fixed for the duration of a turn.

    Attributes:
        mode: The mode of the turn; in all but `edit`, it may only read.
        rules: The setting `approvals`.
        output_chars: The number of characters of a result that the model reads; the rest is stored.
        timeout_s: The time limit of a command, unless the model asks for another one.
        longest_s: The longest time that the model may ask for.
        reasons: Whether the model is known to reason without being told to.
        sees: Whether the model is shown pictures.
        behaviour: The name of a preset of rules for the model's tone, or "none".
        roots: The workspace folders, as shown to people.
        window_tokens: The size of the model's context, if the user set it; otherwise 0.
        reserve_tokens: How much of the model's context is kept for the answer; 0 for a quarter.
        needs_checkpoint: Whether a file that cannot be checkpointed must not be changed.
        sandbox: Whether commands that may change files are contained.
        saves: Whether the user's own unsaved text is saved before a command: "ask", "always" or "never".
        is_headless: Whether there is no editor.
        is_unattended: Whether no user is available to answer questions.
        reads_settings: Whether the user's settings count; `handrail apply` reads none.
        is_untrusted: Whether the user has not trusted the workspace, so that nothing in it may be followed.
        checks: The user's own checks, for editors that do not pass on diagnostics.
    """

    mode: Mode = Mode.EDIT
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
    reads_settings: bool = True
    is_untrusted: bool = False
    checks: tuple[Check, ...] = ()
