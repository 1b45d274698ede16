"""
Gives one setting another value in the text of a `config.toml`; all other text stays where it is.

The text is cut into statements: a line that is empty or a comment, a header, or a value, which may have
several lines. Only the statements of the setting are replaced, or one is added. In a list of tables, an
entry that stays the same keeps its text, and comments behind an entry stay even without it.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from handrail.values import dataclass

OWN = "handrail."  # may stand in front of a name

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\n\[\]{}]"
    r"|[^\"'#\n\[\]{}]+",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """
    A part of the text that can be replaced.

    Attributes:
        text: With its line end; the last one of a text may have none.
        table: The dotted name of the table that it is in, or that it begins.
        in_list: Whether this table is an entry of a list, or in one.
        is_header: Whether it begins a table.
        names: The settings whose values it has.
    """

    text: str
    table: str = ""
    in_list: bool = False
    is_header: bool = False
    names: tuple[str, ...] = ()

    @property
    def is_blank(self) -> bool:
        """Whether it is an empty line or a comment."""
        return self.text.lstrip().startswith("#") or not self.text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One table of a list: the numbers of its first statement, and of the one after its last."""

    first: int
    end: int
    value: object


def flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yields the values of nested tables with their dotted names, without the prefix `handrail.`."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flat(value, f"{name}.")
        else:
            yield name.removeprefix(OWN), value


def with_value(text: str, name: str, value: object) -> str:
    """
    Returns *text* with another value, or one more.

    Args:
        text: Valid TOML.
        name: The dotted name of the setting, without the prefix `handrail.`.
        value: Anything that TOML has.

    Returns:
        The new text. It can be invalid where the value would have to be added to a table that cannot be
        extended, so the caller reads it again.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += line_end
    statements = list(_statements(text))
    parts = [each.text for each in statements]
    entries = list(_entries(statements, name))
    tables = value if isinstance(value, list) and value and isinstance(value[0], dict) else None
    if entries and tables is not None:
        _replace_entries(parts, statements, entries, tables, line_end)
        return "".join(parts)
    if entries:
        for entry in entries:
            parts[entry.first : entry.end] = [""] * (entry.end - entry.first)
        return with_value("".join(parts), name, value)
    at = next((at for at, each in enumerate(statements) if name in each.names), None)
    if at is not None:
        parts[at] = _edit(statements[at], name, value)
        return "".join(parts)
    if tables is not None:
        blank = line_end if text else ""
        return text + blank + _render(f"[[{name}]]", tables, line_end)
    return _add(statements, name, value, line_end)


# ---- Reading -----------------------------------------------------------------------------------------


def _statements(text: str) -> Iterator[_Statement]:
    table, in_list, lists = "", False, list[str]()
    for part in _split(text):
        is_header = part.lstrip().startswith("[")
        names: tuple[str, ...] = ()
        if is_header:
            table, is_list = _header(tomllib.loads(part))
            lists += [table] * is_list
            in_list = any(table == each or table.startswith(f"{each}.") for each in lists)
        elif not in_list:
            names = tuple(name for name, _ in flat(tomllib.loads(part), f"{table}." if table else ""))
        yield _Statement(text=part, table=table, in_list=in_list, is_header=is_header, names=names)


def _split(text: str) -> Iterator[str]:
    begin = depth = 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in ("[", "{")) - (token[0] in ("]", "}"))
        if token[0] == "\n" and depth == 0:
            yield text[begin : token.end()]
            begin = token.end()


def _header(parsed: Mapping[str, Any]) -> tuple[str, bool]:
    """Returns the dotted name in a header, and whether it is the header of a list's entry."""
    ((key, value),) = parsed.items()
    if not value or isinstance(value, list):
        return key, isinstance(value, list)
    rest, is_list = _header(value)
    return f"{key}.{rest}", is_list


def _entries(statements: Sequence[_Statement], name: str) -> Iterator[_Entry]:
    """Yields the entries of a list of tables, each without the blank lines and comments behind it."""
    for first, statement in enumerate(statements):
        if not (statement.is_header and statement.in_list and statement.table.removeprefix(OWN) == name):
            continue
        end = first + 1
        for at in range(first + 1, len(statements)):
            each = statements[at]
            if each.is_header and not each.table.startswith(f"{statement.table}."):
                break
            end = end if each.is_blank else at + 1
        ((_, value),) = flat(tomllib.loads("".join(each.text for each in statements[first:end])))
        yield _Entry(first=first, end=end, value=value)


# ---- Writing -----------------------------------------------------------------------------------------


