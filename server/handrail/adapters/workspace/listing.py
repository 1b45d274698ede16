"""
Walk a folder: its files, without those that ignore rules leave out.

`.gitignore` and `.ignore` are read in every folder on the way, up to the top of the repository that holds the
folder, as are `.git/info/exclude` and nothing of the user's own. Version control's folders are never entered
and symbolic links not followed, so a walk ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path

from pathspec import GitIgnoreSpec, Pattern

from handrail.adapters.files import setting_file
from handrail.adapters.workspace import patterns
from handrail.values import dataclass, replace

IGNORE_FILES = (".ignore", ".gitignore")  # what any of the first says wins over the second, as in ripgrep
EXCLUDE = "exclude"
BRACES = re.compile(r"\{([^{}]*)\}")
LIMIT_PATTERNS = 64  # that a glob with braces may stand for


@dataclass(frozen=True, slots=True, kw_only=True)
class _IgnoreRules:
    """The ignore rules of one file, and the path of its folder with `/` at the end."""

    kind: str
    folder: str
    spec: GitIgnoreSpec


def walk(folder: Path, is_internal: Callable[[str], bool]) -> Iterator[Path]:
    """
    Give every file below *folder* that is not ignored, folder by folder, sorted by name.

    Args:
        is_internal: Whether a name is that of a version control system's folder.
    """
    yield from _walk(os.fspath(folder), _rules_above(folder, is_internal), is_internal)


class Ignored:
    """Says whether single files below a folder are ignored; what it has read, it keeps."""

    def __init__(self, folder: Path, is_internal: Callable[[str], bool]) -> None:
        self._folder = folder
        self._is_internal = is_internal
        self._known: dict[str, tuple[_IgnoreRules, ...]] = {}  # by folder

    def __call__(self, path: Path, *, is_folder: bool = False) -> bool:
        """Whether the walk would not give *path* or, if that is a folder, would not enter it."""
        if not path.is_relative_to(self._folder):
            return True
        rules, folder = self._top, self._folder
        for name in path.relative_to(self._folder).parts[:-1]:
            folder /= name
            if self._is_internal(name) or _is_ignored(os.fspath(folder), rules, is_folder=True):
                return True
            rules = (*rules, *self._rules_of(os.fspath(folder)))
        return _is_ignored(os.fspath(path), rules, is_folder=is_folder)

    def _rules_of(self, folder: str) -> tuple[_IgnoreRules, ...]:
        if folder not in self._known:
            self._known[folder] = tuple(_rules(folder))
        return self._known[folder]

    @cached_property
    def _top(self) -> tuple[_IgnoreRules, ...]:
        return (*_rules_above(self._folder, self._is_internal), *_rules(os.fspath(self._folder)))


class Glob:
    """
    A pattern for paths below a folder: `*.py` is every such file, `src/**/*.{ts,tsx}` those below `src`.

    Patterns are those of .gitignore, with alternatives in braces; an empty one takes all.
    """

    def __init__(self, pattern: str) -> None:
        alternatives = list(islice(_alternatives(pattern.removeprefix("./")), LIMIT_PATTERNS))
        self._spec = patterns.spec(alternatives) if pattern else None

    def takes(self, path: str) -> bool:
        """Whether a path, relative to the folder with `/`, is one of them."""
        return self._spec is None or self._spec.match_file(path)


def _alternatives(pattern: str) -> Iterator[str]:
    found = BRACES.search(pattern)
    if found is None or pattern.count("{") > 8:
        yield pattern
        return
    for part in found[1].split(","):
        yield from _alternatives(pattern[: found.start()] + part + pattern[found.end() :])


def _walk(folder: str, rules: tuple[_IgnoreRules, ...], is_internal: Callable[[str], bool]) -> Iterator[Path]:
    rules = (*rules, *_rules(folder))
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            is_file = entry.is_file(follow_symlinks=False)
        except OSError:
            continue
        if is_internal(entry.name) or _is_ignored(entry.path, rules, is_folder=is_folder):
            continue
        if is_folder:
            yield from _walk(entry.path, rules, is_internal)
        elif is_file:
            yield Path(entry.path)


def _rules_above(folder: Path, is_internal: Callable[[str], bool]) -> tuple[_IgnoreRules, ...]:
    """
    The rules of the folders above, up to the top of the repository; nothing without a repository.

    A rule that ignores *folder* as a whole says nothing of what is in it, as in ripgrep: the folder is walked
    because it was named.
    """
    above: list[Path] = []
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if top is not None:
        above = [each for each in reversed(folder.parents) if each.is_relative_to(top)]
    found = [rules for each in above for rules in _rules(os.fspath(each))]
    if top is not None and (excluded := _lines(top / ".git" / "info" / "exclude")):
        found.insert(
            0, _IgnoreRules(kind=EXCLUDE, folder=_slash(os.fspath(top)), spec=patterns.spec(excluded))
        )
    return tuple(part for each in found for part in _without_folder(each, _slash(os.fspath(folder))))


def _without_folder(rules: _IgnoreRules, folder: str) -> Iterator[_IgnoreRules]:
    """Yields the rules in their order; those that match *folder* apply below it only to names."""
    name = folder.removeprefix(rules.folder)
    for matches, found in groupby(rules.spec.patterns, lambda each: each.match_file(name) is not None):
        kept = [each for each in found if not matches or _is_of_names(each)]
        yield replace(
            rules, folder=folder if matches else rules.folder, spec=GitIgnoreSpec(kept, backend="simple")
        )


def _is_of_names(pattern: Pattern) -> bool:
    """Whether a pattern is for names in any folder."""
    written = getattr(pattern, "pattern", "")
    return isinstance(written, str) and "/" not in written.rstrip().rstrip("/")


def _rules(folder: str) -> Iterator[_IgnoreRules]:
    for name in IGNORE_FILES:
        if os.path.lexists(f"{folder}/{name}") and (lines := _lines(Path(folder, name))):
            yield _IgnoreRules(kind=name, folder=_slash(folder), spec=patterns.spec(lines))


def _lines(path: Path) -> list[str]:
    try:
        return setting_file.read_all(path).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []


def _slash(folder: str) -> str:
    return folder.rstrip("/" + os.sep).replace(os.sep, "/") + "/"


def _is_ignored(path: str, rules: Sequence[_IgnoreRules], *, is_folder: bool) -> bool:
    """Whether the first that says anything of *path* says that it is ignored; inner folders come first."""
    name = path.replace(os.sep, "/") + ("/" if is_folder else "")
    for kind in (*IGNORE_FILES, EXCLUDE):
        for each in reversed(rules):
            if each.kind != kind:
                continue
            said = each.spec.check_file(name.removeprefix(each.folder)).include
            if said is not None:
                return said
    return False
