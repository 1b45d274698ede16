"""The promises that the code makes of itself: contracts, sizes, words, and files that belong together."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from handrail.core.failure import Code
from handrail.lsp import protocol
from handrail.lsp.server import HANDLERS
from handrail.lsp.settings import SETTINGS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "server" / "handrail"
MODULES = sorted(PACKAGE.rglob("*.py"))
LINES, FUNCTION_LINES = 400, 60
MODULES_OF_A_FOLDER = 16  # more of them are several packages, told in prose


def tracked(pattern: str = "") -> list[Path]:
    listed = subprocess.run(
        [
            "git",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            *([pattern] if pattern else []),
        ],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def functions(module: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_is_small_and_says_what_it_does(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert text.count("\n") <= LINES
    assert ast.get_docstring(ast.parse(text)), "the module's docstring is missing"
    long = [f.name for f in functions(module) if (f.end_lineno or 0) - f.lineno + 1 > FUNCTION_LINES]
    assert not long


FOLDERS = sorted({module.parent for module in MODULES})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_folder_is_one_package(folder: Path) -> None:
    names = [module.stem for module in folder.glob("*.py") if module.stem != "__init__"]
    assert len(names) <= MODULES_OF_A_FOLDER, (
        "the folder is full: move modules that belong together into a package"
    )
    assert not [name for name in names if name.startswith(f"{folder.name}_")]


@pytest.mark.parametrize("name", ["utils", "helpers", "common", "manager", "base", "types", "constants"])
def test_no_module_is_named_for_nothing(name: str) -> None:
    assert not [module for module in MODULES if module.stem == name]


def test_the_loop_can_be_read_at_a_glance() -> None:
    (run_turn,) = [f for f in functions(PACKAGE / "agent" / "turn" / "loop.py") if f.name == "run_turn"]
    assert (run_turn.end_lineno or 0) - run_turn.lineno < 60


def test_every_failure_code_has_a_help_page() -> None:
    pages = set(re.findall(r"^## (\S+)$", (ROOT / "docs" / "failures.md").read_text(encoding="utf-8"), re.M))
    assert pages == {code.value for code in Code}


def test_every_request_of_the_protocol_is_answered() -> None:
    answered = {request for request, _ in HANDLERS}
    assert not {request.name for request in protocol.REQUESTS if request not in answered}, (
        "name who answers this request: add it to HANDLERS in server/handrail/lsp/server.py"
    )
    assert not {request.name for request in answered if request not in protocol.REQUESTS}, (
        "add this request to REQUESTS in server/handrail/lsp/protocol/requests.py"
    )


def test_generated_files_are_what_they_should_be() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/generate.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_importing_any_module_has_no_effect(tmp_path: Path) -> None:
    """Invariant 12: nothing is written, started or printed by an import."""
    names = [".".join(module.relative_to(PACKAGE.parent).with_suffix("").parts) for module in MODULES]
    program = (
        "import importlib, sys, threading\n"
        f"for name in {[name for name in names if not name.endswith('__main__')]!r}:\n"
        "    importlib.import_module(name.removesuffix('.__init__'))\n"
        "assert threading.active_count() == 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_no_tracked_file_names_a_registry() -> None:
    lock = ROOT / "client-vscode" / "package-lock.json"
    assert "resolved" not in lock.read_text(encoding="utf-8")
    for path in tracked("constraints.txt") + tracked("*.toml") + tracked("*.json"):
        assert not re.search(
            rf"https?://[^\s\"]*(?:{'|'.join(REGISTRIES)})", path.read_text(encoding="utf-8")
        ), path


REGISTRIES = ("pypi" + r"\.org", "npmjs" + r"\.", "pythonhosted" + r"\.")


def test_no_tracked_file_was_merged_by_halves() -> None:
    mark = re.compile(rb"^<{7} HEAD$", re.MULTILINE)
    own = [path for path in tracked() if "specs" not in path.parts]  # which have such as what a model sent
    assert not [path for path in own if mark.search(path.read_bytes())]


def test_the_extension_and_the_server_have_one_version() -> None:
    manifest = json.loads((ROOT / "client-vscode" / "package.json").read_text(encoding="utf-8"))
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    coded = re.search(r'^__version__ = "(.+)"$', (PACKAGE / "__init__.py").read_text(encoding="utf-8"), re.M)
    assert declared is not None
    assert coded is not None
    assert manifest["version"] == declared[1] == coded[1]


# ---- Plain English ----------------------------------------------------------------------------------

# What to avoid in text that users and models read, and what to write instead.
AWKWARD = {
    re.compile(pattern, re.IGNORECASE): instead
    for pattern, instead in {
        r"(?<!there )\b(?:is|are|was|were) none\b": "say what it is not",
        r"(?<!there )\b(?:is|are|was|were) no (?!longer|more|less|doubt)(?!yes\b)\w+": "is not a …",
        r"\bas well\b(?! as)": "also, too",
        r"\bmeanwhile\b": "while …, since",
        r"\bnobody\b": "no one; or say who acts",
        r"\bamid\b": "in the middle of, while",
        r"\b(?:un)?mend(?:s|ed|ing)?\b": "correct, repair, fix",
        r"\bborne\b": "kept, allowed",
        r"\balso (?:if|when|after|while)\b": "even",
        r"\bgo(?:es|ne|ing)? on with\b": "continue",
        r"(?:^|[.!:] )(?-i:What) (?:is|are|was|were|has|runs|asks) (?![^.?!]*\?)": "name the thing itself",
        r"\btak(?:e|es|en|ing)(?: \w+){0,3} back\b": "undo, restore, revert",
        r"\b(?:is|are) there already\b": "already exists",
        r"\bthere is no such\b": "… does not exist",
        r"\bcannot be told\b(?! apart)": "is unclear",
        r"\b(?:in vain|anew|for want of|made good)\b": "the common word",
        r"\bitself failed\b": "internal error",
        r"\bany more\b(?=[.,;:])": "no longer",
        r"\bwhat (?:stands|stood|lies|lay)\b": "name the thing itself",
        r"\b(?:stands?|stood|lies|lay) (?:there|in the|at the|outside|inside|beside)\b": "is, are",
        r"\bnot known here\b": "unknown, not supported",
        r", else (?!if\b)": "otherwise",
        r"\btried with\b": "tested with",
        r"\btold of\b": "told about",
        r"\b(?:something|anything|nothing|what) else than\b": "other than",
        r"\bobey(?:s|ed)?\b": "follow",
        r"\bsomebody\b": "someone",
        r"\bbeside\b(?!-)": "next to",
        r"\bwhat (?:becomes|became) of\b": "what happens to; or name the thing itself",
        r"\b(?:of|than) (?:yours|mine|theirs)\b": "your …, my …",
        r"\bstand(?:s|ing)? for nothing\b": "matches nothing",
        r"\bopen no longer\b": "no longer open",
        r"\bwithout a word\b": "without a message",
        r"\b(?:is|are|was|were) ended\b": "stopped, has ended",
        r"\bput right\b": "corrected",
        r"\bgo(?:es|ne|ing)? on from\b": "continue from",
        r"\bwhat \w+(?: \w+){0,4} (?:comes?|came) to\b": "name the result",
        r"\b(?:for good|on the road of|takes? the road)\b": "permanently; like, through",
        r"\bis for `?\w+`? to say\b": "is decided in …",
        r"\bto be had\b": "available",
        r"\bas it stands\b": "unchanged, as it is",
        r"\bby whomever\b": "by anyone",
        r"\bbut for (?:what|those|all|escapes)\b": "except",
        r"\bfor ever\b": "forever",
        r"\bsees to it that\b": "makes sure that",
        r"\bhand(?:s|ed)? (?:\w+ )?on\b": "pass on",
    }.items()
}
OWN_DOCUMENTS = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *("docs/*.md", "client-vscode/*.md", "server/*.md", "tests/*.md"),
)


def paragraphs(markdown: str) -> Iterator[str]:
    """The paragraphs, rows and items of a document, each on one line, without code."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", markdown, flags=re.M | re.S)
    yield from re.sub(r"\n(?![\n|#\-*>]| *[-*\d])[ \t]*", " ", re.sub(r"`[^`\n]*`", "`…`", text)).split("\n")


