"""
Parse a command line: as one that needs no shell, otherwise with tree-sitter's grammar for bash.

Anything that the grammar does not know, or skips, makes the line unclear; so does a command name that only a
shell can determine. The grammar is imported when the first line is parsed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from handrail.core.policy.commands import programs, wrappers
from handrail.core.policy.commands.line import NeedsShell, Simple, read
from handrail.core.policy.commands.runs import ANY, MARK, NOTHING, ONE, Runs, Words, is_known
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
# What else the grammar knows, as people call it.
UNKNOWN = {
    "c_style_for_statement": "a C-style `for` loop",
    "function_definition": "a function definition",
    "postfix_expression": "`++` or `--` in arithmetic",
    "ternary_expression": "`? :` in arithmetic",
}
LIMIT_NESTED = 5  # commands in texts of commands in texts; parsing them takes time
LIMIT_MAYBE = 100  # words of a command, of which each may begin another one
TORN = re.compile(r"[^ \t\n|&;()]\\\n[^ \t\n|&;()#]")
WILD = re.compile(r"[*?\[]")
MARKED = re.compile(r"[*?$`~]+|\[[^\]]*\]?")  # in a word
BRACES = re.compile(r"[{}]")
TILDE = re.compile(r"^~|[:=]~")
SEVERAL = re.compile(r"\$@|[@*]\]|\$\{@")  # "$@" is any number of words
EVALUATES = re.compile(r"@P\}$")
# Where arithmetic is, a shell runs the substitutions in a text, even if they were quoted.
EVALUATED = (
    (frozenset({"raw_string"}), programs.SUBSTITUTION),
    (frozenset({"ansi_c_string"}), re.compile(r"\$[({]|`|\\[xuU0-7]")),
    (frozenset({"string", "word"}), re.compile(r"\\[$`]")),
)
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
DUPLICATES = frozenset({">&", "<&"})


def parse(line: str) -> ParsedCommand:
    """*line*, taken apart."""
    return _read(line, 0)


def _read(line: str, depth: int) -> ParsedCommand:
    """A line, or a text that a command of it gives to a shell, so many commands *depth*."""
    parsed = read(line) if HAS_COMMANDS else NeedsShell(why=FOREIGN)
    if isinstance(parsed, NeedsShell):
        return replace(_parse(line, depth), needs_shell=parsed.why)
    commands = [command for pipeline in parsed for command in pipeline.commands]
    return ParsedCommand(
        line=line, parts=tuple(_part(command, depth) for command in commands), pipelines=parsed
    )


def _part(command: Simple, depth: int) -> Part:
    """A command of a line that needs no shell; its patterns are for the files that are there."""
    marked = tuple(WILD.split(word.text)[0] + ONE if word.pattern else word.text for word in command.words)
    words = tuple(None if word.pattern else word.text for word in command.words)
    return _with_runs(Part(text=command.text, words=words), marked, depth)


def _with_runs(
    part: Part, words: Words, depth: int, more: Sequence[Runs] = (), *, is_sure: bool = True
) -> Part:
    """
    Returns a part with the commands that it runs, by its *words* with marks.

    Args:
        more: Other commands that it runs.
        is_sure: Whether it is a command; only then the lines that it gives to a shell are read.
    """
    found = (wrappers.inner(words), *more)
    texts = [text for each in found for text in each.texts]
    unclear = next((each.unclear for each in found if each.unclear), "")
    commands = [each for one in found for each in one.commands]
    maybe = [each for one in found for each in one.maybe] if is_sure else []
    if len(maybe) > LIMIT_MAYBE:
        too_many = f"the arguments of `{words[0]}`: too many of them could be commands"
        return replace(part, unclear=unclear or too_many)
    if (texts and not is_sure) or (depth > LIMIT_NESTED and (texts or commands)):
        return replace(part, unclear=unclear or "commands that are nested too deeply")
    inside = [_read(text, depth + 1) for text in texts]
    unclear = next((f"`{each.line}`, which cannot be parsed" for each in inside if each.unclear), unclear)
    runs = [_of_words(each, depth + 1, is_sure=is_sure) for each in commands]
    runs += [each for parsed in inside for each in parsed.parts]
    possible = tuple(_of_words(each, depth + 1, is_sure=False) for each in maybe)
    return replace(part, runs=tuple(runs), maybe=possible, unclear=unclear)


def _of_words(words: Words, depth: int, *, is_sure: bool) -> Part:
    """A command that another one runs."""
    text = MARK.sub("", " ".join(words))
    part = Part(text=text, words=tuple(word if is_known(word) else None for word in words), marked=words)
    return _with_runs(part, words, depth, is_sure=is_sure)


def _parse(line: str, depth: int) -> ParsedCommand:
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
    unknown = next((node.type for node in nodes if not _is_known(node)), "")
    unclear = f"it has {UNKNOWN.get(unknown, 'syntax that handrail does not know')}." if unknown else ""
    if not unclear and not _is_all(raw, nodes):
        unclear = "a part of it has unknown syntax."
    return ParsedCommand(
        line=line,
        parts=(*_find_torn_words(line), *(part for node in nodes for part in _parts(node, depth))),
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


def _find_torn_words(line: str) -> Iterator[Part]:
    """Yields a part without words for a line end within a word, whose halves are read as two words."""
    if TORN.search(line):
        yield Part(text="", words=(), unclear="a line end within a word")


def _parts(node: Node, depth: int) -> Iterator[Part]:
    if node.type == "variable_assignment" and node.parent is not None and node.parent.type not in COMMANDS:
        part = Part(text=_text(node), words=(), assigns=True)
        yield _with_runs(part, (), depth, [_of_assignment(node)])
    if node.type == "expansion" and EVALUATES.search(_text(node)):
        yield Part(
            text="", words=(), unclear=f"`{_text(node)}`, which runs commands in the value of the variable"
        )
    if node.type not in COMMANDS:
        return
    more = [_of_assignment(child) for child in node.children if child.type == "variable_assignment"]
    if node.type != "command":
        words = ("[[", _text(node)) if node.type == "test_command" else (node.children[0].type,)
        part = Part(text=_text(node), words=words, assigns=node.type != "test_command")
        yield _with_runs(part, words[:1], depth, [*more, _of_text_in(node)])
        return
    found = [
        child.named_children[0] if child.type == "command_name" and child.named_children else child
        for child in node.named_children
        if child.type != "variable_assignment" and not child.type.endswith("_redirect")
    ]
    marked = tuple(map(_mark, found))
    part = Part(text=_text(node), words=tuple(map(_word, found)), assigns=bool(more), marked=marked)
    yield _with_runs(part, marked, depth, more)


def _of_assignment(node: Node) -> Runs:
    """Returns the commands that run because a variable is set."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    found = programs.of_variable(_text(name) if name else "", _mark(value) if value else "")
    return found if found.unclear or value is None else replace(found, unclear=_of_text_in(value).unclear)


