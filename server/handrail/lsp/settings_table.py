"""
The table of all settings; `docs/settings.md` and the extension's manifest are made from it.

A machine setting is taken at global scope or from `initializationOptions` only, so that a folder which
somebody cloned cannot choose the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from handrail.core.policy import environment, rules
from handrail.core.policy.rules import Rule

Value = str | bool | int | tuple[Rule, ...] | tuple[str, ...]


class Scope(StrEnum):
    """Where a setting may come from."""

    MACHINE = "machine"
    WINDOW = "window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """
    One setting.

    Attributes:
        choices: The allowed strings, where there are only some.
        bounds: The least and the greatest number that is allowed.
        reads: Reads a list; returns what is wrong with it in words.
    """

    name: str
    default: Value
    scope: Scope
    does: str
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    reads: Callable[[object], tuple[Rule, ...] | tuple[str, ...] | str] | None = None


MODEL = Setting(
    name="model",
    default="paste",
    scope=Scope.MACHINE,
    does=(
        "Who answers. `paste`: no model at all, the prompt is a reply copied from any chat. "
        "`openai-chat:NAME`, `openai-responses:NAME`, `anthropic:NAME`, `ollama:NAME`: a model, in the usual "
        "form of pydantic-ai; `openai:NAME` speaks Chat Completions if a base URL is set, else Responses. "
        "`editor` or `editor:NAME`: the editor's own models, where the client offers them; in VS Code, those "
        "that extensions bring. `scripted:FILE`: answers read from a JSON file, for tests and demos; "
        "`record:FILE.json:MODEL` writes such a file."
    ),
)
BASE_URL = Setting(
    name="baseUrl",
    default="",
    scope=Scope.MACHINE,
    does="Where the model's server is. Empty: where OPENAI_BASE_URL and the like say, else the usual place.",
)
KEY_NAME = Setting(
    name="keyName",
    default="",
    scope=Scope.MACHINE,
    does=(
        "The environment variable, or the user name of the service `handrail` in the system's keyring, that "
        "holds the model's key; never the key itself. Empty: the usual variable, such as OPENAI_API_KEY."
    ),
)
CLOSED_DOCUMENTS = Setting(
    name="edits.closedDocuments",
    default="auto",
    scope=Scope.WINDOW,
    choices=("auto", "editor", "disk"),
    does=(
        "How documents are changed that are not open. `auto`: through the editor if it can save for us and "
        "the bytes are plain UTF-8 with one kind of line end, else byte-exact on disk. `editor`: always "
        "through the editor. `disk`: always on disk."
    ),
)
MODE = Setting(
    name="mode",
    default="edit",
    scope=Scope.WINDOW,
    choices=("edit", "ask", "plan"),
    does=(
        "What a turn may do unless its client says so. `edit`: everything that is allowed. `ask` and `plan`: "
        "read and search, but change nothing."
    ),
)
BEHAVIOUR = Setting(
    name="behaviour",
    default="none",
    scope=Scope.WINDOW,
    choices=("none", "terse"),
    does="Rules for the model's tone. `none`: its own. `terse`: to the matter, without praise and questions.",
)
DIAGNOSTICS = Setting(
    name="mutations.diagnostics",
    default=True,
    scope=Scope.WINDOW,
    does=(
        "Show edits that did not land as diagnostics. The environment variable "
        "HANDRAIL_FILE_MUTATION_VERIFIER (0 or 1) wins both ways."
    ),
)
APPROVALS = Setting(
    name="approvals",
    default=(),
    reads=rules.read,
    scope=Scope.MACHINE,
    does=(
        "What may run without asking, must be asked, or is blocked: a list of rules such as "
        '`{"tool": "terminal", "match": "npm *", "verdict": "allow"}`. `tool` is a tool\'s name, `read`, '
        "`edit` or `*`; `match` is a pattern for its path, or for one part of its command; `verdict` is "
        "`allow`, `ask` or `block`. The last rule that matches decides. Without rules, reading and editing "
        "in the workspace is allowed, and so are commands that are known to change nothing; protected files "
        "(keys, settings of editors and agents, CI definitions), what lies outside the workspace, and other "
        "commands are asked about. Nothing lifts the block of version control's own files."
    ),
)
OUTPUT_LIMIT = Setting(
    name="output.limit",
    default=100_000,
    scope=Scope.WINDOW,
    bounds=(2_000, 1_000_000),
    does=(
        "How many characters of a tool's result the model reads. Of a longer one the first 40 % and the last "
        "60 % are shown, and all of it is kept aside, where the model can read and search it."
    ),
)
SANDBOX = Setting(
    name="sandbox",
    default="auto",
    scope=Scope.MACHINE,
    choices=("auto", "ask", "off"),
    does=(
        "How commands are contained, on Linux with bubblewrap, or else with Landlock. `auto`: what only "
        "reads sees no keys and no network; any other command runs unasked (with Landlock it is asked "
        "about), may write in the workspace only, and what it needs beyond that is asked about. `ask`: any "
        "other command is asked about, and still contained. `off`: nothing is contained, and what is not "
        "known to change nothing is asked about, as where there is neither. The environment variable "
        "HANDRAIL_SANDBOX, with one of these values, wins."
    ),
)
TERMINAL_SAVE = Setting(
    name="terminal.save",
    default="ask",
    scope=Scope.WINDOW,
    choices=("ask", "always", "never"),
    does=(
        "Whether documents with unsaved changes of yours are saved before a command that may change files. "
        "Those that the agent has changed are saved anyway; before commands that only read nothing is."
    ),
)
CONTEXT_WINDOW = Setting(
    name="context.window",
    default=0,
    scope=Scope.MACHINE,
    bounds=(0, 10_000_000),
    does=(
        "How many tokens the model reads at once, with its answer. 0: what its server tells (Ollama, vLLM, "
        "LM Studio, llama.cpp) or is known of the model, else 128,000. What is too long is summarised in "
        "time. Ollama loads `ollama:NAME` with the window that is set here; by itself it often takes 4,096."
    ),
)
CONTEXT_RESERVE = Setting(
    name="context.reserve",
    default=0,
    scope=Scope.MACHINE,
    bounds=(0, 1_000_000),
    does=(
        "How many tokens of the window are kept for the answer: a conversation that leaves less is made "
        "smaller. 0: a quarter of the window."
    ),
)
OUTPUT_TOKENS = Setting(
    name="output.maxTokens",
    default=0,
    scope=Scope.MACHINE,
    bounds=(0, 1_000_000),
    does="How many tokens one answer of the model may have. 0: what its server takes for enough.",
)
REASONING = Setting(
    name="reasoning",
    default="auto",
    scope=Scope.MACHINE,
    choices=("auto", "off", "low", "medium", "high"),
    does=(
        "How much the model thinks before it answers. `auto`: as it does by itself. `off` is the least that "
        "it can do. A model that is known not to reason is asked as always; other servers are told what you "
        "want, and may refuse it."
    ),
)
PICTURES = Setting(
    name="pictures",
    default="auto",
    scope=Scope.MACHINE,
    choices=("auto", "always", "never"),
    does="Whether the model is shown pictures. `auto`: if its name is one of those known to see.",
)
TERMINAL_TIMEOUT = Setting(
    name="terminal.timeout",
    default=120,
    scope=Scope.WINDOW,
    bounds=(1, 3_600),
    does=(
        "After how many seconds a command is stopped, with everything that it has started, unless the model "
        "asks for another time."
    ),
)
TERMINAL_LONGEST = Setting(
    name="terminal.maxTimeout",
    default=600,
    scope=Scope.WINDOW,
    bounds=(1, 86_400),
    does="How many seconds the model may ask for at most for a command.",
)
TERMINAL_ENVIRONMENT = Setting(
    name="terminal.environment",
    default=(),
    reads=environment.read,
    scope=Scope.MACHINE,
    does=(
        "Variables that commands inherit beside the usual ones (paths, language, terminal, toolchains), once "
        "you have allowed the command: a list of names such as `MY_TOOL_HOME`, or of patterns such as "
        "`MY_TOOL_*`. No pattern stands for a name that may be a key's (`*KEY*`, `*TOKEN*`, `*PASS*` and the "
        "like) or that changes how programs start; such a name must be written in full. Commands that run "
        "unasked because they only read get none of these, and no command gets the model's key."
    ),
)

CHECKPOINTS_SIZE = Setting(
    name="checkpoints.maxSize",
    default=1_000,
    scope=Scope.MACHINE,
    bounds=(10, 1_000_000),
    does=(
        "How much the checkpoints of a workspace may take on the disk, in megabytes. Before more is "
        "written the oldest turns are removed; what a restore took away stays."
    ),
)
CHECKPOINTS_AGE = Setting(
    name="checkpoints.maxAge",
    default=30,
    scope=Scope.MACHINE,
    bounds=(1, 36_500),
    does="After how many days the checkpoint of a turn is removed, and what is pending in a file is kept.",
)

CHECKPOINTS_REQUIRED = Setting(
    name="checkpoints.required",
    default=True,
    scope=Scope.MACHINE,
    does=(
        "Whether what no checkpoint can be taken of stays as it is. `false`: it is changed all the same, and "
        "you are warned that this cannot be taken back."
    ),
)

QUESTIONS_TIMEOUT = Setting(
    name="questions.timeout",
    default=60,
    scope=Scope.MACHINE,
    bounds=(1, 10_080),
    does="How many minutes a question waits for your answer before it counts as a no.",
)
DOCUMENTS = Setting(
    name="documents",
    default="workspace",
    scope=Scope.MACHINE,
    choices=("workspace", "state"),
    does=(
        "Where handrail writes documents that it shows, such as questions. `workspace`: in `.handrail` of "
        "the workspace folder, which git ignores and agents cannot use. `state`: in the state folder, where "
        "some editors find no server for them."
    ),
)

REVIEW_MODE = Setting(
    name="review.mode",
    default="pending",
    scope=Scope.WINDOW,
    choices=("pending", "keep", "off"),
    does=(
        "What becomes of the agent's changes. `pending`: each can be kept or undone, at any time, by a code "
        "action or a lens at its place. `keep`: they count as kept at once. `off`: nothing of this is "
        "computed."
    ),
)
REVIEW_MARKS = Setting(
    name="review.marks",
    default=False,
    scope=Scope.WINDOW,
    does=(
        "Show pending changes as diagnostics of severity *hint*, apart from those of edits that failed, for "
        "editors that have lists and next/previous for diagnostics only."
    ),
)
PROMPTS_ON_SAVE = Setting(
    name="prompts.onSave",
    default=False,
    scope=Scope.MACHINE,
    does=(
        "Send comments that begin with `handrail:` when you save their document, each once. Only those count "
        "that you have typed since you opened it, not those from files, from the agent or from other "
        "programs. If your editor saves by itself, a comment may be sent before you have finished it."
    ),
)
FOLLOW = Setting(
    name="follow",
    default=False,
    scope=Scope.WINDOW,
    does=(
        "Show each place in the editor as the agent edits it, without taking the focus. Editors that cannot "
        "show documents for a server are left alone."
    ),
)

# All that are defined here, in that order.
SETTINGS = tuple(each for each in list(globals().values()) if isinstance(each, Setting))
