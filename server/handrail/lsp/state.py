"""
The state of one server while it serves one client, which its handlers share.

The backend (disk, checkpoints, providers, watch) is given; nothing here reads an environment or a clock.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cached_property, partial

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from handrail.agent.archive import Archive
from handrail.agent.chat.view import View
from handrail.agent.compacting import share
from handrail.agent.host import Host
from handrail.agent.questions import Questions
from handrail.agent.review.discussion import Discussion
from handrail.core.failure import Failure
from handrail.core.ledger.outcome import Outcome
from handrail.core.ledger.report import Ended
from handrail.core.policy.rules import UNTIL_SETTINGS, Rule
from handrail.core.results.redact import redact
from handrail.lsp import convert, model_settings, settings
from handrail.lsp.backend import Backend
from handrail.lsp.bridge.languages import ClientLanguages
from handrail.lsp.bridge.model import EditorModel
from handrail.lsp.chat.chats import Chats
from handrail.lsp.chat.elsewhere import OtherWindows
from handrail.lsp.chat.page import ChatPage
from handrail.lsp.chat.paths import Paths
from handrail.lsp.client import Client
from handrail.lsp.connection import Server
from handrail.lsp.convert import Converter
from handrail.lsp.documents import Documents
from handrail.lsp.edits.stale import WatchfulEditor
from handrail.lsp.follow import Follow
from handrail.lsp.model_settings import ProviderSettings
from handrail.lsp.pacing import Paced
from handrail.lsp.progress import Progress, Slow
from handrail.lsp.questions import words
from handrail.lsp.questions.documents import QuestionDocuments
from handrail.lsp.questions.surface import ClientSurface
from handrail.lsp.review.page import ReviewPage
from handrail.lsp.review.surface import ReviewSurface
from handrail.lsp.settings.table import REVIEW_MODE
from handrail.lsp.terms import limits, terms
from handrail.ports import Ports, Provider
from handrail.ports.errors import SEE_LOG
from handrail.ports.renames import Renames
from handrail.values import dataclass, replace

logger = logging.getLogger(__name__)

EDITOR = "editor"  # in the setting `model` it means the client's own, and may be followed by a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The handlers that the state itself calls; they stand above it in the imports."""

    publish: Callable[[State], None]
    recheck_file: Callable[[State, str], Coroutine[object, object, None]]
    settled: Callable[[State], Coroutine[object, object, None]]  # awaited by each turn