def _of_text_in(node: Node) -> Runs:
    """Says if a shell that evaluates the texts in *node* as arithmetic might run a command."""
    left = [node]
    while left:
        each = left.pop()
        if any(each.type in types and pattern.search(_text(each)) for types, pattern in EVALUATED):
            return Runs(unclear=f"`{_text(each)}`, which the shell may evaluate")
        left += [child for child in each.children if child.type not in SUBSTITUTIONS]
    return NOTHING


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


def _mark(node: Node) -> str:
    """Returns a word with a mark for each text in it that only a shell can determine."""
    known = _word(node)
    if known is not None and is_known(known):
        return known
    text = _text(node)
    match node.type:
        case "word" if not BRACES.search(text) and not TILDE.search(text):
            return MARKED.sub(ANY, ESCAPED.sub(r"\1", text))
        case "string":
            mark = ANY if SEVERAL.search(text) else ONE
            return "".join(_mark_child(child, mark) for child in node.children)
        case "concatenation":
            if BRACES.search(text):
                return "{}" if text == "{}" else ANY
            return "".join(_mark(child) for child in node.children)
        case "process_substitution" | "arithmetic_expansion" | "ansi_c_string":
            return ONE
        case _:
            return ANY


def _mark_child(child: Node, mark: str) -> str:
    """Returns a part of a text in double quotes."""
    if child.type == "string_content":
        return re.sub(r'\\(["\\$`])', r"\1", _text(child).replace("\\\n", ""))
    return "" if child.type == '"' else mark


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
