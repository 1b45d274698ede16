"""
Parse a command line: as one that needs no shell, otherwise with tree-sitter's grammar for bash.

Anything that the grammar does not know, or skips, makes the line unclear; so does a command name that only a
shell can determine. The grammar is imported when the first line is parsed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from handrail.core.policy.commands.line import NeedsShell, Simple, read
from handrail.core.policy.shell import ParsedCommand, Part, Redirect

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

HAS_COMMANDS = sys.platform != "win32"  # those of the table; `find` is another one there
FOREIGN = "differences between the commands of this system and those that handrail knows"
LIMIT_CHARS = 10_000
DEPTH = 200  # beyond this no one writes, and Python would not recurse much further
BLANK = re.compile(rb"(?:[ \t\n]|\\\n)*")
SPECIAL = re.compile(r"[*?\[\]{}$`]|^~|[:=]~")
ESCAPED = re.compile(r"\\(.)", re.DOTALL)

# What a line may consist of besides commands; inside it, everything is looked at.
KNOWN = frozenset(
    {
        *("program", "list", "pipeline", "redirected_statement", "subshell", "compound_statement"),
        *("negated_command", "do_group", "if_statement", "elif_clause", "else_clause", "while_statement"),
        *("for_statement", "case_statement", "case_item", "command_substitution", "process_substitution"),
        *("variable_assignment", "variable_assignments", "array", "subscript", "file_redirect"),
        *("file_descriptor", "heredoc_redirect", "heredoc_start", "heredoc_body", "heredoc_content"),
        *("heredoc_end", "herestring_redirect", "command_name", "word", "number", "string", "string_content"),
        *("raw_string", "ansi_c_string", "concatenation", "simple_expansion", "special_variable_name"),
        *("variable_name", "expansion", "comment", "unary_expression", "binary_expression", "test_operator"),
        *("parenthesized_expression", "arithmetic_expansion", "extglob_pattern", "regex", "brace_expression"),
    }
)
COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
DUPLICATES = frozenset({">&", "<&"})


def parse(line: str) -> ParsedCommand:
    """*line*, taken apart."""
    parsed = read(line) if HAS_COMMANDS else NeedsShell(why=FOREIGN)
    if isinstance(parsed, NeedsShell):
        return replace(_parse(line), needs_shell=parsed.why)
    commands = [command for pipeline in parsed for command in pipeline.commands]
    return ParsedCommand(line=line, parts=tuple(map(_part, commands)), pipelines=parsed)


def _part(command: Simple) -> Part:
    """A command of a line that needs no shell; its patterns are for the files that are there."""
    return Part(text=command.text, words=tuple(None if word.pattern else word.text for word in command.words))


def _parse(line: str) -> ParsedCommand:
    """A line that only a shell can run."""
    if len(line) > LIMIT_CHARS:
        return ParsedCommand(line=line, unclear=f"it has more than {LIMIT_CHARS:,} characters.")
    if any(not character.isprintable() and character not in "\n\t" for character in line):
        return ParsedCommand(line=line, unclear="it has invisible characters.")
    raw = line.encode("utf-8", "replace")
    tree = _parser().parse(raw)
    if tree.root_node.has_error:
        return ParsedCommand(line=line, unclear="it is not a complete bash command line.")
    try:
        nodes = list(_nodes(tree.root_node))
    except RecursionError:
        return ParsedCommand(line=line, unclear="it is nested too deeply.")
    unclear = next((f"it has a {node.type.replace('_', ' ')}." for node in nodes if not _is_known(node)), "")
    if not unclear and not _is_all(raw, nodes):
        unclear = "handrail cannot parse part of it."
    return ParsedCommand(
        line=line,
        parts=tuple(part for node in nodes for part in _parts(node)),
        redirects=tuple(found for node in nodes for found in _redirects(node)),
        unclear=unclear,
    )


@cache
def _parser() -> Parser:
    import tree_sitter  # noqa: PLC0415  # only when a command is run
    import tree_sitter_bash  # noqa: PLC0415  # as above

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _nodes(node: Node, depth: int = 0) -> Iterator[Node]:
    if depth > DEPTH:
        raise RecursionError
    yield node
    for child in node.children:
        yield from _nodes(child, depth + 1)


def _is_known(node: Node) -> bool:
    return not node.is_named or node.type in KNOWN or node.type in COMMANDS


def _is_all(raw: bytes, nodes: list[Node]) -> bool:
    """Whether between the smallest nodes there are only blanks."""
    at = 0
    for node in sorted((node for node in nodes if not node.children), key=lambda node: node.start_byte):
        if node.start_byte > at and not BLANK.fullmatch(raw, at, node.start_byte):
            return False
        at = max(at, node.end_byte)
    return BLANK.fullmatch(raw, at) is not None


def _parts(node: Node) -> Iterator[Part]:
    if node.type == "variable_assignment" and node.parent is not None and node.parent.type not in COMMANDS:
        yield Part(text=_text(node), words=(), assigns=True)
    if node.type not in COMMANDS:
        return
    if node.type == "test_command":
        yield Part(text=_text(node), words=("[[", _text(node)))
        return
    if node.type != "command":
        yield Part(text=_text(node), words=(node.children[0].type,), assigns=True)
        return
    words: list[str | None] = []
    assigns = False
    for child in node.named_children:
        if child.type == "command_name":
            words.append(_word(child.named_children[0]) if child.named_children else None)
        elif child.type == "variable_assignment":
            assigns = True
        elif not child.type.endswith("_redirect"):
            words.append(_word(child))
    yield Part(text=_text(node), words=tuple(words), assigns=assigns)


def _redirects(node: Node) -> Iterator[Redirect]:
    if node.type != "file_redirect":
        return
    operator = next(child.type for child in node.children if not child.is_named)
    targets = node.children_by_field_name("destination")
    for target in targets or (None,):
        name = _word(target) if target is not None else None
        if operator in DUPLICATES and name is not None and (name.isdigit() or name == "-"):
            continue
        yield Redirect(target=name, writes=operator != "<")


def _word(node: Node) -> str | None:
    """Returns the value of a word; None if only the shell can determine it."""
    text = _text(node)
    match node.type:
        case "word" | "number":
            bare = ESCAPED.sub("", text)
            return None if SPECIAL.search(bare) else ESCAPED.sub(r"\1", text.replace("\\\n", ""))
        case "raw_string":
            return text[1:-1]
        case "string":
            is_plain = all(child.type in ("string_content", '"') for child in node.children)
            return re.sub(r'\\(["\\$`])', r"\1", text[1:-1].replace("\\\n", "")) if is_plain else None
        case "concatenation":
            parts = [_word(child) for child in node.children]
            known = [part for part in parts if part is not None]
            return "".join(known) if len(known) == len(parts) else None
        case _:
            return None


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
