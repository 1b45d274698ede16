"""
Make what is derived from the protocol and the settings: documentation, JSON schema, TypeScript, manifest,
and what a server offers.

`handrail.lsp.protocol`, `settings` and `server`, and `handrail.core.failure` are the only sources. Without
arguments the files are written; with `--check` nothing is, and the exit code says whether they are what they
should be.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import inspect
import json
import re
import subprocess
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "server"))

if __name__ == "__main__" and importlib.util.find_spec("lsprotocol") is None:  # not the project's environment
    import environment

    python = environment.ensure(("dev", "editors"))
    sys.exit(subprocess.run([python, __file__, *sys.argv[1:]], check=False).returncode)

from handrail.core.failure import Code  # noqa: E402  # the package is found by the line above
from handrail.core.policy import checks, rules  # noqa: E402  # as above
from handrail.core.policy.rules import Decision  # noqa: E402  # as above
from handrail.lsp import protocol, settings  # noqa: E402  # as above
from handrail.lsp.connection import Server  # noqa: E402  # as above
from handrail.lsp.protocol import (  # noqa: E402  # as above
    chat,
    checkpoints,
    comments,
    conversation,
    events,
    failures,
    languages,
    questions,
    review,
    services,
    sessions,
    turns,
    values,
    view,
)
from handrail.lsp.server import EDITING, capabilities, register  # noqa: E402  # as above
from handrail.lsp.wire import camel  # noqa: E402  # as above

NOTE = "made by scripts/generate.py from server/handrail/lsp; do not edit"
MANIFEST = "client-vscode/package.json"
STRINGS = "client-vscode/package.nls.json"


def main(argv: list[str]) -> int:
    """Write or check all files; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, say what is out of date")
    check = parser.parse_args(argv).check
    stale = []
    for name, make in FILES.items():
        path = ROOT / name
        wanted = make()
        if (path.read_text(encoding="utf-8") if path.exists() else "") == wanted:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted, encoding="utf-8", newline="\n")
    for name in stale:
        print(f"{name}: {'out of date; run `python3 scripts/generate.py`' if check else 'written'}")
    return 1 if stale and check else 0


# ---- What is there --------------------------------------------------------------------------------


def aliases() -> dict[str, Any]:
    """The named alternatives of the protocol, by name."""
    return {name: value for name, value in vars(values).items() if typing.get_origin(value) is Literal}


# In the order of the documentation.
PROTOCOL_MODULES = (
    values,
    turns,
    sessions,
    failures,
    checkpoints,
    questions,
    review,
    comments,
    chat,
    conversation,
    view,
    languages,
    events,
    services,
)


def value_types() -> list[type]:
    """The value types of the protocol, in the order of its modules."""
    return [
        value
        for module in PROTOCOL_MODULES
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]


