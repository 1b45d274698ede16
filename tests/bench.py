"""A host on a workspace folder: the real disk, the real shadow repository, scripted answers, no editor."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.commands.process import Processes
from handrail.adapters.files.disk import Disk
from handrail.adapters.models.scripted import Scripted
from handrail.adapters.state.grant_file import GrantFile
from handrail.adapters.state.spill_folder import SpillFolder
from handrail.adapters.workspace.folders import Folders
from handrail.agent import restoring
from handrail.agent.host import Host
from handrail.agent.restore.restore import RestoreReport, RestoreRequest
from handrail.core.conversation.message import (
    AssistantMessage,
    Delta,
    Message,
    Response,
    ToolMessage,
    ToolOffer,
)
from handrail.core.ledger.report import Event, TurnReport
from handrail.ports import ALLOW, Editor, HandrailError, Ports, Provider, Question, Terms
from handrail.testing import script, snapshot


def outline(report: RestoreReport) -> list[object]:
    """What became of each document, without the reasons, which may be found at another moment."""
    uris = [report.restored, report.unchanged, report.deleted]
    uris += [tuple(each.uri for each in found) for found in (report.partial, report.conflicts)]
    return [*(sorted(each) for each in uris), report.conversation]


class Yes:
    """Approver port that notes what it is asked, and always says the same."""

    def __init__(self, says: str | None = ALLOW) -> None:
        self.says, self.asked = says, list[Question]()

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return self.says


@dataclass
class Between:
    """A provider that lets somebody act before each of its answers, by their numbers from 0."""

    inner: Provider
    acts: dict[int, Callable[[], object]]
    context_tokens: int = 1_000_000

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Delta | Response]:
        number = sum(isinstance(message, AssistantMessage) for message in messages)
        self.acts.get(number, lambda: None)()
        async for piece in self.inner.complete(messages, tools):
            yield piece


class Never:
    """A provider that does not answer."""

    context_tokens = 1_000_000

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Delta | Response]:
        self.asked.set()
        await asyncio.Event().wait()
        yield Response(text="")


class Together:
    """A provider that does not answer, and whose calls end only once as many as given are cancelled."""

    context_tokens = 1_000_000

    def __init__(self, parties: int) -> None:
        self.asked, self.cancelled = asyncio.Event(), asyncio.Barrier(parties)
        self.calls = 0

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Delta | Response]:
        self.calls += 1
        if self.calls == self.cancelled.parties:
            self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.cancelled.wait()
        yield Response(text="")


@dataclass
class Bench:
    """A host on a workspace folder, and all that it told."""

    root: Path
    state: Path
    approver: Yes = field(default_factory=Yes)
    events: list[Event] = field(default_factory=list)
    terms: Terms = field(default_factory=Terms)
    editor: Editor = field(default_factory=Disk)
    secrets: tuple[str, ...] = ()
    pauses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        ids = count(1)
        self.folders = Folders([self.root])
        self.folders.set_rules(lambda: self.terms.rules)
        self.repo = ShadowRepo(self.state, lambda: self.folders.roots, lambda: datetime.now(UTC))
        self.spills = SpillFolder(self.state.parent / "outputs")
        self.provider: Provider = Never()
        self.host = Host(
            ports=self.ports,
            new_id=lambda kind: f"{kind}-{next(ids)}",
            on_event=lambda session, turn, event: self.events.append(event),
            on_ledger=lambda ledger: None,
        )

    def ports(self) -> Ports:
        return Ports(
            editor=self.editor,
            workspace=self.folders,
            provider=self.provider,
            checkpoints=self.repo,
            approver=self.approver,
            grants=GrantFile(self.state.parent, lambda: self.folders.roots),
            process=Processes(os.environ, lambda: self.folders.roots),
            spills=self.spills,
            terms=self.terms,
            secrets=lambda: self.secrets,
            pause=self.pause,
        )

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def says(self, *answers: dict[str, object], acts: dict[int, Callable[[], object]] | None = None) -> None:
        file = self.state.parent / "script.json"
        script(file, *answers)
        self.provider = Between(Scripted(file), acts or {})

    async def turn(self, session: str | None = None) -> TurnReport:
        return await self.host.wait(self.host.start("Do it.", session).id)

    async def restore(self, checkpoint: str, *, is_foreseen: bool = True, **wished: Any) -> RestoreReport:
        """Restores a checkpoint, and asserts that this had been foreseen, without a change to any file."""
        request = RestoreRequest(checkpoint=checkpoint, **wished)
        files = snapshot(self.root)
        foreseen: list[object]
        try:
            foreseen = outline(await restoring.dry_run(self.host, request))
        except HandrailError as error:
            foreseen = [error]
        assert snapshot(self.root) == files
        report = await restoring.restore(self.host, request)
        assert (foreseen == outline(report)) is is_foreseen, f"{foreseen}\n{report}"
        return report

    def texts(self, session: str = "s-1") -> list[str]:
        """The text of every result in the history."""
        messages = self.host.sessions[session].messages
        return [r.text for each in messages if isinstance(each, ToolMessage) for r in each.results]

    def results(self, session: str = "s-1") -> list[tuple[str, str]]:
        """Call ids with the code of their failure, of every result in the history."""
        messages = self.host.sessions[session].messages
        found = [result for each in messages if isinstance(each, ToolMessage) for result in each.results]
        return [(each.call, each.failure.code.value if each.failure else "") for each in found]

    def history(self, session: str = "s-1") -> tuple[Message, ...]:
        """All messages of a session."""
        return self.host.sessions[session].messages
