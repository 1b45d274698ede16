"""Files that a message names as `@path`, or as `@"path with blanks"`."""

import re
from collections.abc import Callable

_MENTION = re.compile(r'(?<![^\s(\["\'`])@(?:"([^"\n]+)"|([^\s"@]+))')
_OPEN = re.compile(r'(?<![^\s(\["\'`])@(?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"@]*))$')
_AFTER = ".,;:!?)]'`"  # what a sentence may put behind a path


def mentioned_files(text: str, is_file: Callable[[str], bool]) -> tuple[str, ...]:
    """The files that a text names, in its order."""
    found = dict[str, None]()
    for quoted, plain in _MENTION.findall(text):
        for path in (quoted,) if quoted else (plain, plain.rstrip(_AFTER)):
            plain_path = path.removeprefix("./")
            if is_file(plain_path):
                found[plain_path] = None
                break
    return tuple(found)


def unfinished_mention(before: str) -> tuple[str, bool] | None:
    """The path that is being typed at the end of a line, and whether in quotes; None if it is no mention."""
    found = _OPEN.search(before)
    if found is None:
        return None
    quoted = found["quoted"]
    return (found["plain"], False) if quoted is None else (quoted, True)


def mention_of(path: str) -> str:
    """A path as it is typed."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"