# The values of which each says by its `kind` what it is: a name for all of them, and what they are.
UNIONS: tuple[tuple[str, Any, str], ...] = (
    ("TurnEvent", events.TurnEvent, "Something that happens in a turn."),
    ("ChatItem", conversation.ChatItem, "A part of a conversation."),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Field:
    """One field of a value: its name on the wire, its kind, and whether it may be missing."""

    name: str
    kind: Any
    optional: bool


def fields_of(value: Any) -> Iterator[Field]:
    """The fields of a value type, inherited ones included; a `kind` comes first."""
    hints = typing.get_type_hints(value)
    for field in sorted(dataclasses.fields(value), key=lambda field: field.name != "kind"):
        optional = field.default is not dataclasses.MISSING
        kind = hints[field.name]
        if optional and field.default is None:
            kind = Union[tuple(part for part in typing.get_args(kind) if part is not type(None))]  # noqa: UP007
        yield Field(name=camel(field.name), kind=kind, optional=optional)


def docstring(value: Any) -> str:
    """The docstring of a value type without its indentation, which Python strips itself only since 3.13."""
    return inspect.cleandoc(value.__doc__ or "")


def described(value: Any) -> str:
    """What the docstring of a value type says of the whole, in one line."""
    return " ".join(docstring(value).partition("Attributes:")[0].split())


def attributes(value: Any) -> dict[str, str]:
    """
    Returns the description of each field by its name on the wire.

    Inherited fields keep the description of the class that has them. A `kind` that can only be one thing
    describes itself.
    """
    found: dict[str, str] = {}
    for each in reversed(value.__mro__):
        found |= _documented(each)
    for field in fields_of(value):
        if field.name == "kind" and typing.get_origin(field.kind) is Literal:
            choices = typing.get_args(field.kind)
            found |= {"kind": f"Always `{choices[0]}`."} if len(choices) == 1 else {}
    return found


def _documented(value: Any) -> dict[str, str]:
    """Returns what the docstring of one class says of its fields."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in docstring(value).partition("Attributes:")[2].splitlines():
        if started := re.match(r" {4}(\w+(?:, \w+)*): (.*)", line):
            names = [camel(name) for name in started[1].split(", ")]
            found |= dict.fromkeys(names, started[2])
        elif line.strip():
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found


def undescribed() -> list[str]:
    """Returns the fields of the protocol that no docstring describes, as `Class.field`."""
    return [
        f"{value.__name__}.{field.name}"
        for value in value_types()
        for field in fields_of(value)
        if not attributes(value).get(field.name)
    ]


# ---- Kinds ----------------------------------------------------------------------------------------

NAMES: dict[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    object: "unknown",
    Code: "FailureCode",
    **{union: name for name, union, _ in UNIONS},
}
PRIMITIVES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def is_union(kind: Any) -> bool:
    """Whether a type is a union."""
    return typing.get_origin(kind) in (Union, types.UnionType)


def typescript(kind: Any) -> str:
    """A type as TypeScript writes it."""
    named = next((name for name, alias in aliases().items() if kind == alias), None)
    if named is not None:
        return named
    if kind in NAMES:
        return NAMES[kind]
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is Literal:
        return " | ".join(json.dumps(choice) for choice in arguments)
    if is_union(kind):
        return " | ".join(typescript(part) for part in arguments)
    if typing.get_origin(kind) is list:
        inner = typescript(arguments[0])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if typing.get_origin(kind) is dict:
        return f"Record<string, {typescript(arguments[1])}>"
    return str(kind.__name__)


def schema(kind: Any) -> dict[str, Any]:
    """A type as JSON Schema writes it."""
    if kind in PRIMITIVES:
        return {"type": PRIMITIVES[kind]}
    if kind is object:
        return {}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    if typing.get_origin(kind) is Literal:
        return {"enum": list(typing.get_args(kind))}
    if is_union(kind):
        return {"anyOf": [schema(part) for part in typing.get_args(kind)]}
    if typing.get_origin(kind) is list:
        return {"type": "array", "items": schema(typing.get_args(kind)[0])}
    if typing.get_origin(kind) is dict:
        return {"type": "object", "additionalProperties": schema(typing.get_args(kind)[1])}
    return {"$ref": f"#/$defs/{kind.__name__}"}


# ---- The files ------------------------------------------------------------------------------------


def protocol_ts() -> str:
    """The extension's types."""
    out = [f"// {NOTE}.", ""]
    codes = "".join(f'\n  | "{code.value}"' for code in Code)
    out += ["/** The stable name of a class of failure; docs/failures.md has a page for each. */"]
    out += [f"export type FailureCode ={codes};", ""]
    for name, alias in aliases().items():
        choices = " | ".join(json.dumps(choice) for choice in typing.get_args(alias))
        out += [f"export type {name} = {choices};", ""]
    for value in value_types():
        notes = attributes(value)
        out += [f"/** {described(value)} */"]
        if not list(fields_of(value)):
            out += [f"export type {value.__name__} = Record<string, never>;", ""]
            continue
        out += [f"export interface {value.__name__} {{"]
        for field in fields_of(value):
            out += [f"  /** {notes[field.name]} */"] if field.name in notes else []
            out += [f"  {field.name}{'?' if field.optional else ''}: {typescript(field.kind)};"]
        out += ["}", ""]
    for name, union, is_what in UNIONS:
        out += [f"/** {is_what} */", f"export type {name} ="]
        out += ["\n".join(f"  | {each.__name__}" for each in typing.get_args(union)) + ";", ""]
    for request in protocol.REQUESTS:
        constant = request.name.replace(".", "_").upper()
        out += [f"/** {request.does} */", f'export const {constant} = "{request.method}";', ""]
    for method, _, _, _ in protocol.SERVER_MESSAGES:
        constant = method.removeprefix("handrail/").replace("/", "_").upper()
        out += [f'export const {constant} = "{method}";', ""]
    return "\n".join(out)


def protocol_schema() -> str:
    """The values as JSON Schema, one definition each."""
    defs = {}
    for value in value_types():
        found, notes = list(fields_of(value)), attributes(value)
        defs[value.__name__] = {
            "description": described(value),
            "type": "object",
            "properties": {
                field.name: {**schema(field.kind), "description": notes.get(field.name, "")}
                for field in found
            },
            "required": [field.name for field in found if not field.optional],
        }
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": NOTE,
        "title": f"The protocol between handrail and its clients, version {protocol.VERSION}",
        "$defs": defs,
    }
    return json.dumps(whole, indent=2) + "\n"