class State:
    """Everything behind the handlers."""

    def __init__(self, server: Server, backend: Backend, hooks: Hooks) -> None:
        self.server, self.backend, self._hooks = server, backend, hooks
        self.workspace, self.checkpoints = backend.workspace, backend.checkpoints
        self.workspace.set_rules(self.rules)
        self.client = Client()
        self.settings = self.stated = settings.Settings()  # a conversation may use another model than stated
        self.folders: list[str] = []
        self.documents, self.patience = Documents(self.identify), backend.patience
        self.editor = WatchfulEditor(server, self.documents, backend.disk, backend.patience)
        self.editor.stamp = backend.stamp
        self.editor.settings = lambda: self.settings
        self.progress = Progress(server=server, client=self.client, converter=lambda: self.converter)
        self.question_documents = QuestionDocuments(
            served=backend.served,
            opened=self.documents,
            identify=self.identify,
            say=self.say,
            editor=self.editor,
            show=self.open_document,
        )
        self.questions = Questions(
            clock=backend.clock,
            timeout_s=lambda: self.settings.number(settings.QUESTIONS_TIMEOUT) * 60.0,
            surface=ClientSurface(
                server=server,
                client=lambda: self.client,
                questions=lambda: self.questions,
                documents=self.question_documents,
                status=self.progress.wait,
                say=self.say,
                follow=self.follow,
            ),
        )
        self.editor_model, self.renames = EditorModel(server, self.secrets), Renames()
        self.converter = Converter(encoding=self.documents.encoding)
        self.review_page = self._review_page()
        self.review = self._review_surface()
        self.model, self.provider_settings = "", ProviderSettings()  # the model: as chosen in a conversation
        paths = Paths(listing=partial(self.workspace.files, None, ""))
        others = OtherWindows(watch=backend.journal_watch, uri=backend.sessions.uri)
        self.chats = Chats(served=backend.served, page=self._chat_page, paths=paths, others=others)
        reviews = backend.reviews
        self.host = Host(
            ports=self._ports,
            new_id=lambda kind: f"{kind}-{uuid.uuid4().hex[:12]}",
            on_event=self.progress_of,
            on_ledger=lambda _: self._publishing.soon(),
            ready=lambda: hooks.settled(self),
            archive=Archive(journals=self.chats.watch(backend.sessions)),
            reviews=self.review.ledger(reviews, backend.records, lambda: self.settings.text(REVIEW_MODE)),
            mode_of=lambda mode: model_settings.mode(self.settings, mode, untrusted=self.client.untrusted),
        )
        self.running: dict[str, Slow] = {}
        self.published: set[str] = set()
        self._publishing = Paced(act=partial(hooks.publish, self), may_wait=lambda: self.host.turns.running)
        self.has_settled = False  # whether the client has ever told its settings
        self.pulls = self.pulled = 0  # how often the settings were asked for; the latest answer's number
        self.settled = asyncio.Event()
        self._tasks: set[asyncio.Task[object]] = set()
        self._identities: dict[str, str] = {}

    @cached_property
    def discussion(self) -> Discussion:
        """The comments on pending changes."""
        host = self.host
        return Discussion(host.reviews, host.archive, spelled=self.client_uri, new_id=host.new_id)

    @cached_property
    def languages(self) -> ClientLanguages:
        """The port to the client's other language servers."""
        return ClientLanguages(self.server, self.documents)

    @cached_property
    def following(self) -> Follow:
        """Shows the user what is edited."""
        follows = lambda: self.client.shows_documents and self.settings.flag(settings.FOLLOW)  # noqa: E731
        return Follow(self.server, self.documents, self.patience.answer_s, self.begin, follows)

    def _review_page(self) -> ReviewPage:
        held, said = (self.documents, self.editor), (self.say, self.begin)
        return ReviewPage(self.backend.served, *held, *said, *self._hands, discussion=lambda: self.discussion)

    @property
    def _hands(self) -> tuple[Callable[[], None], Callable[[], bool]]:
        return self._refresh_lenses, lambda: self.client.apply_edit

    def _mode_in(self, page: ChatPage) -> str:
        """Returns the mode of the turn that runs in a conversation or comes next; empty in an empty one."""
        archive, now = self.host.archive, page.transcript
        archive.learn_mode(page.session, now.chosen)
        if now.running is not None:
            return now.running.mode
        return self.host.mode_in(page.session).value if now.turns or page.session in archive.modes else ""

    def _chat_page(self, session: str, name: str) -> ChatPage:
        view = View(
            facts=lambda: (model_settings.model_name(self), self._mode_in(page), share(self.host, session)),
            question=self._question_text,
            redactor=lambda: partial(redact, secrets=self.secrets()),
        )
        held, said = (self.documents, self.editor), (self.say, self.begin)
        journals = self.host.archive.journals
        page = ChatPage(
            self.backend.served,
            *held,
            *said,
            *self._hands,
            name=name,
            session=session,
            journals=journals,
            running=lambda: [turn.id for turn in self.host.turns.running_turns(session)],
            asked=lambda: [each.question for each in self.questions.open if each.question.session == session],
            view=view,
        )
        return page

    def _question_text(self, question: str) -> str | None:
        found = next((each for each in self.questions.open if each.id == question), None)
        return None if found is None else words.document(found.question)

    def _refresh_lenses(self) -> None:
        self.review.refresh()

    def _review_surface(self) -> ReviewSurface:
        return ReviewSurface(
            server=self.server,
            client=lambda: self.client,
            documents=self.documents,
            reviews=lambda: self.host.reviews,
            spelled=self.client_uri,
            begin=self.begin,
            publish=self.publish,
            say=self.say,
            page=self.review_page,
        )

    def greet(self, client: Client, params: lsp.InitializeParams, encoding: str) -> None:
        """Take over what the client says of itself."""
        self.client = client
        given = settings.settle(self.client.settings, None, None)
        self.settings = self.stated = replace(
            given, problems=()
        )  # until the client tells more; problems are told then
        self.editor.client = self.progress.client = self.client
        self.editor_model.client = self.languages.client = self.client
        self.documents.encoding = encoding
        self.converter = Converter(
            encoding=encoding,
            related=self.client.related,
            data=self.client.data,
            ledger=lambda: self.host.ledger,
            spelled=self.client_uri,
            redact=lambda text: redact(text, self.secrets()),
        )
        folders = [folder.uri for folder in params.workspace_folders or ()]
        self.set_folders(folders or ([params.root_uri] if params.root_uri else []))

    def set_folders(self, uris: list[str]) -> None:
        """From now on these are the workspace folders."""
        self.folders = uris
        self.workspace.set_folders(uris)
        self._identities.clear()

    def identify(self, uri: str) -> str:
        """A document's identity, whatever the spelling of its URI."""
        if uri not in self._identities:
            place = self.workspace.resolve(uri)
            self._identities[uri] = uri if isinstance(place, Failure) else place.identity
        return self._identities[uri]

    def client_uri(self, uri: str) -> str:
        """The URI by which the client knows a document: its own while it holds it, whatever its spelling."""
        document = self.documents.find(uri) if uri else None
        return uri if document is None else document.uri

    def show_path(self, uri: str) -> str:
        """A document's path as people read it."""
        place = self.workspace.resolve(uri)
        return uri if isinstance(place, Failure) else place.path

    def _ports(self) -> Ports:
        return Ports(
            editor=self.editor,
            workspace=self.workspace,
            provider=self._provider(),
            checkpoints=self.checkpoints,
            approver=self.questions,
            process=self.backend.process,
            spills=self.backend.spills,
            grants=self.backend.grants,
            terms=terms(self.settings, self.client, self.rules(), self.folders, self.backend.sandbox),
            languages=self.languages,
            renames=self.renames,
            surroundings=self.backend.surroundings,
            rules_now=self.rules,
            secrets=self.secrets,
            model_keys=self.model_keys,
            clock=self.backend.clock,
        )

    def _provider(self) -> Provider:
        model = self.settings.text(settings.MODEL)
        kind, _, name = model.partition(":")
        if kind == EDITOR:
            return self.editor_model.by_name(name)
        return self.backend.providers(model_settings.model(self.settings))

    # ---- Settings ---------------------------------------------------------------------------------

    def rules(self) -> tuple[Rule, ...]:
        """The user's rules; every edit and command is asked about until the client has told its settings."""
        return self.settings.rules(settings.APPROVALS) + (() if self.has_settled else UNTIL_SETTINGS)

    def refresh(self) -> None:
        """The settings are known, or have changed."""
        self.has_settled = True
        self.settled.set()
        in_workspace = self.settings.text(settings.DOCUMENTS) == "workspace"
        self.backend.served.use_workspace(in_workspace and not self.client.untrusted)
        self.checkpoints.set_limits(limits(self.settings))
        self.publish()

    def shows_diagnostics(self) -> bool:
        """Whether failures are shown; the environment wins both ways."""
        if self.backend.diagnostics is not None:
            return self.backend.diagnostics
        return self.settings.flag(settings.DIAGNOSTICS)

    # ---- Questions --------------------------------------------------------------------------------

    async def open_document(self, uri: str, line: int | None = None) -> None:
        """Have the editor show a document, or a line of it, counted from 0; else say where it is."""
        if self.client.shows_documents:
            selection = None if line is None else convert.line(line)
            params = lsp.ShowDocumentParams(uri=uri, take_focus=True, selection=selection)
            try:
                shown = await asyncio.wait_for(
                    self.server.window_show_document_async(params), self.patience.answer_s
                )
                if shown is None or shown.success:
                    return
            except (JsonRpcException, TimeoutError):
                logger.warning("The client did not show %s", uri)
        self.say(f"Open {uri}" if line is None else f"Open {uri} at line {line + 1}")

    # ---- Telling ----------------------------------------------------------------------------------

    def publish(self) -> None:
        """Tell the client of the open failures."""
        self._publishing.now()

    def recheck_file(self, uri: str) -> None:
        """Look at a document whose file has changed."""
        self.begin(self._hooks.recheck_file(self, uri))

    def progress_of(self, session: str, turn: str, event: object) -> None:
        """Tell the client what happens in a turn."""
        if isinstance(event, Outcome) and (document := self.documents.find(event.mutation.uri)) is not None:
            document.on_disk = None  # what differs on the disk from now on may be ours
        if isinstance(event, Ended):
            self._publishing.finish()
        self.progress.on_event(session, turn, event)  # type: ignore[arg-type]  # the host's event is the report's
        self.chats.on_event(session, turn, event)  # type: ignore[arg-type]  # the same
        self.following.note(event)

    def say(self, message: str) -> None:
        """Tell the user something that needs a person."""
        self.server.say(message)

    def secrets(self) -> tuple[str, ...]:
        """The values of keys, which must not be shown to anyone."""
        return self.backend.secrets(self.stated.text(settings.KEY_NAME))

    def model_keys(self) -> tuple[str, ...]:
        """The keys of the models that handrail uses, which no command may inherit."""
        return self.backend.providers.keys(map(model_settings.model, (self.stated, self.settings)))

    @contextmanager
    def show_slow_work(self, title: str) -> Iterator[Slow]:
        """Something that may take long: shown once it does, and the user can stop it."""
        token = f"slow-{uuid.uuid4().hex[:12]}"
        shows = self.client.progress
        slow = Slow(server=self.server, shows_progress=shows, title=title, say=self.say, token=token)
        self.running[token] = slow
        try:
            with slow:
                yield slow
        finally:
            del self.running[token]

    async def stop(self, token: str) -> None:
        """The user stops what is shown with *token*."""
        if token in self.host.turns:
            await self.host.cancel(token)
        elif token in self.running:
            self.running[token].stop()

    def follow(self, task: asyncio.Task[object]) -> None:
        """Keep a task alive; if it fails for a reason of ours, log it and say so once."""
        self._tasks.add(task)
        task.add_done_callback(self._on_end)

    def begin(self, work: Coroutine[object, object, object]) -> None:
        """Start a background task."""
        self.follow(asyncio.ensure_future(work))

    def _on_end(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, JsonRpcException):
            self.say(error.message)  # a command that went on after its answer could not be done
        elif error is not None:
            logger.error("A task failed", exc_info=error)
            why = f"{type(error).__name__}: {error}"
            self.say(f"internal error ({why}). The server keeps running. {SEE_LOG}")

    # ---- Watching ---------------------------------------------------------------------------------

    def is_watched(self, identity: str) -> bool:
        """Whether a document has failures, or quick fixes that may be undone, so that its text matters."""
        return any(mutation.identity == identity for mutation in self.host.ledger.mutations)
