"""Finds mentions in a message (`@path`, `@"path with blanks"`, `@diff`); the server finds what is meant."""

import re

_OPEN = re.compile(
    r'(?<![^\s(\["\'`])@(?:"(?P<quoted>(?:\\["\\]|\\(?!["\\])|[^"\n\\])*)|(?P<plain>[^\s"@]*))$'
)


# What other than files may be named; `@selection` is for editors.
NAMES = ("diff", "problems", "session")


def unfinished_mention(before: str) -> tuple[str, bool] | None:
    """The path that is being typed at the end of a line, and whether in quotes; None if there is none."""
    found = _OPEN.search(before)
    if found is None:
        return None
    quoted = found["quoted"]
    return (found["plain"], False) if quoted is None else (quoted, True)


def mention_of(path: str) -> str:
    """A path as it is typed."""
    if re.search(r'[\s"@]|[.,;:!?)\]\'*_]$', path) is None:
        return f"@{path}"
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'@"{quoted}"'
