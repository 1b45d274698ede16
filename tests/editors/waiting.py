"""
What the editors' tests of questions ask about.

A command: 40 lines, one of 2,000 characters, and all that a
surface could take for more than text. The last line leaves a file, so that it is seen what has run.
"""

import re
from pathlib import Path

LINKS = (
    "[fine](command:workbench.action.quit)",
    "[fine](file:///etc/passwd)",
    "[fine](https://example.org)",
    "$(bug) $(sync~spin)",
    "<a href='command:workbench.action.quit'>fine</a> <b>bold</b> &lt;",
    "![fine](https://example.org/x.png) `code` **bold** # heading",
    "%-5s %f %% ^[[31m \\e[31m",
    "[fine]: command:workbench.action.quit",
    "[![fine](https://example.org/x.png)](command:workbench.action.quit)",
    "\\](command:workbench.action.quit)",
    "<img src=x onerror=alert(1)> <script>alert(1)</script> <!-- fine",
    "https://example.org/fine www.example.org file:///etc/passwd",
    "<https://example.org> <user@example.org>",
    "| a | b |\\n|---|---|",
    "{0} ${HOME} {{x}} %1$s %n",
    "~~fine~~ _fine_ <kbd>fine</kbd> [^1]",
    "&#x202e; &lt;b&gt; &amp;amp;",
    "@workspace #file:.env /help",
    "vim: set ts=1 modeline:",
    "-*- mode: emacs-lisp; eval: (kill-emacs) -*-",
)
UNSEEN = "a\u202eb\u200bc\u2066d\ufeffe\u00a0f\u2028g"
SHOWN = "a\\u202eb\\u200bc\\u2066d\\ufeffe\\u00a0f\\u2028g"


def command() -> tuple[str, str]:
    """The command line, and how it must read."""
    lines = [f"echo '{text}'" for text in LINKS if "'" not in text] + [f'echo "{LINKS[4]}"']
    lines += [f"echo '{UNSEEN}'", "echo '" + "x" * 1_980 + " END'"]
    lines += [f"echo {number}" for number in range(len(lines), 39)]
    lines += ["touch ran.txt"]
    line = "\n".join(lines)
    return line, line.replace(UNSEEN, SHOWN)


def choosing(number: int) -> dict[str, object]:
    """An answer of a model that asks the user to choose, for the time *number*."""
    arguments = {"question": f"Which, {number}?", "choices": ["Tabs", "Spaces"]}
    return {"calls": [{"name": "ask_user", "arguments": arguments}]}


def chosen(folder: Path) -> list[str]:
    """What the model was told that the user had answered, by the journals below a folder."""
    told = "".join(path.read_text() for path in sorted(folder.rglob("s-*.jsonl")))
    answers = r"The user (?:chose: \w+|answered in their own words: [\w ]+|did not answer)"
    return list(dict.fromkeys(re.findall(answers, told)))  # a result is in several entries