def messages(module: Path) -> Iterator[str]:
    """All texts of several words in a module that may be shown; docstrings are not among them."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    unshown = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            unshown.update(map(id, node.values))
            parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and id(node) not in unshown and isinstance(node.value, str):
            yield node.value


def docstrings(module: Path) -> Iterator[str]:
    """All docstrings of a module, paragraph by paragraph, without code."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in (each for each in ast.walk(tree) if isinstance(each, kinds)):
        code = r"^ *(?:>>>|\.\.\.).*$|^ +\w+(?:, \w+)*: |\bNone\b"  # and names of arguments
        text = re.sub(code, "…", ast.get_docstring(node) or "", flags=re.M)
        yield from paragraphs(text)


def awkward(source: Path, texts: Iterable[str]) -> list[str]:
    return [
        f"{source.relative_to(ROOT)}: …{text[max(0, found.start() - 40) : found.end() + 20]}… ({instead})"
        for text in texts
        for pattern, instead in AWKWARD.items()
        for found in pattern.finditer(text)
    ]


def test_documents_and_prompts_are_plain_english() -> None:
    documents = [path for pattern in OWN_DOCUMENTS for path in ROOT.glob(pattern)]
    documents += sorted((PACKAGE / "prompts").glob("*.md"))
    assert len(documents) > 30
    assert not [line for path in documents for line in awkward(path, paragraphs(path.read_text("utf-8")))]


