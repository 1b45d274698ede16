"""Tell whether code of `awk` or `sed` in a line runs no other command; what is not known to be so may."""

from __future__ import annotations

import re

from handrail.patterns import lazy_pattern

# The tokens of awk. A backslash outside of a text or a pattern is none of them.
TOKEN = lazy_pattern(
    r'(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<comment>#[^\n]*)|(?P<blank>[ \t\n]+)|(?P<or>\|\|)'
    r"|(?P<word>[A-Za-z_0-9.$]+)|(?P<slash>/)|(?P<other>[^\"#/\\])",
    re.DOTALL,
)
# A pattern of awk. Not one with a slash in brackets, of which programs make different things.
PATTERN = lazy_pattern(r"/(?:[^/\\\n\[]|\\.|\[\^?(?:\[:\w+:\]|[^\]\[/\\\n\"])+\])*/")
# A slash after these begins a pattern, and one after a value divides. After other words and signs, it may do
# either: `if (x) /a/` and `(x) / a`.
BEFORE_PATTERN = frozenset({"", "\n", *";{}&|!~(,=<>?:*%", "/", "in", "return", "print"})
_KEYWORDS = (
    "BEGIN BEGINFILE END ENDFILE break case continue default delete do else exit for func function getline "
    "if next nextfile printf switch while"
)
KEYWORDS = frozenset(_KEYWORDS.split())
VALUE = lazy_pattern(r"[\"\]]|\$?[A-Za-z0-9_.]+")
RUNS = lazy_pattern(r"system|(?<!\|)\|(?!\|)|@")


def awk_is_harmless(program: str) -> bool:
    """Whether a program of awk has no `system`, no pipe and no indirect call."""
    at, before = 0, ""
    while at < len(program):
        found = TOKEN.match(program, at)
        if found is not None and found["slash"]:
            if before not in BEFORE_PATTERN and (before in KEYWORDS or not VALUE.fullmatch(before)):
                return RUNS.search(program, at) is None
            is_pattern = before in BEFORE_PATTERN
            found = PATTERN.match(program, at) if is_pattern else found
            before = '"' if is_pattern else "/"
        elif found is not None and found.lastgroup != "blank":
            before = {"or": "|", "comment": "\n", "text": '"'}.get(found.lastgroup or "", found[0])
        elif found is not None and "\n" in found[0]:
            before = "\n"
        if found is None or (found.lastgroup in ("word", "other") and RUNS.match(found[0])):
            return False
        at = found.end()
    return True


PART = r"(?:[^/\\\n\[]|\\[^\n]|\[\^?(?:\[:\w+:\]|[^\]\[/\n])+\])*+"  # of `s/a/b/`
ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{PART}/I?)"
# The same between other marks, without brackets. Not possessive: Python 3.11.2 then forgets the mark.
OTHER = r"(?:(?!(?P=mark))[^\\\n\[\]]|\\[^\n])*"
BLANKS = r"[ \t]*+"
SED = lazy_pattern(
    rf"[ \t\n;]*+(?:{ADDRESS}(?:,{BLANKS}[+~]?{ADDRESS})?+)?+{BLANKS}!?{BLANKS}"
    rf"(?:[{{}}]|(?:[pdPDGghHxnNl=qQ]{BLANKS}\d*+|[sy]/{PART}/{PART}/[gpIi0-9]*+"
    rf"|[sy](?P<mark>[|,#@:!_~;+%]){OTHER}(?P=mark){OTHER}(?P=mark)[gpIi0-9]*+"
    rf"|[btT:]{BLANKS}\w*+|[aic][^\n]*+){BLANKS}(?=[;\n}}]|\Z)|\Z)"
)


def sed_is_harmless(script: str) -> bool:
    """Whether a script of sed has only commands that are known to run nothing and to read no other file."""
    at = 0
    while at < len(script):
        found = SED.match(script, at)
        if found is None or found.end() == at:
            return False
        at = found.end()
    return True
