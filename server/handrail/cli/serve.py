"""Adapters joined to a server: `handrail serve`, and what contains commands."""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from handrail.core.policy.containment import Sandbox

if TYPE_CHECKING:
    from handrail.adapters.containment.containment import Containment
    from handrail.adapters.models.keys import Keys
    from handrail.adapters.workspace.folders import Folders
    from handrail.lsp.backend import Backend
    from handrail.lsp.connection import Server

logger = logging.getLogger(__name__)

SANDBOX = "HANDRAIL_SANDBOX"  # in the environment: decides how commands are contained
LIMITS_GC = 50_000, 20, 20  # lines of a long page come by tens of thousands, and all of them stay
SWITCH_S = 0.001  # how soon a thread that is busy lets the one go on that answers the editor


def serve(answer_timeout_s: float, command_timeout_s: float, clock: Path | None) -> int:
    """Serve one client on standard input and output until it leaves; 1 if it did so without `shutdown`."""
    from handrail.adapters.connection import Watchdog
    from handrail.adapters.models.keys import Keys

    keys, watchdog = Keys(os.environ), Watchdog()
    log_without(keys.secrets, logging.StreamHandler(sys.stderr))
    with join(keys, clock, answer_timeout_s, command_timeout_s) as server:
        return serve_client(server, sys.stdin.buffer, sys.stdout.buffer, watchdog.begin)


def serve_client(server: Server, source: BinaryIO, sink: BinaryIO, left: Callable[[], None]) -> int:
    """Serve who writes to *source* and reads *sink*; calls *left*, in any thread, when it leaves."""
    from handrail.adapters.connection import Messages

    server.client_left = left
    server.converse(Messages(source, left), sink)
    return 0 if server.was_told_to_end else 1


@contextmanager
def join(
    keys: Keys, clock: Path | None, answer_timeout_s: float, command_timeout_s: float
) -> Iterator[Server]:
    """
    A server on this machine; at the end of the block nothing is left of what contained its commands.

    Nothing but the connection is imported until the client is greeted.
    """
    gc.disable()  # until all is imported: what is imported stays
    from handrail.lsp.connection import Server

    patience = answer_timeout_s, command_timeout_s

    def load(server: Server) -> None:
        from handrail.lsp.server import set_up_server

        set_up_server(server, _backend(keys, clock, patience, closing))
        gc.freeze()  # none of it need be looked at whenever garbage is collected
        gc.set_threshold(*LIMITS_GC)
        gc.enable()
        sys.setswitchinterval(SWITCH_S)

    with ExitStack() as closing:
        yield Server(load, keys.secrets)


def _backend(keys: Keys, clock: Path | None, patience_s: tuple[float, float], closing: ExitStack) -> Backend:
    """The adapters of this machine, of which some are closed with *closing*."""
    from handrail.adapters.checkpoints.port import ShadowRepo
    from handrail.adapters.clock import FileClock, SystemClock
    from handrail.adapters.commands.environment import Environ
    from handrail.adapters.commands.process import Processes
    from handrail.adapters.files.disk import Disk
    from handrail.adapters.files.watch import FileWatch, stamp
    from handrail.adapters.git.recorded import GitRecords
    from handrail.adapters.models.providers import Providers
    from handrail.adapters.served.folder import ServedFolder
    from handrail.adapters.state.grant_file import GrantFile
    from handrail.adapters.state.home import state_folder
    from handrail.adapters.state.owner_file import OwnerFile
    from handrail.adapters.state.review_folder import ReviewFolder
    from handrail.adapters.state.session_log import SessionLog
    from handrail.adapters.state.spill_folder import SpillFolder
    from handrail.adapters.surroundings import LocalSurroundings
    from handrail.adapters.workspace.folders import Folders
    from handrail.lsp.backend import Backend
    from handrail.lsp.edits.apply_edit import Patience

    answer_s, command_s = patience_s
    folders, environ = Folders(()), Environ(os.environ)
    containment = containment_of(lambda: folders.roots, lambda: state_folder() / "handrail")
    closing.callback(containment.close)
    return Backend(
        disk=Disk(state_folder() / "handrail" / "locks", lambda: folders.roots),
        workspace=folders,
        checkpoints=ShadowRepo(state_folder(), lambda: folders.roots, lambda: datetime.now(UTC)),
        providers=Providers(keys),
        sessions=SessionLog(_path_beside(folders, "sessions"), keys.secrets),
        clock=SystemClock() if clock is None else FileClock(clock),
        reviews=ReviewFolder(_path_beside(folders, "review")),
        records=GitRecords(),
        owners=OwnerFile(state_folder() / "handrail"),
        served=ServedFolder(state=state_folder(), roots=lambda: folders.roots),
        surroundings=LocalSurroundings(lambda: folders.roots, lambda: datetime.now().astimezone()),
        secrets=keys.secrets,
        ask_for_keys=keys.ask_first,
        watch=FileWatch(),
        journal_watch=FileWatch(),
        process=Processes(environ, lambda: folders.roots, containment),
        add_to_environment=environ.add,
        grants=GrantFile(state_folder(), lambda: folders.roots),
        spills=SpillFolder(state_folder() / "handrail" / "outputs"),
        stamp=stamp,
        diagnostics=_verifier(),
        sandbox=sandbox_of(os.environ.get(SANDBOX)),
        patience=Patience(answer_s=answer_s, echo_s=answer_s / 2, command_s=command_s),
    )


def _path_beside(folders: Folders, name: str) -> Callable[[], Path]:
    """
    Returns the path of a file of the workspace's state, next to its checkpoints; other folders have another.
    """
    from handrail.adapters.state.home import state_folder, workspace_folder

    return lambda: workspace_folder(state_folder(), folders.roots) / name


def log_without(secrets: Callable[[], Sequence[str]], handler: logging.Handler) -> None:
    """Log to *handler*, without keys; so do threads that fail, and what warns."""
    from handrail.core.results.redact import redact

    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return redact(super().format(record), secrets())

    handler.setFormatter(Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # its records carry documents and prompts
    logging.captureWarnings(capture=True)
    threading.excepthook = _log_failed_thread


def _log_failed_thread(failed: threading.ExceptHookArgs) -> None:
    name = failed.thread.name if failed.thread is not None else "?"
    told = (failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback)
    logger.error("The thread %s failed.", name, exc_info=told)


def _verifier() -> bool | None:
    """Return whether the environment turns diagnostics of failures on or off; None if it does not say."""
    from handrail.headless.summary import VERIFIER

    return {"0": False, "1": True}.get(os.environ.get(VERIFIER, "").strip())


def sandbox_of(value: str | None) -> Sandbox | None:
    """Return the containment that the variable sets; None if it is unset or unknown."""
    return Sandbox(value) if value in frozenset(Sandbox) else None


def containment_of(roots: Callable[[], Sequence[Path]], state: Callable[[], Path]) -> Containment:
    """Returns the containment of commands."""
    from handrail.adapters.containment.containment import Containment
    from handrail.adapters.workspace.protected import kind_of

    return Containment(environ=os.environ, roots=roots, kind_of=kind_of, state=state)