def protocol_md() -> str:
    """The protocol for people."""
    out = [
        f"<!-- {NOTE}. -->",
        "",
        f"# The protocol between handrail and its clients, version {protocol.VERSION}",
    ]
    out += ["", *PROTOCOL_INTRODUCTION.strip().splitlines(), ""]
    out += ["## Client to server", "", *COMMANDS_INTRODUCTION.strip().splitlines(), ""]
    out += ["| command | params | result | what it does |", "|---|---|---|---|"]
    for request in protocol.REQUESTS:
        early = r" \*" if request in EDITING else ""
        result = "`null`" if request.result is None else _linked(request.result)
        out += [f"| `{request.command}`{early} | {_linked(request.params)} | {result} | {request.does} |"]
    out += ["", "## Server to client, only to clients that opted in", ""]
    out += ["| method | params | result | without opting in |", "|---|---|---|---|"]
    for method, asked, result, otherwise in protocol.SERVER_MESSAGES:
        answer = "(notification)" if result is None else _linked(result)
        out += [f"| `{method}` | {_linked(asked)} | {answer} | {otherwise} |"]
    out += ["", "## Values", ""]
    for value in value_types():
        notes = attributes(value)
        out += [f"### {value.__name__}", "", described(value), ""]
        out += ["| field | kind | |", "|---|---|---|"] if notes else []
        for field in fields_of(value):
            optional = " (optional)" if field.optional else ""
            out += [f"| `{field.name}`{optional} | {_kind(field.kind)} | {notes.get(field.name, '')} |"]
        out += [""] if notes else []
    out += ["### Named alternatives", ""]
    for name, alias in aliases().items():
        choices = ", ".join(f"`{choice}`" for choice in typing.get_args(alias))
        out += [f"- `{name}`: {choices}{ALTERNATIVES_ELSEWHERE.get(name, '')}"]
    out += [
        "- `FailureCode`: see [failures.md](failures.md)",
        "- `TurnEvent`: one of the events above; its `kind` says which",
        "- `ChatItem`: a part of a conversation (`ChatPrompt` to `ChatQuestion`); its `kind` says which",
    ]
    return "\n".join(out) + "\n"


