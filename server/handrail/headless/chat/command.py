"""`handrail chat` as a command: what it needs of the terminal, and how it begins and ends."""

from collections.abc import Callable, Sequence
from pathlib import Path

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from handrail.headless import terminal
from handrail.headless.chat import requests
from handrail.headless.chat.completion import ChatCompleter
from handrail.headless.chat.console import Actions, Console
from handrail.headless.chat.conversation import Conversation
from handrail.headless.chat.files import Files
from handrail.headless.chat.history import MessageHistory
from handrail.headless.chat.state import ChatState
from handrail.headless.chat.supervisor import Supervisor
from handrail.headless.commands.stage import ALL_LANDED, UNSTORED, Options, Stage, on_stage
from handrail.headless.question import Question
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions(Options):
    """
    A chat.

    Attributes:
        files: Gives the paths that can be named as `@path`; slow.
        history: Where sent messages are kept; None keeps them in memory.
        session: The session to continue; None begins a new one.
        mode: What turns may do; None for what was chosen for the session, or else for the settings' mode.
        again: Options of the command line that hold when the session is continued, too.
        model_problem: Says what is wrong with the name of a model; nothing, if it may be one.
        streams: What is typed and drawn; None is the terminal.
    """

    files: Callable[[], Sequence[str]] = tuple
    history: Path | None = None
    session: str | None = None
    mode: str | None = None
    again: tuple[str, ...] = ()
    model_problem: Callable[[str], str] = lambda model: ""
    streams: tuple[Input, Output] | None = None


async def chat(options: ChatOptions) -> int:
    """Talk until the person leaves; returns the exit code."""
    return await on_stage(options, lambda stage: _chat(options, stage))


async def _chat(options: ChatOptions, stage: Stage) -> int:
    if options.streams is None:
        terminal.require_screen("handrail chat")
    files = Files(options.files, stage.root)
    state = ChatState(
        session=options.session,
        mode=str(options.settings.get("mode", "edit")),
        mode_of_session=str(options.settings.get("mode", "edit")),
        model=str(options.settings.get("model", "paste")),
    )
    is_yes = options.yes

    async def approve(question: Question) -> str:
        return "allow" if is_yes and question.asks_permission else await console.ask(question)

    server = Supervisor(options.server, stage.root, options.settings, approve)
    conversation = Conversation(server, state, files, options.model_problem)
    actions = Actions(
        send=conversation.send,
        interrupt=conversation.interrupt,
        leave=conversation.leave,
        status=conversation.status,
        show_question=conversation.show_question,
        explain_answers=conversation.explain_answers,
    )
    console = Console(actions, ChatCompleter(files), MessageHistory(options.history), options.streams)
    conversation.console = console
    server.write_to(console.screen)
    try:
        await stage.interrupts.guard(_begin(conversation, options.mode))
        try:
            await stage.interrupts.guard(console.run())
        finally:
            await conversation.end()
            if state.session in state.unstored:
                server.show.line(UNSTORED.format(session=state.session))
            elif state.session is not None:
                server.show.session(state.session, _resume_options(options, state), "chat")
    finally:
        await server.stop()
    return ALL_LANDED


async def _begin(conversation: Conversation, mode: str | None) -> None:
    """Start the server, and say what there is; without a stated *mode*, a session has its own."""
    session = conversation.current.session
    client = await conversation.server.client(None)
    if session is not None:
        of_session, conversation.current.used = await requests.resume(
            client, session, conversation.show, "`handrail session list` lists the sessions."
        )
        conversation.current.mode, conversation.current.mode_of_session = mode or of_session, of_session
    conversation.show.line("Type a message, or /help. Ctrl-D quits.")


def _resume_options(options: ChatOptions, state: ChatState) -> tuple[str, ...]:
    """The options that continue the session as it is now."""
    words = list(options.again)
    for name, now, before in (
        ("--model", state.model, options.settings.get("model", "paste")),
        ("--mode", state.mode, options.mode or state.mode_of_session),
    ):
        if now != before and name in words:
            words[words.index(name) + 1] = now
        elif now != before:
            words += (name, now)
    return tuple(words)
