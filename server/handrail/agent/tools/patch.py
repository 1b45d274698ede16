"""
Change parts of documents, in any notation that models write.

The mode names the notation; `core/patches/notations` has the table of notations. The same parser yields
the edits and the paths that the checkpoint must cover.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from handrail.agent.tools import call
from handrail.core.documents.text import to_lf, unwritable
from handrail.core.failure import Code, Failure
from handrail.core.patches.notations import NOTATIONS, FilePatch, Hunk, Notation, Operation
from handrail.core.policy.tool_kind import ToolKind

NAMED_FILE = re.compile(
    r"^(?:[ \t]*\*\*\* ?(?:Add|Update|Delete) File:[ \t]*|\+\+\+ (?:b/)?)(\S.*?)\s*$",
    re.MULTILINE | re.IGNORECASE,
)
REPLACE = "replace"  # the default mode, which uses no notation: plain search and replacement strings
EXAMPLE = {"path": "a.py", "old_string": "def f():\n    x = 1\n", "new_string": "def f():\n    x = 2\n"}
# Of a pasted reply, whose writer knows of no arguments.
NAMELESS = Failure(
    code=Code.BAD_PATCH,
    message="This edit block does not say which file it is for.",
    steps=("Write the file's path on the line above the block.",),
)
# In arguments that are not JSON, or name the file by another word.
NAMED_PATH = re.compile(r"""["']?\b(?:file_?)?(?:path|name)["']?\s*:\s*["']([^"'\\\n]{1,1000})["']""")


def parse(arguments: call.Arguments) -> call.Edits | Failure:
    """Read the arguments of a call."""
    mode = arguments.get("mode") or REPLACE
    notation = NOTATIONS.get(mode) if isinstance(mode, str) else None
    if notation is None and mode != REPLACE:
        return call.bad("mode", "one of " + ", ".join(modes()))
    partial = call.flag(arguments, "partial")
    if isinstance(partial, Failure):
        return partial
    patches = _replace(arguments) if notation is None else _patch(notation, arguments)
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


def _patch(notation: Notation, arguments: call.Arguments) -> tuple[FilePatch, ...] | Failure:
    others = arguments.get("other_paths")  # as `paste` reads them; no model is told of it
    path = "" if notation.names_files else call.path(arguments)
    text = call.text(arguments, "patch")
    if isinstance(path, Failure):
        return path if others is None else NAMELESS
    if isinstance(text, Failure):
        return text
    names = tuple(name for name in others if isinstance(name, str)) if isinstance(others, list) else ()
    return notation.read(text, path, names)


def _named_file(arguments: call.Arguments) -> str:
    """The file that an unreadable patch was meant for, as far as it can be told."""
    path, text = arguments.get("path"), arguments.get("patch")
    if isinstance(path, str) and path.strip():
        return path
    found = NAMED_FILE.search(text) if isinstance(text, str) else None
    return found[1] if found else ""


def named_file(raw: str) -> str:
    """The one file that arguments name which cannot be read; empty if that is unclear."""
    if named := NAMED_PATH.search(raw):
        return named[1].strip()
    named_files = set(NAMED_FILE.findall(raw.replace("\\n", "\n")))
    return named_files.pop() if len(named_files) == 1 else ""


# ---- What models are told ---------------------------------------------------------------------------


def modes() -> dict[str, dict[str, str]]:
    """All modes, each with an example as the arguments of a call; the first is the default."""
    examples = {REPLACE: EXAMPLE}
    for notation in NOTATIONS.values():
        path = {} if notation.names_files else {"path": "a.py"}
        examples[notation.name] = {"mode": notation.name, **path, "patch": notation.example}
    return examples


def _description() -> str:
    several = _names(each.name for each in NOTATIONS.values() if each.names_files)
    blocks = _names(each.name for each in NOTATIONS.values() if not each.names_files)
    return "\n".join(
        (
            "Change parts of files. The default mode is replace: old_string, which must occur once, becomes "
            "new_string. If it occurs more than once, include more lines around it, or give start_line or "
            "replace_all. Copy old text exactly as the file has it, without the line numbers of read_file. "
            f"{several} change several files in one call; {blocks} takes blocks for the file at path. If one "
            "edit of a call does not fit, none is made, unless partial is true. An example "
            "of each mode:",
            *(json.dumps(example) for example in modes().values()),
        )
    )


def _names(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def tool() -> call.Tool:
    """The tool with all notations that there are."""
    with_path = _names((REPLACE, *(each.name for each in NOTATIONS.values() if not each.names_files)))
    properties = {
        "mode": {
            "type": "string",
            "enum": list(modes()),
            "default": REPLACE,
            "description": "How the edit is written.",
        },
        "path": {"type": "string", "description": f"The file. Required in {with_path}."},
        "old_string": {"type": "string", "description": "Required in replace: the exact current text."},
        "new_string": {"type": "string", "description": "Required in replace: the text that replaces it."},
        "replace_all": {
            "type": "boolean",
            "default": False,
            "description": "Replace all occurrences.",
        },
        "start_line": {"type": "integer", "minimum": 1, "description": "Line where old_string begins."},
        "patch": {"type": "string", "description": f"Required in {_names(NOTATIONS)}."},
        "partial": {
            "type": "boolean",
            "default": False,
            "description": "Make the edits that fit, even if others in the call do not.",
        },
    }
    offer = call.offer("patch", _description(), properties, ())
    return call.Tool(kind=ToolKind.EDIT, offer=offer, parse=parse)


TOOL = tool()