def test_messages_are_plain_english() -> None:
    assert not [line for module in MODULES for line in awkward(module, messages(module))]


def test_docstrings_are_plain_english() -> None:
    assert not [line for module in MODULES for line in awkward(module, docstrings(module))]


def test_the_extension_speaks_plain_english() -> None:
    manifest = ROOT / "client-vscode" / "package.nls.json"
    sources = [
        manifest,
        ROOT / "client-vscode" / "l10n" / "bundle.l10n.json",
        *(ROOT / "client-vscode" / "src").rglob("*.ts"),
    ]
    quoted = re.compile(r"""(["`'])((?:(?!\1)[^\\\n]|\\.)* (?:(?!\1)[^\\\n]|\\.)*)\1""")
    texts = {path: [each[1] for each in quoted.findall(path.read_text("utf-8"))] for path in sources}
    assert len(texts[manifest]) > 100
    assert not [line for path, each in texts.items() for line in awkward(path, each)]


@pytest.mark.parametrize(
    "sentence",
    [
        "What is no text stays as it is.",
        "The line is no request.",
        "A question that nobody answers is a no.",
        "They can be gone on with, also after a crash.",
        "The document changed meanwhile.",
        "It is hidden as well.",
        "The turn can be taken back.",
        "The file is there already.",
        "There is no such file.",
        "The diagnostic stands at the nearest place.",
        "Compare with what stands there.",
        "It uses the setting, else the default.",
        "The model is told of new problems.",
        "It printed something else than problems.",
        "An editor obeys it.",
        "A folder that somebody cloned.",
        "The marks beside the line numbers.",
        "What becomes of a comment.",
        "A name stands for nothing.",
        "The document is open no longer.",
        "The command was ended by a signal.",
        "The path was put right.",
        "One whose journal was removed goes on from there.",
        "Do not assume what a tool call came to.",
        "Nothing is pending any more.",
        "A rule that holds for good.",
        "An undo takes the road of every edit.",
        "That is for `archive` to say.",
        "If the file is not to be had.",
        "It runs as it stands.",
        "Changed by whomever.",
        "Empty but for toolchains and all but for those.",
        "It may take for ever.",
        "The caller sees to it that no command runs.",
        "An error is handed on.",
    ],
)
def test_awkward_sentences_are_found(sentence: str) -> None:
    assert awkward(ROOT / "README.md", [sentence])


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no editor.",
        "It is no longer pending.",
        "What is pending?",
        "Files as well as folders.",
        "Take it with you.",
        "or else",
    ],
)
def test_plain_sentences_pass(sentence: str) -> None:
    assert not awkward(ROOT / "README.md", [sentence])


# ---- Names ------------------------------------------------------------------------------------------

# A function is named by a verb or by the noun that it returns: `keep`, `kept_lines`, never `kept`.
STANDARD = frozenset({"now", "on"})  # what every clock has, and every connection with handlers
PARTICIPLES = frozenset(
    """
    begun borne bound broken brought built caught chosen done drawn driven fed felt forgotten found given gone
    grown had heard held hidden kept known laid led left lent lost made meant met paid said seen sent shown
    sold spoken stood stuck taken thought thrown told torn understood undone woken won worn wound written
    """.split()  # noqa: SIM905  # a paragraph of words reads better than a column
)
PARTICLES = frozenset(
    """
    above after again all alone already an anew and apart as aside at away back before below beside beyond by
    down each else elsewhere first for from here in into is it its last not now of off on once only or
    otherwise out over same still than the there to together under up with within without yet
    """.split()  # noqa: SIM905
)
NOT_PARTICIPLES = frozenset(
    """
    bring embed encoding exceed feed heading landing need nothing opening proceed reading seed setting sibling
    spacing speed spelling spring string succeed thing
    """.split()  # noqa: SIM905
)


