"""
Watch single files on disk with watchdog, for changes that no editor reports.

Folders are watched, not files, since most programs replace a file when they save it. Events are passed to the
event loop; the caller reads what has changed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from handrail.adapters.files.files import path_of
from handrail.ports import Stamp

logger = logging.getLogger(__name__)


class FileWatch(FileSystemEventHandler):
    """Watch port on watchdog; costs nothing while no file is followed."""

    def __init__(self) -> None:
        super().__init__()
        self._observer: BaseObserver | None = None
        self._uris: dict[str, str] = {}
        self._folders: set[Path] = set()  # that are watched
        self._is_refused = False  # by the system, when it was tried last
        self._tell: Callable[[str], None] = lambda uri: None
        self._loop: asyncio.AbstractEventLoop | None = None

    def follow(self, uris: Sequence[str], tell: Callable[[str], None]) -> None:
        """
        Tell of changes of *uris* from now on; URIs that do not name files are ignored.

        After this call, *tell* is called once for each, since it may have changed before the watch began.
        """
        wanted = {os.path.realpath(path): uri for uri in uris if (path := path_of(uri)) is not None}
        folders = {folder for path in wanted if (folder := Path(path).parent).is_dir()}
        self._tell = tell
        if wanted == self._uris and folders == self._folders:
            return
        self._uris, self._folders, self._loop = wanted, folders, asyncio.get_running_loop()
        try:
            self._watch(folders)
        except OSError as error:  # the user's other programs watch as much as the system lets them
            level = logging.DEBUG if self._is_refused else logging.WARNING  # it is tried again and again
            logger.log(level, "Files cannot be watched for changes by other programs: %s", error)
            self._folders, self._is_refused = set(), True
        else:
            self._is_refused = False
        for uri in wanted.values():
            self._loop.call_soon(self._on_change, uri)

    def _watch(self, folders: Iterable[Path]) -> None:
        """Watch these folders instead of the earlier ones. Raises OSError."""
        if self._observer is None and self._uris:
            self._observer = Observer()
            self._observer.daemon = True
            self._observer.start()
        if self._observer is not None:
            self._observer.unschedule_all()
            for folder in folders:
                self._observer.schedule(self, str(folder), recursive=False)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Hand a change over to the event loop; called on watchdog's thread."""
        if event.event_type in ("opened", "closed_no_write"):
            return
        for path in (event.src_path, event.dest_path):
            uri = self._uris.get(os.fsdecode(path)) if path else None
            if uri is not None and self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._on_change, uri)

    def _on_change(self, uri: str) -> None:
        if uri in self._uris.values():
            self._tell(uri)

    def close(self) -> None:
        """Stop watching."""
        if self._observer is not None:
            self._observer.stop()
            self._observer = None


def stamp(uri: str) -> Stamp | None:
    """Returns a value that changes whenever the file *uri* does; None if it is not a file."""
    path = path_of(uri)
    try:
        status = os.stat(path) if path is not None else None
    except (OSError, ValueError):
        return None
    if status is None or not stat.S_ISREG(status.st_mode):
        return None
    return Stamp(size=status.st_size, modified_ns=status.st_mtime_ns, file=status.st_ino)
