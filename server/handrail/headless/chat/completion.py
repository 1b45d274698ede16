"""Completion of `/command` and `@path` while a message is typed."""

from collections.abc import AsyncGenerator, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from handrail.headless.chat import mentions, slash
from handrail.headless.chat.files import Files
from handrail.headless.terminal import visible


class ChatCompleter(Completer):
    """Offers commands at the beginning of a message, modes after `/mode`, names after `@`."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Offer what needs no listing of files."""
        before = document.text_before_cursor
        if before.startswith("/mode "):
            typed, choices = before.removeprefix("/mode "), list(slash.MODES)
        elif before.startswith("/"):
            typed, choices = before, [f"/{name}" for name in slash.NAMES]
        else:
            return
        for each in choices:
            if each.startswith(typed.lower()) and each != typed:
                yield Completion(each, -len(typed))

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Offer commands, or files."""
        for each in self.get_completions(document, complete_event):
            yield each
        before = document.text_before_cursor
        if before.startswith("/"):
            for name in slash.own_commands(await self._files.paths()):
                if f"/{name}".startswith(before) and f"/{name}" != before:
                    yield Completion(f"/{name}", -len(before))
        typing = mentions.unfinished_mention(document.current_line_before_cursor)
        if typing is None:
            return
        typed, is_quoted = typing
        for name in mentions.NAMES:
            if not is_quoted and name.startswith(typed):
                yield Completion(f"@{name}", -len(typed) - 1)
        for path in (await self._files.index()).matches(typed):
            yield Completion(mentions.mention_of(path), -len(typed) - 1 - is_quoted, display=visible(path))
