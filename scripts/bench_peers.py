"""
The edit engines of other agents, run beside ours when the user has a checkout of them.

Only the functions that find and replace are loaded, with what they need of Python itself; nothing of the
agents around them is imported.
"""

from __future__ import annotations

import ast
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

from handrail.core.patches.hunk import Hunk

LIMIT_S = 20.0  # of one search by a peer

Peer = Callable[[str, str, str], object]  # of content, search text and replacement


class TooSlow(BaseException):
    """A peer has used up its time; not an Exception, so that none of them catches it."""


def loaded(*, aider: Path | None, hermes: Path | None) -> Mapping[str, Peer]:
    """The peers whose checkouts are given, by name."""
    peers: dict[str, Peer] = {}
    if aider is not None:
        functions = _functions(aider / "aider/coders/editblock_coder.py")
        replace, hint = functions["replace_most_similar_chunk"], functions["find_similar_lines"]
        peers["aider"] = lambda content, old, new: replace(content, old, new) or hint(old, content)
    if hermes is not None:
        peers["Hermes"] = _functions(hermes / "tools/fuzzy_match.py")["fuzzy_find_and_replace"]
    return peers


def _functions(path: Path) -> dict[str, Callable[..., object]]:
    """The functions and constants of a module, without its classes and its imports of other packages."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    module.body = [each for each in module.body if _is_kept(each)]
    names: dict[str, Callable[..., object]] = {}
    exec(compile(module, str(path), "exec"), names)  # the module's own names
    return names


def _is_kept(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import(names=names):
            return all(name.name.partition(".")[0] in sys.stdlib_module_names for name in names)
        case ast.ImportFrom(module=module, level=0):
            return (module or "").partition(".")[0] in sys.stdlib_module_names
        case ast.FunctionDef() | ast.Assign() | ast.AnnAssign():
            return True
    return False


def timed(peer: Peer, content: str, hunk: Hunk) -> str:
    """How long *peer* takes once, in milliseconds, or that it takes too long."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    began = time.perf_counter()
    try:
        peer(content, hunk.old, hunk.new)
    except TooSlow:
        return f"> {LIMIT_S * 1e3:,.0f}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return f"{(time.perf_counter() - began) * 1e3:.1f}"


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooSlow
