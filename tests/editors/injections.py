"""
Twenty texts that want to run, load, lead elsewhere or hide, and how each of them must read.
"""

HARM = "command:handrail-host-tests.harm"
TEXTS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    f"[fine]({HARM})",
    "[fine](javascript:alert(1))",
    f"<a href='{HARM}'>fine</a>",
    "<svg onload=alert(1)><style>@import 'https://example.org/x.css'</style></svg>",
    "![fine](https://example.org/x.png)",
    "<iframe src='https://example.org'></iframe>",
    "<style>body { display: none }</style>",
    "<div style='position:fixed;inset:0;background:url(https://example.org/x)'>over all</div>",
    "<base href='https://example.org/'><link rel=stylesheet href='/x.css'>",
    "<form action='https://example.org'><button>No</button></form>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "[fine](data:text/html,<script>alert(1)</script>)",
    f"[fine](vscode://handrail.handrail/?{HARM})",
    "\u001b[2J\u001b[31mred \u001b]8;;https://example.org\u0007fine\u001b]8;;\u0007",
    "pay \u202etxt.exe\u202c now",
    "a\u200bb\u2066c\u2069d\ufeffe",
    "<details open ontoggle=alert(1)><summary>fine</summary></details>",
    "$(bug) {{constructor.constructor('alert(1)')()}} ${alert(1)}",
)


def all_of_them() -> list[dict[str, str]]:
    """Each text, and how it must read."""
    return [{"text": text, "shown": _numbered(text)} for text in TEXTS]


def _numbered(text: str) -> str:
    """The text with its characters that are not seen written by their numbers."""
    return "".join(each if " " <= each <= "~" else _number(ord(each)) for each in text)


def _number(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"