def _replace_entries(
    parts: list[str],
    statements: Sequence[_Statement],
    entries: Sequence[_Entry],
    tables: Sequence[Mapping[str, object]],
    line_end: str,
) -> None:
    """Puts other tables into *parts*, the texts of *statements*; those that were there keep their text."""
    header = re.sub(r"\]\].*", "]]", statements[entries[0].first].text.strip(), flags=re.DOTALL)
    before = [json.dumps(entry.value, sort_keys=True, default=str) for entry in entries]
    after = [json.dumps([table], sort_keys=True, default=str) for table in tables]
    for what, i, i_end, j, j_end in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        new = _render(header, tables[j:j_end], line_end)
        if what == "insert" and i:
            parts[entries[i - 1].end - 1] += line_end + new
        elif what == "insert":
            parts[entries[0].first] = new + line_end + parts[entries[0].first]
        elif what != "equal":
            for entry in entries[i:i_end]:
                parts[entry.first : entry.end] = [""] * (entry.end - entry.first)
            parts[entries[i].first] = new


def _render(header: str, tables: Sequence[Mapping[str, object]], line_end: str) -> str:
    return line_end.join(
        "".join(f"{line}{line_end}" for line in (header, *(_pair(*each) for each in table.items())))
        for table in tables
    )


def _edit(statement: _Statement, name: str, value: object) -> str:
    """Returns a statement in which the setting has another value, or that has one more."""
    import tomlkit  # slow to import, and needed for nothing else

    document = tomlkit.parse(statement.text)
    prefix = f"{statement.table}." if statement.table else ""
    holder, key = _find(document, name, prefix) or _locate(document, name, prefix)
    holder[key] = tomlkit.value(_literal(value))
    return document.as_string()


def _find(table: Any, name: str, prefix: str) -> tuple[Any, str] | None:
    """The table and key that hold a setting, however its name is spelled."""
    for key, value in table.items():
        full = f"{prefix}{key}"
        if full.removeprefix(OWN) == name and not isinstance(value, Mapping):
            return table, key
        if isinstance(value, MutableMapping) and (found := _find(value, name, f"{full}.")):
            return found
    return None


def _locate(table: Any, name: str, prefix: str) -> tuple[Any, str]:
    """The table and key where a setting belongs, next to another one of the same dotted table."""
    for key, value in table.items():
        full = f"{prefix}{key}."
        if isinstance(value, MutableMapping) and name.startswith(full.removeprefix(OWN)):
            return _locate(value, name, full)
    return table, name.removeprefix(prefix.removeprefix(OWN))


def _add(statements: Sequence[_Statement], name: str, value: object, line_end: str) -> str:
    parent, _, key = name.rpartition(".")
    parts = [each.text for each in statements]
    tables = [f"{OWN}{parent}", parent] if parent else [""]
    inside = [at for at, each in enumerate(statements) if each.table in tables and not each.is_blank]
    sibling = next((at for at, each in enumerate(statements) if _is_beside(each, parent)), None)
    line = f"{_pair(key, value)}{line_end}"
    if inside:
        parts[inside[-1]] += line
    elif sibling is not None:
        parts[sibling] = _edit(statements[sibling], name, value).rstrip() + line_end
    elif parent:
        parts.append(f"{line_end if parts else ''}[{parent}]{line_end}{line}")
    else:
        parts = _add_first(parts, statements, line, line_end)
    return "".join(parts)


def _is_beside(statement: _Statement, parent: str) -> bool:
    return bool(parent) and any(each.rpartition(".")[0] == parent for each in statement.names)


def _add_first(parts: list[str], statements: Sequence[_Statement], line: str, line_end: str) -> list[str]:
    """Adds the first value outside of tables: above them, but below a comment about the whole file."""
    header = next((at for at, each in enumerate(statements) if each.is_header), None)
    if header is None:
        return [*parts, line]
    above = [each.text.strip() for each in statements[:header]]
    at = above.index("") + 1 if "" in above and above[0] and any(above[above.index("") :]) else 0
    blank = line_end if parts[at].strip() else ""
    return [*parts[:at], line, blank, *parts[at:]]


def _pair(key: str, value: object) -> str:
    from tomlkit.items import SingleKey

    return f"{SingleKey(key).as_string()} = {_literal(value)}"


def _literal(value: object) -> str:
    """Returns a value as TOML on one line."""
    import tomlkit

    if isinstance(value, Mapping):
        return "{" + ", ".join(_pair(key, each) for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_literal(each) for each in value) + "]"
    return tomlkit.item(value).as_string()
