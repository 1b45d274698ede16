"""
Find the file name of an edit block in a pasted reply.

A name may be alone on a line, with the marks that chats put around it, in the info string of a fence, or in a
sentence. A wrong name would change a wrong file, so doubtful names do not count, such as a product (Node.js)
or a version number. A line such as `my notes.txt` may be a name, or a sentence that ends in one; then both
are returned, and which file exists is checked elsewhere.
"""

from __future__ import annotations

import re

from handrail.patterns import lazy_pattern

MARKS = lazy_pattern(r"^(?:#{1,6}\s+|[-*+]\s+|\d+[.)]\s+)*")
LABEL = lazy_pattern(
    r"^\**(?:(?:new|create|edit|updated?|modified)\s+)?(?:file(?:name)?|path)\s*\**:\**\s*", re.IGNORECASE
)
NOTE = lazy_pattern(
    r"\s*\((?:new|updated?|modified|changed|existing|full|complete|created?)\b[^()]*\)$", re.IGNORECASE
)
QUOTED = lazy_pattern(r"^[`\"']([^`\"'*]+)[`\"']$")
PATH = lazy_pattern(r"^(?!https?:)[^\s<>|\"'`*?:;,(){}][^<>|\"'`*?;{}\n]{0,199}$")
EXTENSION = lazy_pattern(r"(?:^|[^/\\])\.[A-Za-z][A-Za-z0-9_+-]{0,11}$|^\.[A-Za-z][A-Za-z0-9_.-]*$")
NAMED = lazy_pattern(r"\b(?:title|file|filename|path)=(?:\"([^\"]+)\"|'([^']+)'|([^\s\"'}]+))", re.IGNORECASE)
BARE_NAMES = frozenset({"Makefile", "Dockerfile", "LICENSE", "README", "CHANGELOG", "Justfile", "Gemfile"})
PRODUCTS = lazy_pattern(
    r"^(?:node|next|nuxt|vue|react|three|express|d3|alpine|ember|backbone)\.js$|^(?:asp|vb)\.net$", re.I
)
COMMANDS = frozenset({"bash", "cmd", "console", "fish", "powershell", "sh", "shell", "terminal", "zsh"})
SCRIPTS = lazy_pattern(r"(?:^|/)[^./]+$|\.(?:sh|bash|zsh|fish|ps1|bat|cmd|envrc|bats)$|rc$|profile$")

# In a sentence only endings that nothing else has make a name: `self.value` is none.
ENDINGS = (
    "bat|c|cc|cfg|conf|cpp|cs|css|csv|erl|ex|exs|go|gradle|h|hpp|hs|html|ini|java|js|json|jsx|kt|lock|lua|md|mjs"
    "|ml|php|pl|properties|ps1|py|pyi|rb|rs|rst|scala|scss|sh|sql|svelte|swift|tex|toml|ts|tsx|txt|vue|xml|ya?ml"
)
PART = r"[\w.@#$%&+=~-]+"
MENTIONED = lazy_pattern(
    rf"(?<![\w./\\@#$%&+=~;-])(?<!\w')((?:{PART}/)*{PART}\.(?:{ENDINGS}))(?![\w/\\-])(?!\.\w)"
)
SPACED = lazy_pattern(r"^[^\s<>|\"`*?:;,][^<>|\"`*?:;\n]{0,199}$")  # a name that may have blanks and brackets
LAST = lazy_pattern(rf"\.(?:{ENDINGS})$")
COMMENT = lazy_pattern(r"^(?://+|<!--|/\*+|--|={2,}|-{2,})\s+|\s+(?:-->|\*/|={2,}|-{2,})$")
LINE_NUMBERS = lazy_pattern(r"(?::\d+(?:-\d+)?|\s*\((?:lines?|L)\s*\d[^()]*\))$")
NUMBERED = lazy_pattern(r"^\w+ \d+\s*[:.)-]\s+")
LINK = lazy_pattern(r"^\[([^\[\]]+)\]\(([^()\s]+)\)$")
SPANS = lazy_pattern(r"`([^`]+)`")

