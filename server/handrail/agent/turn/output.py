"""
Prepare the output and results of calls for readers: without keys and, for a model, within the size limit.

Output that is too long is stored first, so that `read_output` can read all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from handrail.agent.tools import TOOLS
from handrail.agent.tools.call import CommandReport, Seen
from handrail.core.checkpoint import StepId
from handrail.core.conversation.message import ToolCall, ToolMessage, ToolResult
from handrail.core.documents.change import Status
from handrail.core.failure import Code, Failure
from handrail.core.ledger.outcome import Mutation, Outcome
from handrail.core.ledger.report import CallEnded, CallFailed, CallStarted, Notice
from handrail.core.policy.place import Place
from handrail.core.results import redact, sanitize, truncate
from handrail.ports import Ports
from handrail.values import dataclass, replace

COMMANDS_AT_ONCE = 8  # read-only calls that run at once: more make a turn no faster, but slower to stop
LONGEST_NAME = 60  # of a tool, as people are shown it; models invent long ones
LIMIT_CALLS = 200  # of one answer; no step of a sound model has more than some tens
SURPLUS = Failure(
    code=Code.CUT_SHORT,
    message=f"Only the first {LIMIT_CALLS} calls of one answer are run; this one was not.",
    steps=("Wait for results before making more calls.",),
)
MOVED = Failure(
    code=Code.STALE_DOCUMENT,
    message=(
        "What this call would do has changed since it was checked (for example, a path leads elsewhere now), "
        "so it was not run."
    ),
    steps=("Send the call again.",),
)
FOLDERS_CHANGED = Failure(
    code=Code.STALE_DOCUMENT,
    message="The workspace folders changed after this call was checked, so it was not run.",
    steps=("Send the call again.",),
)
STOPPED = Failure(code=Code.CUT_SHORT, message="The turn was stopped before this call ran.")
STOPPED_ALONE = Failure(
    code=Code.CUT_SHORT,
    message="The user stopped this command before it ran.",
    steps=("Do not run it again unless the user asks for it.",),
)
WITHOUT_SETTINGS = (
    "You can set XDG_STATE_HOME to another folder that handrail can write to: the checkpoint is then kept "
    "there. Keep it set for later commands, such as `handrail checkpoint restore`."
)


def folder_removed(place: Place) -> Failure:
    """Returns why a call was not run whose folder was removed from the workspace before."""
    return Failure(
        code=Code.OUTSIDE_WORKSPACE,
        message=f"The folder of {place.path} is no longer in the workspace, so this call was not run.",
        steps=("Use only paths in the workspace folders, or ask the user to add the folder again.",),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A call's result, and the mutations that it tried."""

    result: ToolResult
    outcomes: tuple[Outcome, ...] = ()


async def redact_and_shorten(result: ToolResult, ports: Ports) -> ToolResult:
    """Returns *result* as the model gets it."""
    text = redact.redact(result.text, ports.secrets())
    cut = truncate.head_tail(text, ports.terms.output_chars)
    if cut is not None:
        text = truncate.shorten(text, cut, await ports.spills.keep(text))
    return result if text == result.text else replace(result, text=text)


@dataclass(kw_only=True)
class Live:
    """
    Passes on the output of a command as it arrives, without keys.

    Attributes:
        tell: Called with text that is certain to contain no part of a key.
    """

    ports: Ports
    tell: Callable[[str], None]
    _held: str = ""

    def add(self, text: str) -> None:
        """Takes a piece of output."""
        told, self._held = redact.settle_tail(self._held + text, self.ports.secrets())
        if told:
            self.tell(told)

    def end(self) -> None:
        """Called at the end of the output."""
        if self._held:
            self.tell(redact.redact(self._held, self.ports.secrets()))
            self._held = ""


def surplus_notice(count: int) -> str:
    """What the user is told if an answer has *count* more calls than are run."""
    rest = "The last one was" if count == 1 else f"The last {count:,} were"
    return (
        f"The model made more than {LIMIT_CALLS:,} tool calls in one answer. {rest} not run, and the model "
        "is told so."
    )


def notice(call: ToolCall, text: str, ports: Ports, *, is_warning: bool) -> Notice:
    """Returns a notice about a call, without keys."""
    return Notice(call=call.id, text=redact.redact(text, ports.secrets()), is_warning=is_warning)