def is_participle(name: str) -> bool:
    """Whether a function's name says what was done or where, but neither what it does nor what it returns."""
    words = name.strip("_").split("_")
    return not name.startswith("__") and all(
        word in PARTICIPLES | PARTICLES or (word.endswith(("ed", "ing")) and word not in NOT_PARTICIPLES)
        for word in words
    )


# Attributes may be participles (`file.closed`), and constructors prepositions (`Near.of`).
ATTRIBUTE_LIKE = re.compile(r"property|\.setter|classmethod|staticmethod")


def nameless(module: Path) -> list[str]:
    """Functions that are named by participles, but for claims (`is_open`) and events (`on_change`)."""
    return [
        f"{module.relative_to(PACKAGE)}:{each.lineno}: {each.name}"
        for each in functions(module)
        if is_participle(each.name)
        and not each.name.lstrip("_").startswith(("is_", "on_"))
        and each.name not in STANDARD
        and not any("property" in ast.unparse(decorator) for decorator in each.decorator_list)
        and not any(
            ast.unparse(decorator) in {"classmethod", "staticmethod"} for decorator in each.decorator_list
        )
    ]


def test_functions_are_named_by_verbs_or_nouns() -> None:
    assert len(MODULES) > 300
    assert not [line for module in MODULES for line in nameless(module)], "name what it does or returns"


@pytest.mark.parametrize(
    ("name", "is_found"),
    [
        *[(name, True) for name in ("_told", "kept", "as_before", "moved_by", "_still", "waiting", "of")],
        *[
            (name, False)
            for name in ("keep", "kept_lines", "read", "_with_end", "landing", "needs", "__init__")
        ],
    ],
)
def test_names_by_participles_are_found(name: str, is_found: bool) -> None:
    assert is_participle(name) is is_found


# ---- One meaning a word --------------------------------------------------------------------------------

# What these words mean is in the table of words in ARCHITECTURE.md; each is a name only where it means that.
HOMES = {
    "fit": r"agent/turn/edit/",
    "look": r"(core/policy|adapters/containment)/",
    "stand": r"(?!)",  # edits land, and are intact
}
FORMS = {
    form: word
    for word, forms in {
        "fit": "fit fits fitted fitting",
        "look": "look looks looked looking",
        "stand": "stand stands stood standing",
    }.items()
    for form in forms.split()
}
IDIOMS = re.compile(r"stand_ins?\b")


def assigned_names(module: Path) -> Iterator[tuple[int, str, ast.expr | None]]:
    """The names that a module gives, each with its line and, where it has one, its annotation."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.lineno, node.name, node.returns
            case ast.ClassDef():
                yield node.lineno, node.name, None
            case ast.arg():
                yield node.lineno, node.arg, node.annotation
            case ast.AnnAssign(target=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield node.lineno, name, node.annotation
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name, None


def strays(path: str, name: str, annotation: ast.expr | None) -> bool:
    """Whether a name has one of the words where it cannot have its meaning."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", IDIOMS.sub("", name))
    forms = [word.lower() for word in words]
    if any(not re.match(HOMES[FORMS[form]], path) for form in forms if form in FORMS):
        return True
    if annotation is None:
        return False
    is_place = bool({"place", "places"}.intersection(forms))
    return name == "found" or (is_place and "Place" not in ast.unparse(annotation))


def test_words_are_names_only_in_their_one_meaning() -> None:
    """A parameter, field or function that is called a place is one; what only was found has a better name."""
    assert not [
        f"{path}:{line}: {name}"
        for module in MODULES
        for path in [module.relative_to(PACKAGE).as_posix()]
        for line, name, annotation in assigned_names(module)
        if strays(path, name, annotation)
    ]


@pytest.mark.parametrize(
    ("name", "annotation", "is_stray"),
    [
        ("which_stand", None, True),
        ("standIns", None, True),
        ("stand_ins", "Path", False),
        ("LOOK_S", None, True),
        ("Fitted", None, True),
        ("place", "Place | Failure", False),
        ("_places", "Iterator[int]", True),
        ("replace", "str", False),
        ("found", "list[str]", True),
        ("found", None, False),
        ("profit", None, False),
    ],
)
def test_stray_words_are_found(name: str, annotation: str | None, is_stray: bool) -> None:
    given = ast.parse(annotation, mode="eval").body if annotation else None
    assert strays("core/documents/text.py", name, given) is is_stray