# A line with one of these words is a sentence, so that only its last word may be a name.
SENTENCE = frozenset(
    re.findall(
        r"\w+",
        """
        add adds added and apply at change changed changes create creates delete edit edits edited file files
        fix fixes following for from here in inside into is it let make modify modified move now of on open
        please remove rename replace replaces rewrite see that the then these this to update updated updates
        use will with within you your
        """,
    )
)


def on_line(line: str) -> str:
    """The file name that a line consists of; empty if it is anything else."""
    bare = _strip_emphasis(MARKS.sub("", line.strip()).rstrip())
    label = LABEL.match(bare)
    inner = _strip_emphasis(NOTE.sub("", bare[label.end() :] if label else bare))
    quoted, link = QUOTED.match(inner), LINK.match(inner)
    path = (quoted[1] if quoted else link[2].partition("#")[0] if link else inner).strip()
    sure = bool(quoted or label)
    if not PATH.match(path) or path.endswith(".") or (" " in path and not sure) or PRODUCTS.match(path):
        return ""
    return path if EXTENSION.search(path) or path in BARE_NAMES or (sure and "/" in path) else ""


def _strip_emphasis(text: str) -> str:
    """*text* without the colon behind it and the emphasis around it."""
    text = text.removesuffix(":").removeprefix("**").removesuffix("**")
    if text.startswith("__") and text.endswith("__"):
        text = text[2:-2]
    return text.strip().removesuffix(":")


def on_line_above_block(line: str) -> str:
    """The same for the line right above a SEARCH block, where one word or a path without ending will do."""
    path = on_line(line)
    bare = MARKS.sub("", line.strip()).strip("*`")
    bare = bare[1:-1] if bare.startswith("_") and bare.endswith("_") else bare
    is_word = bool(PATH.match(bare)) and " " not in bare and not bare.endswith((".", ":", ")"))
    return path or (bare if is_word else "")


def with_blanks(line: str) -> str:
    """The name with blanks that a line may consist of, or has in backticks; empty if there is none."""
    quoted = [span.strip() for span in SPANS.findall(line) if " " in span.strip()]
    bare = quoted[0] if len(quoted) == 1 else MARKS.sub("", line.strip()).rstrip()
    bare = NUMBERED.sub("", COMMENT.sub("", _strip_emphasis(bare)))
    for wrapping in ("**", "__", "*", "_", '"', "'"):
        if len(bare) > 2 * len(wrapping) and bare.startswith(wrapping) and bare.endswith(wrapping):
            bare = bare[len(wrapping) : -len(wrapping)]
    name = LINE_NUMBERS.sub("", NOTE.sub("", bare)).strip("\u201c\u201d").strip()
    *words, last = name.replace("/", " ").split() or [""]
    if not SPACED.match(name) or not words or not (LAST.search(last) or last in BARE_NAMES):
        return ""
    is_sentence = any(word.strip(",.'()").lower() in SENTENCE for word in name.split()[:-1])
    return "" if is_sentence or "  " in name else name


def may_end_in_name(line: str) -> bool:
    """Whether a line may end in the name of a file, even if it is unclear where the name begins."""
    return LAST.search(line.strip(" \t*_`\"'.:)]}")) is not None


def may_hold_file(path: str, language: str) -> bool:
    """
    Whether a fence in *language* may hold the file *path*: commands to type are not a file, unless it is a
    script.
    """
    return language.lower() not in COMMANDS or bool(SCRIPTS.search(path))


def in_info(info: str) -> str:
    """The file name in a fence's info string."""
    if named := NAMED.search(info):
        return str(named[1] or named[2] or named[3])
    for at, word in reversed(list(enumerate(info.split()))):
        name = word.partition(":")[2] or word
        is_likely = EXTENSION.search(name) or name in BARE_NAMES or ("/" in name and at > 0)
        if PATH.match(name) and is_likely and not PRODUCTS.match(name):
            return name
    return ""


def in_sentence(line: str) -> frozenset[str]:
    """All file names that a line mentions."""
    return frozenset(name for name in MENTIONED.findall(line) if not PRODUCTS.match(name))
