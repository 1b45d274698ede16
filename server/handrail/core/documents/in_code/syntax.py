"""
How languages write comments and strings: a table, by the names that editors give to languages and by suffix.

A syntax becomes one expression that runs over all that is not a prompt, in time linear in the text: what is
not closed reaches to the end of its row or of the text, and no part of it can fail behind another one, so
nothing is read twice. It knows no nesting, and no literals that look like division.

Only classes are possessive, and no groups: in groups Python 3.11.0 to 3.11.4 loses matches. So an expression
remembers each of its pieces, and has no more than some of them.
"""

from __future__ import annotations

import re
from functools import cached_property

from handrail.values import dataclass

MARK = "handrail:"
HARMLESS = r"\w.,+*&^~?>)}\]=|:@"  # what begins neither a comment nor a string, inside of a row
PIECES = 1_000  # of a text, that are run over at once
AT_ROW = r"(?<![^\r\n])"  # where a row begins

# Strings. Those of one row end with it, so that an apostrophe in prose spoils no more than that.
DOUBLE = r'"(?:[^"\\\r\n]++|\\(?:\r\n|[\s\S]))*"?'
SINGLE = r"'(?:[^'\\\r\n]++|\\(?:\r\n|[\s\S]))*'?"
CHARACTER = r"'(?:\\[^\r\n][^'\r\n]{0,8}+|[^'\\\r\n])'"  # elsewhere an apostrophe has other meanings
BACKTICK = r"`(?:[^`\\]++|\\[\s\S])*`?"
RAW_BACKTICK = r"`[^`]*+`?"
TRIPLE_DOUBLE = r'"""(?:[^"\\]++|\\[\s\S]|"(?!""))*(?:""")?'
TRIPLE_SINGLE = r"'''(?:[^'\\]++|\\[\s\S]|'(?!''))*(?:''')?"
QUOTED_ROWS = r"'[^']*+'?"
DOUBLE_ROWS = r'"(?:[^"\\]++|\\[\s\S])*"?'
LONG_BRACKETS = r"\[\[(?:[^\]]++|\](?!\]))*(?:\]\])?"
ESCAPED = r"\\[\s\S]"
CLOSED_DOUBLE = r'"[^"\r\n]*+"'

C_BLOCK = (r"/\*", r"\*/")
MARKUP = ("<!--", "-->")