PROTOCOL_INTRODUCTION = r"""
Everything works through standard LSP. This page is for clients that want more, such as a view of their own;
[Writing a client](writing-a-client.md) says where to start.

A *turn* is one request to the agent and everything that it does in response. A *session* is a conversation: a
sequence of turns.

Each message from client to server exists twice, with the same params and result: as a command
(`workspace/executeCommand` with one object as its only argument) and as a custom request. The command
`handrail.turn.start`, for example, is the request `handrail/turn/start`. Most descriptions on this
page write a command without the prefix `handrail.`; settings have their full names. Clients that do not know
handrail ignore the result of a command, so results are also shown as documents, diagnostics, progress or
messages.

Unknown fields are ignored. A missing optional field has its default: `null`, `false`, 0 or an empty text,
unless its description names another one. Wrong params are answered with `InvalidParams` (−32602) and the name
of the field; unknown ids, and requests that cannot be carried out now, with `RequestFailed` (−32803) and a
sentence for the user. Only the command `handrail.chat.send` can be answered with `null` in place of an error:
if the user has changed an earlier message in the document of the conversation, it sends no message, and
`window/showMessageRequest` offers what to do. (The custom request fails with `RequestFailed`.)

## Discovery

The server announces `capabilities.experimental.handrail = {protocolVersion, requests}`. `requests` has the
methods that the server answers, such as `handrail/turn/start`: check for a method there rather than for a
version. A client states what it accepts in `capabilities.experimental.handrail` or, if it cannot set that, in
`initializationOptions.handrail`: see [`ClientOptions`](#clientoptions). The server sends no custom message to
a client that did not opt in.

## Questions

The server asks with `handrail/approval/request`. If a client did not opt in to this, the server asks with
`window/showMessageRequest`, which offers only *No* (*No answer* for a question of the model's own) and
*Show*, so that a key pressed by accident, such as a digit or Return, can never say yes. *Show* opens a
document with the whole question, and the document's code actions answer it. While a question is open, the
code actions of every open document can show it and say no, `approval.list` lists it, and `approval.answer`
answers it.

All these ways lead to the same question: the first valid answer counts and ends it everywhere. An answer is
one of the offered choices, spelled exactly, or, if the question takes text, any text. `null`, an error and an
unknown choice leave the question open, so a notification that disappears is never an answer. After the
time in the setting `handrail.questions.timeout`, a request for permission counts as a no, and a question of
the model's own as not answered. A question also ends when its turn or the connection ends. Several questions
can be open at once.

## Commands that are answered early

Some editors block until a command is answered. So the commands that are marked with \* in the table
[Client to server](#client-to-server), most of which change or show documents, are answered within half a
second: with their result, or with `null` if they are not done yet. If such a command fails later, a message
says so. As custom requests they always answer with their result.

## Cancelling

`turn.cancel` stops a turn; so does cancelling its work done progress, whose token is the turn's id.
Cancelling `turn.wait` does not stop the turn. When a turn is stopped, the commands that it started in the
background keep running.

## Commands in the background

The user is asked about every background command, and can allow it for this call only. The command has its own
id (such as `b1`) and keeps running after its tool call has a result. It runs until it ends by itself, the
model or `command.stop` stops it, the time limit that the model has set is over (by default there is none), it
leaves too little disk space or (if handrail runs as root) has too many processes, its session is deleted, or
the server ends. While its turn is running, the command's output is reported with the id of its tool call. Its
changes are part of its turn's checkpoint. Outcomes that become known only after the turn has ended are sent
as soon as they are known, in further `turn/update` notifications. The turn cannot be undone while the command
is running.

## Conversations

A session can be shown as a document (`chat.open`), or as values in a client's own view. `chat.read` returns
all items of a conversation; from then on, `handrail/chat/changed` tells a client with the service `chat` what
was added, changed or removed, ten times a second at most. The document and the view show the same
conversation, so a message or an answer in one appears in the other. Text from the model and handrail's own
remarks (items of the kind `remark`) are Markdown, everything else is plain text. Never act on any of it: no
HTML, no `command:` links, no remote pictures.

## Checkpoints

A checkpoint has the id of its turn. A step is one answer of the model, with the tool calls in it. Each step
that changed something has an id of its own, and can be restored too. Quick fixes, restores and undos in a
review have checkpoints of their own. `checkpoint.restore` with `dryRun` returns the report that a restore
would have, and changes nothing: show its conflicts before the user decides.

`checkpoint.redo` brings back what a restore undid: the turn's changes and, if the conversation was rewound,
the part of it that was removed. Without an id it redoes the newest restore that was not redone yet. A redo is
a restore too: to undo it, pass the `checkpoint` of its report to `checkpoint.redo`.

## Files on disk

Several processes may change the files of one workspace: the server of each editor, and commands in a
terminal, such as `handrail run`, `chat`, `apply` and `checkpoint restore`. Each of them replaces, creates,
moves or deletes a file under a lock:

1. Resolve every link. Open the folder that holds the file and lock it with `flock(LOCK_EX)`. If its path
   then names another folder, start again. Lock the folders of one change in the order of their device and
   inode numbers, each once. For a folder that does not exist yet, lock the nearest existing folder above it;
   that is enough, because a file is created only if its name is still free.
2. If the file has several names (hard links), open and lock the file too.
3. If the folder cannot be opened for lack of permission, or cannot be locked (some network file systems,
   Windows), create and lock a *lock file* instead. It is in `locks/` in the state folder:
   `$XDG_STATE_HOME/handrail` or, if this variable is not set, `~/.local/state/handrail` on Linux,
   `~/Library/Application Support/handrail` on macOS, and `%LOCALAPPDATA%\handrail` on Windows. Its name is
   the SHA-256, in hexadecimal, of the resolved path of the file that you are about to change. On macOS and
   Windows, first normalise the path to NFC and fold its case (Unicode case folding), because the system may
   ignore case. On Windows, lock byte 2^30 of the lock file. On all systems, once you have the lock, check
   that the lock file's name still belongs to the file that you locked (the same device and inode); if not,
   start again. Delete the lock file before you release the lock. A lock file works only between processes of
   the same user on the same machine.
4. Wait at most two seconds for all of these locks together, then give up and say why: never write without a
   lock.
5. Under the lock, compare what the file holds with what the edit was computed on. If it differs, compute the
   edit again or refuse it. Replace the file by renaming. Then read it again to check that it has
   your text, and say so if it has not. Then release the lock. While
   you hold the lock, never wait for a person, a model or another process.

A client that saves for the server (`handrail/client/save`) should do the same. If an editor's own way of
saving cannot take the lock, it must refuse to overwrite a file that changed since it was read.
"""

