"""
Change parts of documents, in any notation that models write.

The mode names the notation; `core.patch` reads it. The paths that a checkpoint must cover come from the
very parser whose result is applied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from handrail.agent.tools import call
from handrail.core.documents.text import to_lf, unwritable
from handrail.core.failure import Failure
from handrail.core.patches import notations as notation
from handrail.core.patches.notations import FilePatch, Hunk, Operation
from handrail.core.policy.tool_kind import ToolKind

NAMED_FILE = re.compile(
    r"^(?:[ \t]*\*\*\* ?(?:Add|Update|Delete) File:[ \t]*|\+\+\+ (?:b/)?)(\S.*?)\s*$",
    re.MULTILINE | re.IGNORECASE,
)
# In arguments that are no JSON, or name the file by another word.
NAMED_PATH = re.compile(r"""["']?\b(?:file_?)?(?:path|name)["']?\s*:\s*["']([^"'\\\n]{1,1000})["']""")


def parse(arguments: call.Arguments) -> call.Edits | Failure:
    """Read the arguments of a call."""
    mode = arguments.get("mode", "replace")
    reader = MODES.get(mode) if isinstance(mode, str) else None
    if reader is None:
        return call.bad("mode", "one of " + ", ".join(MODES))
    partial = call.flag(arguments, "partial")
    if isinstance(partial, Failure):
        return partial
    patches = reader(arguments)
    if isinstance(patches, Failure):
        path = _named_file(arguments)
        if not path or unwritable(path):
            return patches
        meant = FilePatch(path=path, operation=Operation.UPDATE)
        return call.Edits(title=f"Edit {path}", patches=(meant,), wrong=patches)
    names = ", ".join(dict.fromkeys(patch.path for patch in patches))
    return call.Edits(title=f"Edit {names}", patches=patches, partial=partial)


def _replace(arguments: call.Arguments) -> tuple[FilePatch, ...] | Failure:
    path, old = call.path(arguments), call.text(arguments, "old_string")
    new, start = call.text(arguments, "new_string"), call.line_number(arguments, "start_line")
    everywhere = call.flag(arguments, "replace_all")
    for value in (path, old, new, start, everywhere):
        if isinstance(value, Failure):
            return value
    hunk = Hunk(
        number=1,
        old=to_lf(str(old)),
        new=to_lf(str(new)),
        whole_lines=False,
        line_number=start if isinstance(start, int) else None,
        replace_all=everywhere is True,
    )
    return (FilePatch(path=str(path), operation=Operation.UPDATE, hunks=(hunk,)),)


def _search_replace(arguments: call.Arguments) -> tuple[FilePatch, ...] | Failure:
    path, text = call.path(arguments), call.text(arguments, "patch")
    if isinstance(path, Failure):
        return path
    if isinstance(text, Failure):
        return text
    others = arguments.get("other_paths")  # as `paste` reads them; no model is told of it
    names = tuple(name for name in others if isinstance(name, str)) if isinstance(others, list) else ()
    found = notation.parse_search_replace(path, text, names)
    return found if isinstance(found, Failure) else (found,)


def _v4a(arguments: call.Arguments) -> tuple[FilePatch, ...] | Failure:
    text = call.text(arguments, "patch")
    return text if isinstance(text, Failure) else notation.parse_v4a(text)


def _unified(arguments: call.Arguments) -> tuple[FilePatch, ...] | Failure:
    text = call.text(arguments, "patch")
    return text if isinstance(text, Failure) else notation.parse_unified(text)


MODES: dict[str, Callable[[call.Arguments], tuple[FilePatch, ...] | Failure]] = {
    "replace": _replace,
    "v4a": _v4a,
    "search_replace": _search_replace,
    "udiff": _unified,
}


def _named_file(arguments: call.Arguments) -> str:
    """The file that an unreadable patch was meant for, as far as it can be told."""
    path, text = arguments.get("path"), arguments.get("patch")
    if isinstance(path, str) and path.strip():
        return path
    found = NAMED_FILE.search(text) if isinstance(text, str) else None
    return found[1] if found else ""


def named_in(raw: str) -> str:
    """The one file that arguments name which cannot be read; empty if that cannot be told."""
    if named := NAMED_PATH.search(raw):
        return named[1].strip()
    named_files = set(NAMED_FILE.findall(raw.replace("\\n", "\n")))
    return named_files.pop() if len(named_files) == 1 else ""


# One example for each mode, as the arguments of a call; the first mode is the default.
EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "replace": {
        "path": "a.py",
        "old_string": "def f():\n    x = 1\n",
        "new_string": "def f():\n    x = 2\n",
    },
    "v4a": {
        "mode": "v4a",
        "patch": (
            "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    x = 1\n+    x = 2\n"
            "*** Add File: b.py\n+y = 1\n*** End Patch"
        ),
    },
    "search_replace": {
        "mode": "search_replace",
        "path": "a.py",
        "patch": "<<<<<<< SEARCH\n    x = 1\n=======\n    x = 2\n>>>>>>> REPLACE",
    },
    "udiff": {
        "mode": "udiff",
        "patch": "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    x = 1\n+    x = 2\n",
    },
}
DESCRIPTION = "\n".join(
    (
        "Change parts of files. The default mode is replace: old_string, which must occur once, becomes "
        "new_string. If it occurs more often, take more lines around it, or give start_line or replace_all. "
        "Copy old text exactly as the file has it, without the line numbers of read_file. v4a and udiff "
        "change several files in one call; search_replace takes one or more blocks for path. If one edit of "
        "a call does not fit, none is made, unless partial is true. An example for each mode:",
        *(json.dumps(example) for example in EXAMPLES.values()),
    )
)

TOOL = call.Tool(
    kind=ToolKind.EDIT,
    offer=call.offer(
        "patch",
        DESCRIPTION,
        {
            "mode": {
                "type": "string",
                "enum": list(MODES),
                "default": "replace",
                "description": "How the edit is written.",
            },
            "path": {"type": "string", "description": "The file. Required in replace and search_replace."},
            "old_string": {"type": "string", "description": "Required in replace: the exact current text."},
            "new_string": {"type": "string", "description": "Required in replace: the text in its place."},
            "replace_all": {"type": "boolean", "default": False, "description": "Everywhere in the file."},
            "start_line": {"type": "integer", "minimum": 1, "description": "Line where old_string begins."},
            "patch": {"type": "string", "description": "Required in v4a, search_replace and udiff."},
            "partial": {
                "type": "boolean",
                "default": False,
                "description": "Make the edits that fit, although others of the call do not.",
            },
        },
        (),
    ),
    parse=parse,
)