def failures(done: Done, tool: str, ports: Ports) -> Iterator[CallFailed]:
    """Yields the failures of a call, with harmless, short texts. A user's no is not a failure."""
    for failure in [outcome.failure for outcome in done.outcomes] or [done.result.failure]:
        if failure is not None and failure.code is not Code.DENIED:
            said = redact.redact("\n".join((failure.message, *failure.steps)), ports.secrets())
            yield CallFailed(tool=tool, code=failure.code, said=said)


def mutation(call: ToolCall, step: StepId, order: int) -> Mutation:
    """Returns the pattern of a call's mutations."""
    return Mutation(
        id=f"f-{order}-{call.id}",
        turn=step.turn,
        call=call.id,
        tool=call.name,
        order=order,
        uri="",
        identity="",
        path="",
        step=step.number,
    )


def failed_result(call: ToolCall, failure: Failure) -> ToolResult:
    """Returns the result of a call that failed."""
    return ToolResult(call=call.id, text=sanitize.result_text(failure), failure=failure)


def failed_results(calls: Sequence[ToolCall], failure: Failure) -> dict[str, ToolResult]:
    """Returns the results of several calls that failed for the same reason; the text is made once."""
    text = sanitize.result_text(failure)
    return {call.id: ToolResult(call=call.id, text=text, failure=failure) for call in calls}


def start_of(call: ToolCall, title: str, ports: Ports) -> CallStarted:
    """Returns the beginning of a call, without keys in its title."""
    return CallStarted(call=call.id, tool=call.name, title=redact.redact(title, ports.secrets()))


def unread(call: ToolCall) -> CallStarted:
    """Returns the beginning of a call that cannot be understood, so that people see what was called."""
    name = call.name[:LONGEST_NAME] or "a call without a name"
    title = f"{name}: a call that cannot be used" if call.name in TOOLS else f"{name}: not a tool"
    return CallStarted(call=call.id, tool=name, title=title)


def end_of(result: ToolResult) -> CallEnded:
    """Returns the end of a call as people see it: the first line of its result."""
    first = result.text.removeprefix(sanitize.PREFIX).strip().partition("\n")[0]
    return CallEnded(call=result.call, summary=first, has_failed=result.failure is not None)


def in_order(calls: Sequence[ToolCall], done: Mapping[str, ToolResult]) -> ToolMessage:
    """Returns one result for each call, in call order; the result of a call that did not run says so."""
    left = failed_results([call for call in calls if call.id not in done], STOPPED)
    return ToolMessage(results=tuple((done.get(call.id) or left[call.id]) for call in calls))


def result_of(call: ToolCall, answer: str | Seen | CommandReport | Failure) -> ToolResult:
    """Returns the result for the answer of a call."""
    match answer:
        case Failure():
            return failed_result(call, answer)
        case CommandReport(text=text, failure=failure):
            return ToolResult(call=call.id, text=text, failure=failure)
        case Seen(text=text, picture=picture):
            return ToolResult(call=call.id, text=text, pictures=(picture,))
        case str():
            return ToolResult(call=call.id, text=answer)


def untried_outcome(mutation: Mutation, place: Place | None, failure: Failure) -> Outcome:
    """Returns the outcome of a mutation that was not tried, for the document at *place* if that is known."""
    if place is not None:
        name = f"{mutation.id}:{place.path}"
        mutation = replace(mutation, id=name, uri=place.uri, identity=place.identity, path=place.path)
        failure = failure.with_uri(place.uri)
    status = Status.DENIED if failure.code is Code.DENIED else Status.FAILED
    return Outcome(mutation=mutation, status=status, failure=failure)


def no_snapshot(error: Exception, ports: Ports) -> Failure:
    """Returns the failure of a call for which no checkpoint could be taken."""
    message = f"Nothing was changed. {error}"
    if not ports.terms.reads_settings:  # no model reads this, and steps are for models
        return Failure(code=Code.TOOL_FAILED, message=f"{message} {WITHOUT_SETTINGS}")
    return Failure(
        code=Code.TOOL_FAILED,
        message=message,
        steps=(
            "Ask the user to fix the cause that the message names, then try again. Do not change settings or "
            "checkpoints yourself.",
            "Or ask the user to set handrail.checkpoints.required to false, which allows changes without a "
            "checkpoint.",
        ),
    )
