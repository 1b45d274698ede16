"""
Read a workspace edit from JSON into typed operations.

Everything that is not understood is refused, nothing is guessed: a half-understood edit must not be applied.
"""

from collections.abc import Mapping
from typing import Any, NoReturn, TypeGuard

from handrail.headless.errors import EditRefusedError
from handrail.headless.text import Position, TextEdit
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentEdit:
    """Text edits of one document; `version` None fits any. `change` is the index in the list, as below."""

    change: int
    uri: str
    version: int | None
    edits: tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFile:
    """Make an empty file, and the folders above it."""

    change: int
    uri: str
    overwrite: bool
    ignore_if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameFile:
    """Move a file or folder; `uri` is where it goes."""

    change: int
    old_uri: str
    uri: str
    overwrite: bool
    ignore_if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """Remove a file or folder."""

    change: int
    uri: str
    recursive: bool
    ignore_if_not_exists: bool


Operation = DocumentEdit | CreateFile | RenameFile | DeleteFile


def parse(edit: Any) -> tuple[Operation, ...]:
    """
    Read a `WorkspaceEdit`; `documentChanges` wins over `changes`, as LSP has it.

    Raises:
        EditRefusedError: Something is missing, of a wrong type, or unknown; the reason names it.
    """
    if not isinstance(edit, Mapping):
        raise EditRefusedError("the workspace edit is not an object")
    if (changes := edit.get("documentChanges")) is not None:
        if not isinstance(changes, list):
            raise EditRefusedError("`documentChanges` is not a list")
        return tuple(_operation(change, index) for index, change in enumerate(changes))
    by_uri = edit.get("changes") or {}
    if not isinstance(by_uri, Mapping):
        raise EditRefusedError("`changes` is not an object")
    return tuple(
        DocumentEdit(change=index, uri=uri, version=None, edits=_text_edits(edits, index))
        for index, (uri, edits) in enumerate(by_uri.items())
    )


def _operation(change: Any, index: int) -> Operation:
    """Read one entry of `documentChanges`."""
    if not isinstance(change, Mapping):
        _refuse("a change is not an object", index)
    kind = change.get("kind")
    match kind:
        case None:
            return _document_edit(change, index)
        case "create":
            return CreateFile(
                change=index,
                uri=_string(change, "uri", index),
                overwrite=_option(change, "overwrite"),
                ignore_if_exists=_option(change, "ignoreIfExists"),
            )
        case "rename":
            return RenameFile(
                change=index,
                old_uri=_string(change, "oldUri", index),
                uri=_string(change, "newUri", index),
                overwrite=_option(change, "overwrite"),
                ignore_if_exists=_option(change, "ignoreIfExists"),
            )
        case "delete":
            return DeleteFile(
                change=index,
                uri=_string(change, "uri", index),
                recursive=_option(change, "recursive"),
                ignore_if_not_exists=_option(change, "ignoreIfNotExists"),
            )
    return _refuse(f"a change of kind {kind!r} is unknown", index)


def _document_edit(change: Mapping[str, Any], index: int) -> DocumentEdit:
    document = change.get("textDocument")
    if not isinstance(document, Mapping):
        _refuse("`textDocument` is missing", index)
    version = document.get("version")
    if version is not None and not _is_number(version):
        _refuse("`version` is not a whole number", index)
    return DocumentEdit(
        change=index,
        uri=_string(document, "uri", index),
        version=version,
        edits=_text_edits(change.get("edits"), index),
    )


def _text_edits(edits: Any, index: int) -> tuple[TextEdit, ...]:
    if not isinstance(edits, list):
        _refuse("`edits` is not a list", index)
    return tuple(_text_edit(edit, index) for edit in edits)


def _text_edit(edit: Any, index: int) -> TextEdit:
    if not isinstance(edit, Mapping) or not isinstance(span := edit.get("range"), Mapping):
        _refuse("a text edit has no `range`", index)
    new_text = _string(edit, "newText", index)
    try:
        new_text.encode("utf-8")
    except UnicodeEncodeError:
        _refuse("`newText` has half of a surrogate pair, which cannot be in a file", index)
    return TextEdit(
        start=_position(span.get("start"), index), end=_position(span.get("end"), index), new_text=new_text
    )


def _position(position: Any, index: int) -> Position:
    if not isinstance(position, Mapping):
        _refuse("a range lacks `start` or `end`", index)
    line, character = position.get("line"), position.get("character")
    if not _is_number(line) or not _is_number(character) or min(line, character) < 0:
        _refuse("a position needs `line` and `character`, whole numbers that are not negative", index)
    return Position(line, character)


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _string(values: Mapping[str, Any], name: str, index: int) -> str:
    value = values.get(name)
    if not isinstance(value, str):
        _refuse(f"`{name}` is not a string", index)
    return value


def _option(change: Mapping[str, Any], name: str) -> bool:
    options = change.get("options")
    return isinstance(options, Mapping) and options.get(name) is True


def _refuse(reason: str, index: int) -> NoReturn:
    raise EditRefusedError(reason, index)