# ---- The map -----------------------------------------------------------------------------------------


def test_the_places_where_a_change_goes_are_there() -> None:
    """Each path is full, and has the names that are given after it."""
    text = (ROOT / "server" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("## Where a change goes")[2].partition("\n## ")[0]

    def found(path: str) -> Path | None:
        return next((base / path for base in (PACKAGE, ROOT) if (base / path).exists()), None)

    paths = re.findall(r"`([\w/-]+(?:\.(?:py|ts|mjs|md|lua|el)|/))`", section)
    assert len(paths) > 100
    assert not [path for path in paths if found(path) is None]
    named = re.findall(r"`([\w/-]+\.\w+)`:\s((?:`\w+`(?:,\s|\sand\s)?)+)", section)
    assert len(named) > 30
    named += [
        (path, name) for name, path in re.findall(r"`(\w+)`(?:\s\([^()]*\))?\sin\s`([\w/-]+\.\w+)`", section)
    ]
    assert not [
        (path, name)
        for path, names in named
        for name in re.findall(r"\w+", names.replace(" and ", " "))
        if (there := found(path)) is None or name not in there.read_text(encoding="utf-8")
    ]


def test_the_map_names_what_is_there() -> None:
    """Paths lead somewhere, and `module.name` is defined in some module of that name."""
    text = (ROOT / "server" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    folders = [PACKAGE, ROOT, *(PACKAGE / layer for layer in ("core", "agent", "adapters", "lsp"))]
    paths = re.findall(r"`([\w-]+/[\w./-]*)`", prose)
    assert len(paths) > 100
    assert not [
        path
        for path in paths
        if not any((folder / name).exists() for folder in folders for name in (path, f"{path}.py"))
    ]
    modules: dict[str, list[str]] = {}
    for module in MODULES:
        stem = module.parent.name if module.stem == "__init__" else module.stem
        modules.setdefault(stem, []).append(module.read_text(encoding="utf-8"))
    names = re.findall(r"`([a-z_]+)\.(?!py\b|toml\b)(\w+)`", prose)
    listed = {setting.name for setting in SETTINGS}
    found = [
        each for each in names if each[0] in modules.keys() - {"handrail"} and ".".join(each) not in listed
    ]
    assert len(found) > 5
    assert not [
        f"{stem}.{name}"
        for stem, name in found
        if not any(re.search(rf"^(?:async def |def |class )?{name}\b", each, re.M) for each in modules[stem])
    ]


# ---- The cases of the originals ---------------------------------------------------------------------

CITED = re.compile(r"`([a-z_/]+\.md): ([^`]+)`|`([a-z_0-9/]+\.py)::(test_[a-z_0-9]+)`")
CASES = (ROOT / "tests" / "CASES.md").read_text(encoding="utf-8")
DECISIONS = (
    "conversation/recover",
    "policy/verdict",
    "policy/schedule",
    "results/truncate",
    "results/sanitize",
    "conversation/compact",
    "conversation/guard",
    "ledger/ledger",
    "ledger/report",
)


def headings(folder: str) -> list[str]:
    files = (ROOT / "tests" / "specs" / folder).glob("*.md")
    return [
        f"{folder}/{file.name}: {name}"
        for file in files
        for name in HEADINGS.findall(file.read_text("utf-8"))
    ]


HEADINGS = re.compile(r"^## (.+?)\s*$", re.M)


@pytest.mark.parametrize("row", [line for line in CASES.splitlines() if CITED.search(line)])
def test_what_covers_a_case_is_there(row: str) -> None:
    for spec, heading, module, name in CITED.findall(row):
        if spec:
            assert f"{spec}: {heading}" in headings(spec.rpartition("/")[0])
        else:
            assert f"def {name}(" in (ROOT / "tests" / module).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("part", "count"),
    [("Checkpoint order", 5), ("Compression", 6), ("Resilience", 18), ("File-mutation", 31)],
)
def test_as_many_cases_are_covered_as_the_originals_have(part: str, count: int) -> None:
    rows = CASES.partition(f"## {part}")[2].partition("\n## ")[0].splitlines()
    assert len([row for row in rows if row.startswith("|") and CITED.search(row)]) >= count


def test_the_loops_decisions_have_two_hundred_cases() -> None:
    assert sum(len(headings(folder)) for folder in DECISIONS) >= 200