@dataclass(frozen=True)
class Syntax:
    """
    Comments and strings of a language, as regular expressions.

    Attributes:
        line: Signs that begin a comment which ends with its row.
        blocks: Signs that begin and end a comment of any length.
        strings: What is skipped.
        at_row: Signs that begin a comment only where nothing but blanks stands before them.
        skips_blocks: Whether other comments of `blocks` are skipped whole.
    """

    line: tuple[str, ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()
    strings: tuple[str, ...] = ()
    at_row: tuple[str, ...] = ()
    skips_blocks: bool = True

    @cached_property
    def in_line(self) -> re.Pattern[str]:
        """A comment of one row that begins with the mark; its groups are the sign and what follows."""
        signs = "|".join(self.line) or "(?!)"
        return re.compile(f"(?P<sign>{signs})[ \\t]*+{MARK}(?P<text>[^\\r\\n]*+)")

    @cached_property
    def at_begin(self) -> re.Pattern[str]:
        """The same, where it must be all of its row."""
        signs = "|".join(self.at_row) or "(?!)"
        return re.compile(f"{AT_ROW}[ \\t]*+(?P<sign>{signs})[ \\t]*+{MARK}(?P<text>[^\\r\\n]*+)")

    @cached_property
    def in_blocks(self) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
        """For each kind of block: how one begins that is a prompt, and how it ends."""
        return tuple(
            (re.compile(f"{begin}[*!]*+[\\s*]*+{MARK}"), re.compile(end)) for begin, end in self.blocks
        )

    @cached_property
    def skipped(self) -> re.Pattern[str]:
        """All up to the next prompt, or to the end, or a good piece of that."""
        found = [each.pattern for each, _ in self.in_blocks]
        heads = [*(f"(?:{each})[ \\t]*+{MARK}" for each in self.line), *found]
        heads += [f"{AT_ROW}[ \\t]*+(?:{each})[ \\t]*+{MARK}" for each in self.at_row]
        parts = [*self.strings]
        if self.skips_blocks:
            parts += [f"{begin}[\\s\\S]*?(?:{end}|\\Z)" for begin, end in self.blocks]
        parts += [f"(?:{each})[^\\r\\n]*+" for each in self.line]
        parts += [f"{AT_ROW}[ \\t]*+(?:{each})[^\\r\\n]*+" for each in self.at_row]
        either, head = "|".join(parts), "|".join(heads)
        words = f"[{HARMLESS}\\s]++"
        if self.at_row:  # a row may begin with a sign of letters
            words = f"(?!{AT_ROW})[{HARMLESS} \\t]++"
        return re.compile(f"(?:{words}|(?!{head})(?:{either}|[\\s\\S])){{0,{PIECES}}}")


HASH, HASHES = "#++", r"(?<![^\s;(){}&|])#++"  # in shells and in YAML only at the beginning of a word
SLASHES, DASHES, SEMICOLONS, PERCENTS = r"(?<!:)//[/!]*+", "--(?!>)-*+", ";++", "%++"

C = Syntax((SLASHES,), (C_BLOCK,), (DOUBLE, CHARACTER))
SCRIPT = Syntax((SLASHES,), (C_BLOCK,), (DOUBLE, SINGLE, BACKTICK))
GO = Syntax((SLASHES,), (C_BLOCK,), (DOUBLE, CHARACTER, RAW_BACKTICK))
TRIPLE = Syntax((SLASHES,), (C_BLOCK,), (TRIPLE_DOUBLE, DOUBLE, CHARACTER))
DART = Syntax((SLASHES,), (C_BLOCK,), (TRIPLE_DOUBLE, TRIPLE_SINGLE, DOUBLE, SINGLE))
PHP = Syntax((SLASHES, r"#++(?!\[)"), (C_BLOCK,), (DOUBLE, SINGLE))
STYLE = Syntax((), (C_BLOCK,), (DOUBLE, SINGLE))
STYLE_LINES = Syntax((SLASHES,), (C_BLOCK,), (DOUBLE, SINGLE))
PYTHON = Syntax((HASH,), (), (TRIPLE_DOUBLE, TRIPLE_SINGLE, DOUBLE, SINGLE))
SHELL = Syntax((HASHES,), (), (DOUBLE, SINGLE, ESCAPED))
POWERSHELL = Syntax((HASHES,), (("<#", "#>"),), (DOUBLE, QUOTED_ROWS))
PERL = Syntax((HASHES,), (), (DOUBLE, SINGLE))
ELIXIR = Syntax((HASH,), (), (TRIPLE_DOUBLE, DOUBLE, CHARACTER))
JULIA = Syntax((HASH,), (("#=", "=#"),), (TRIPLE_DOUBLE, DOUBLE, CHARACTER))
TOML = Syntax((HASH,), (), (TRIPLE_DOUBLE, TRIPLE_SINGLE, DOUBLE, SINGLE))
NIX = Syntax((HASH,), (C_BLOCK,), (DOUBLE_ROWS, r"''(?:[^']++|'(?!'))*(?:'')?"))
TERRAFORM = Syntax((HASH, SLASHES), (C_BLOCK,), (DOUBLE,))
SQL = Syntax((DASHES,), (C_BLOCK,), (QUOTED_ROWS, DOUBLE))
LUA = Syntax((r"--(?!\[\[)-*+",), ((r"--\[\[", r"\]\]"),), (DOUBLE, SINGLE, LONG_BRACKETS))
HASKELL = Syntax((DASHES,), ((r"\{-", r"-\}"),), (DOUBLE, CHARACTER))
ADA = Syntax((DASHES,), (), (DOUBLE, CHARACTER))
OCAML = Syntax((), ((r"\(\*", r"\*\)"),), (DOUBLE_ROWS, CHARACTER))
FSHARP = Syntax((SLASHES,), ((r"\(\*", r"\*\)"),), (TRIPLE_DOUBLE, DOUBLE, CHARACTER))
PASCAL = Syntax((SLASHES,), ((r"\(\*", r"\*\)"), (r"\{", r"\}")), (SINGLE,))
LISP = Syntax((SEMICOLONS,), ((r"#\|", r"\|#"),), (DOUBLE_ROWS, ESCAPED))
ASSEMBLY = Syntax((SEMICOLONS, HASHES, SLASHES), (C_BLOCK,), (DOUBLE, CHARACTER))
INI = Syntax((), (), (), (SEMICOLONS, HASH))
TEX = Syntax((PERCENTS,), (), (ESCAPED,))
ERLANG = Syntax((PERCENTS,), (), (DOUBLE, r"\$[^\r\n]"))
PROLOG = Syntax((PERCENTS,), (C_BLOCK,), (DOUBLE, SINGLE))
MATLAB = Syntax((PERCENTS, HASHES), (), (DOUBLE,))
VIM = Syntax((), (), (), ('"++',))
BASIC = Syntax(("'++",), (), (CLOSED_DOUBLE,), (r"[Rr][Ee][Mm]\b",))
BATCH = Syntax((), (), (), (r"@?[Rr][Ee][Mm]\b", "::"))
FORTRAN = Syntax(("!++",), (), (DOUBLE, SINGLE))
MARKDOWN = Syntax((), (MARKUP,))
PAGE = Syntax((), (MARKUP, C_BLOCK), (), (SLASHES,))
JSON = Syntax((SLASHES,), (C_BLOCK,), (DOUBLE,))

# What is in no table: signs stand at the beginning of a word, and a block is not skipped, as it may be none.
AT_WORD = r"(?<![^\s])"
UNKNOWN = Syntax(
    tuple(f"{AT_WORD}(?:{each})" for each in (HASH, SLASHES, DASHES, SEMICOLONS, PERCENTS)),
    (C_BLOCK, MARKUP, (r"\(\*", r"\*\)"), (r"\{-", r"-\}")),
    (CLOSED_DOUBLE,),
    (r"[Rr][Ee][Mm]\b",),
    skips_blocks=False,
)

TABLE: tuple[tuple[Syntax, str], ...] = (
    (C, "c h cc cpp cxx hh hpp hxx objective-c objective-cpp m mm cuda cu cuda-cpp zig rust rs d v"),
    (C, "systemverilog verilog sv solidity sol proto proto3 glsl hlsl wgsl"),
    (SCRIPT, "javascript js mjs cjs jsx javascriptreact typescript ts mts cts tsx typescriptreact"),
    (GO, "go"),
    (TRIPLE, "java kotlin kt kts scala swift groovy gradle csharp cs"),
    (DART, "dart"),
    (PHP, "php"),
    (STYLE, "css"),
    (STYLE_LINES, "scss less sass stylus"),
    (PYTHON, "python py pyi pyw starlark bzl nim gdscript gd"),
    (SHELL, "shellscript sh bash zsh ksh fish make makefile mk dockerfile cmake awk tcl conf"),
    (POWERSHELL, "powershell ps1 psm1"),
    (PERL, "perl pl pm ruby rb r yaml yml crystal cr gitignore ignore properties"),
    (ELIXIR, "elixir ex exs coffeescript coffee"),
    (JULIA, "julia jl"),
    (TOML, "toml"),
    (NIX, "nix"),
    (TERRAFORM, "terraform tf hcl"),
    (SQL, "sql mysql pgsql plsql"),
    (LUA, "lua"),
    (HASKELL, "haskell hs elm purescript purs agda"),
    (ADA, "ada adb ads vhdl vhd applescript"),
    (OCAML, "ocaml ml mli coq rocq sml"),
    (FSHARP, "fsharp fs fsx fsi"),
    (PASCAL, "pascal pas delphi"),
    (LISP, "lisp cl commonlisp scheme scm racket rkt clojure clj cljs emacs-lisp elisp el"),
    (ASSEMBLY, "asm s nasm"),
    (INI, "ini cfg systemd desktop reg"),
    (TEX, "tex latex bibtex bib sty"),
    (ERLANG, "erlang erl hrl"),
    (PROLOG, "prolog"),
    (MATLAB, "matlab octave"),
    (VIM, "vim viml"),
    (BASIC, "vb vbs bas vba"),
    (BATCH, "bat cmd batch"),
    (FORTRAN, "fortran f90 f95 f03 fortran-modern fortran90 fortran_free-form"),
    (MARKDOWN, "markdown md xml svg xsl xsd plist mdx"),
    (PAGE, "html htm vue svelte astro"),
    (JSON, "json jsonc json5"),
)
BY_NAME = {name: syntax for syntax, names in TABLE for name in names.split()}


def find_syntax(language: str, path: str) -> Syntax:
    """
    Returns the syntax of a document.

    Args:
        language: The name that the editor gives to its language; a name that says nothing is passed over.
        path: Its path or URI, whose suffix or name counts then.
    """
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    suffix = name.rpartition(".")[2]
    return BY_NAME.get(language.lower()) or BY_NAME.get(suffix) or UNKNOWN