COMMANDS_INTRODUCTION = r"""
A command that is marked with \* [may be answered early](#commands-that-are-answered-early), with `null`.
"""

# Where alternatives are explained that the fields of their type do not explain.
ALTERNATIVES_ELSEWHERE = {
    "Mode": "; see the setting `handrail.mode` in [settings.md](settings.md)",
    "Tier": "; see [engine.md](engine.md)",
}


def capabilities_json() -> str:
    """What a server offers, which it says before it has imported what stands behind it."""
    server = Server(register, tuple)
    register(server)
    return json.dumps(capabilities(server), indent=2) + "\n"


def failures_md() -> str:
    """The failure codes for people."""
    out = [f"<!-- {FAILURES_NOTE}. -->", "", "# Failure codes", ""]
    out += [*FAILURES_INTRODUCTION.strip().splitlines(), ""]
    for code in Code:
        out += [f"## {code.value}", "", *_wrapped(code.page), ""]
    return "\n".join(out)


def _wrapped(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        yield from [""] * bool(number)
        yield from textwrap.wrap(paragraph, 120, break_long_words=False, break_on_hyphens=False)


FAILURES_NOTE = "made by scripts/generate.py from server/handrail/core/failure.py; do not edit"
FAILURES_INTRODUCTION = """
This page lists every reason why an edit, or another tool call of the model, was not carried out, and what to
do about it. The code is in the diagnostic, in the turn's report and in the result that the model reads; its
meaning never changes. A failed edit has changed nothing, unless the section of its code says otherwise. The
advice on how to correct an edit is for the author of the edit. This is usually the model, which gets the same
advice and tries again by itself.

handrail shows a failure until one of these happens: the document has the edit's text, a later edit lands at
the same place, the whole document is replaced or deleted, the turn is undone or removed from the
conversation, you dismiss the failure, or the server ends. If handrail knows no place for the failed edit, the
failure also ends when a later try of the same turn lands. If the edit was meant to replace all occurrences of
a text, the failure stays while any occurrence is left.

The quick fixes *Apply at line N* make the edit at that place. The title of each shows the first line
that it removes and the first line that it adds. *Show the change* opens the whole change as a diff, and
compares the search text with the document. If you undo a quick fix, its failure is shown again.
"""


def _linked(kind: Any) -> str:
    inner = typing.get_args(kind)[0] if typing.get_origin(kind) is list else kind
    many = "[]" if inner is not kind else ""
    return f"[`{inner.__name__}{many}`](#{inner.__name__.lower()})"


def _kind(kind: Any) -> str:
    """Returns a type as TypeScript writes it, with a link to the value that it names, if it names one."""
    text = typescript(kind)
    shown = "`" + text.replace("|", "\\|") + "`"
    named = [value.__name__ for value in value_types() if re.search(rf"\b{value.__name__}\b", text)]
    if len(named) == 1:
        return f"[{shown}](#{named[0].lower()})"
    alternatives = {*aliases(), "FailureCode", *(name for name, _, _ in UNIONS)}
    return f"[{shown}](#named-alternatives)" if alternatives & set(re.findall(r"\w+", text)) else shown


def settings_md() -> str:
    """The settings for people."""
    out = [f"<!-- {NOTE}. -->", "", "# Settings", "", *SETTINGS_INTRODUCTION.strip().splitlines(), ""]
    out += ["| setting | default | scope | what it does |", "|---|---|---|---|"]
    for setting in settings.SETTINGS:
        out += [
            f"| `{settings.SECTION}.{setting.name}` | `{json.dumps(setting.default)}` "
            f"| {setting.scope.value} | {setting.does} |"
        ]
    out += ["", *EXTENSION_INTRODUCTION.strip().splitlines(), ""]
    out += ["| setting | default | scope | what it does |", "|---|---|---|---|"]
    strings = json.loads((ROOT / STRINGS).read_text(encoding="utf-8"))
    for name, own in _client_settings().items():
        out += [f"| `{name}` | `{json.dumps(own['default'])}` | {own['scope']} | {strings[_key(name)]} |"]
    return "\n".join(out) + "\n"


SETTINGS_INTRODUCTION = """
How you change a setting depends on where you use handrail:

- **VS Code**: search for *handrail* in the editor's settings.
- **Neovim, Emacs and other editors**: write it into the configuration that [Editors](editors.md) shows.
- **A terminal**: `handrail config set NAME VALUE`, or `--set NAME=VALUE` for one run; see
  [In a terminal](terminal.md#settings).
- **A client of your own**: answer `workspace/configuration` for the section `handrail`. A client without that
  request passes settings in `initializationOptions.handrail.settings`, or in the field `handrail` of the
  settings in `workspace/didChangeConfiguration`, by name without the prefix `handrail.`, dotted or nested.

**Scope**: handrail takes *machine* settings only from your own settings, so that a cloned folder cannot
choose the model. (In LSP, your own settings are the answer to `workspace/configuration` without a `scopeUri`,
and `initializationOptions`; from a client without `workspace/configuration`, also
`workspace/didChangeConfiguration`.) *Window* settings can differ between workspaces. In a workspace that you
have not trusted (VS Code), handrail ignores the settings of the folder.
"""

EXTENSION_INTRODUCTION = """
## Settings of the extension for VS Code

These settings belong to the extension alone; the server and other editors do not know them.
"""


def manifest() -> str:
    """The extension's manifest with the server's settings in it; the client's own are kept."""
    found = json.loads((ROOT / MANIFEST).read_text(encoding="utf-8"))
    ours = {f"{settings.SECTION}.{setting.name}": _property(setting) for setting in settings.SETTINGS}
    own = _client_settings()
    found["contributes"]["configuration"]["properties"] = own | ours
    # No setting of ours may come from a folder that its user has not trusted.
    found["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] = [*own, *ours]
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def manifest_strings() -> str:
    """What the manifest's `%keys%` say in English, with the server's settings in it; the others are kept."""
    found = json.loads((ROOT / STRINGS).read_text(encoding="utf-8"))
    own = {_key(name) for name in CLIENT_SETTINGS}
    kept = {key: text for key, text in found.items() if key in own or not key.startswith("setting.")}
    ours = {_key(f"{settings.SECTION}.{setting.name}"): setting.does for setting in settings.SETTINGS}
    return json.dumps(kept | ours, indent=2, ensure_ascii=False) + "\n"


def _client_settings() -> dict[str, Any]:
    """The settings that are the extension's own, by name, as its manifest has them."""
    found = json.loads((ROOT / MANIFEST).read_text(encoding="utf-8"))
    properties = found["contributes"]["configuration"]["properties"]
    return {name: value for name, value in properties.items() if name in CLIENT_SETTINGS}


def _key(name: str) -> str:
    """The key of what a setting does, in the manifest's strings."""
    return name.replace(settings.SECTION, "setting", 1)


JSON_TYPES = {bool: "boolean", int: "integer", str: "string", tuple: "array"}
RULE = {
    "type": "object",
    "required": ["tool", "match", "verdict"],
    "additionalProperties": False,
    "properties": {
        "tool": {"type": "string"},
        "match": {"type": "string"},
        "verdict": {"enum": [decision.value for decision in Decision]},
    },
}
CHECK = {
    "type": "object",
    "required": ["command", "format"],
    "additionalProperties": False,
    "properties": {
        "command": {"type": "string"},
        "format": {"enum": [each.value for each in checks.Format]},
        "files": {"type": "array", "items": {"type": "string"}},
        "stdin": {"type": "string"},
    },
}
ITEMS = {rules.read: RULE, checks.read: CHECK}
CLIENT_SETTINGS = ("handrail.serverPath", "handrail.trace.server", "handrail.saveAfterTurn")


def _property(setting: settings.Setting) -> dict[str, Any]:
    made: dict[str, Any] = {"type": JSON_TYPES[type(setting.default)]}
    if setting.reads is not None:
        made["items"] = ITEMS.get(setting.reads, {"type": "string"})
    if setting.choices:
        made["enum"] = list(setting.choices)
    if setting.bounds:
        made["minimum"], made["maximum"] = setting.bounds
    return made | {
        "default": setting.default,
        "scope": setting.scope.value,
        "markdownDescription": f"%{_key(f'{settings.SECTION}.{setting.name}')}%",
    }


FILES: dict[str, Callable[[], str]] = {
    "docs/failures.md": failures_md,
    "docs/protocol.md": protocol_md,
    "docs/protocol.schema.json": protocol_schema,
    "docs/settings.md": settings_md,
    "client-vscode/src/protocol.ts": protocol_ts,
    "server/handrail/lsp/capabilities.json": capabilities_json,
    MANIFEST: manifest,
    STRINGS: manifest_strings,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
