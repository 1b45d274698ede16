"""The table of all settings; `docs/settings.md` and the extension's manifest are made from it."""

from __future__ import annotations

from handrail.core.policy import checks, environment, rules
from handrail.core.results import truncate
from handrail.lsp.settings.setting import Scope, Setting

MODEL = Setting(
    name="model",
    default="paste",
    scope=Scope.MACHINE,
    does=(
        "The model that answers: `anthropic:NAME`, `openai:NAME`, `openai-chat:NAME`, "
        "`openai-responses:NAME` or `ollama:NAME`. OpenAI has two APIs: `openai-chat` uses Chat "
        "Completions, and `openai-responses` uses Responses. `openai` uses Chat Completions if "
        "`handrail.baseUrl` or OPENAI_BASE_URL is set, otherwise Responses. `editor` or `editor:NAME` uses "
        "the editor's own models, if the editor offers them (in VS Code, those of other extensions). `paste` "
        "uses no model: the prompt is a reply that you copied from a chat, and its edits are applied. "
        "`scripted:FILE` reads answers from a JSON file, for tests and demos; `record:FILE.json:MODEL` "
        "writes such a file."
    ),
)
BASE_URL = Setting(
    name="baseUrl",
    default="",
    scope=Scope.MACHINE,
    does=(
        "The address of the model's server, such as `http://localhost:8000/v1`. If empty, the environment "
        "variable of the provider (such as OPENAI_BASE_URL) is used, otherwise the provider's own address. "
        "handrail sends the key of the provider of `handrail.model` to this address. The address is only for "
        "the provider that was chosen when you set it. If you choose a model of another provider, handrail "
        "ignores `handrail.baseUrl` and `handrail.keyName`, and uses the new provider's own address and key; "
        "in VS Code, a message offers to use both settings for the new provider too. If your settings are in "
        "a file (Neovim, Emacs, a terminal), handrail cannot see when you change them: when it starts, it "
        "assumes that you set the address and the name of the key for the model that the file names. If one "
        "of them was set for another provider when handrail last read the file, a message tells you."
    ),
)
KEY_NAME = Setting(
    name="keyName",
    default="",
    scope=Scope.MACHINE,
    does=(
        "The name of the environment variable that holds the model's key, or the user name under which the "
        "system's keyring stores it (service `handrail`). Never the key itself. If empty, handrail reads "
        "the usual variable, such as OPENAI_API_KEY."
    ),
)
CLOSED_DOCUMENTS = Setting(
    name="edits.closedDocuments",
    default="auto",
    scope=Scope.WINDOW,
    choices=("auto", "editor", "disk"),
    does=(
        "How handrail edits a file that is not open. `disk`: it writes the file, byte for byte. `editor`: it "
        "edits the file through the editor. `auto`: through the editor if the editor can save a file when "
        "handrail asks for it and the file is plain UTF-8 with one kind of line ending, otherwise on disk. "
        "In a terminal, and in Emacs with `handrail.el`, the default is `disk`. A new file is written on "
        "disk too, except if all of this holds: the setting is `editor`, the editor can create files, and "
        "the new file is UTF-8 without a byte order mark. If the agent deletes a file that is not "
        "open, handrail deletes it on disk, whatever the setting is."
    ),
)
MODE = Setting(
    name="mode",
    default="edit",
    scope=Scope.WINDOW,
    choices=("edit", "ask", "plan"),
    does=(
        "What turns may do, unless you choose another mode for the conversation. `edit`: everything that is "
        "allowed. `ask` and `plan`: read and search only; `plan` asks the model for a plan."
    ),
)
BEHAVIOUR = Setting(
    name="behaviour",
    default="none",
    scope=Scope.WINDOW,
    choices=("none", "terse"),
    does="The model's tone. `none`: the model's own. `terse`: short answers without praise or follow-up "
    "questions.",
)
DIAGNOSTICS = Setting(
    name="mutations.diagnostics",
    default=True,
    scope=Scope.WINDOW,
    does=(
        "Show a diagnostic for each edit that did not land. The environment variable "
        "HANDRAIL_FILE_MUTATION_VERIFIER (0 or 1) overrides this."
    ),
)
APPROVALS = Setting(
    name="approvals",
    default=(),
    reads=rules.read,
    scope=Scope.MACHINE,
    does=(
        "Rules for what runs without a question, what handrail asks about, and what is blocked, such as "
        '`{"tool": "terminal", '
        '"match": "npm *", "verdict": "allow"}`. `tool` is `*` for all tools, `read` or `edit` for all tools '
        "that read or edit files, or the name of one tool; `match` is a pattern for the path, or for one "
        "command in a command line, such as `npm test` in `cd app && npm test`; `verdict` is `allow`, `ask` "
        "or `block`. The last rule that matches decides. Without rules, the agent may read and edit files in "
        "the workspace, and run commands in the sandbox. handrail asks about protected files (keys, settings "
        "of editors and agents, CI definitions), changes of files that other programs run later or take "
        "settings from (such as `.bashrc`), anything outside the workspace, commands that need more access, "
        "and commands in the background. Without the bubblewrap sandbox (see `handrail.sandbox`), it also "
        "asks about every command that it does not know to be read-only. No rule lets the agent's file tools "
        "read or edit version control's own files (such as `.git`) or handrail's (`.handrail`). But a rule "
        "can allow a command that changes version control's files, such as `git commit`."
    ),
)
OUTPUT_LIMIT = Setting(
    name="output.limit",
    default=truncate.LIMIT_CHARS,
    scope=Scope.WINDOW,
    bounds=(2_000, 1_000_000),
    does=(
        "The model reads at most this many characters of a tool's result. If the result is longer, the model "
        "gets the beginning (40 % of this number) and the end (60 %), and can read and search the rest."
    ),
)
SANDBOX = Setting(
    name="sandbox",
    default="auto",
    scope=Scope.MACHINE,
    choices=("auto", "ask", "off"),
    does=(
        "The sandbox for commands on Linux: bubblewrap or, if that cannot run, Landlock. `auto`: in the "
        "sandbox, commands have no network and do not see files that usually hold keys, such as `.env`. "
        "Read-only commands cannot write; all others can write only in the workspace and in a private "
        "folder for temporary files. handrail asks before a command gets more access than that. With "
        "Landlock, it also asks before every command that it does not know to be read-only. `ask`: "
        "handrail asks before every command that it does not know to be read-only, and still runs it in "
        "the sandbox. `off`: there is no sandbox, and handrail asks before every command that it does not "
        "know to be read-only. On macOS there is no sandbox, and handrail asks as with `off`. On Windows, "
        "it asks before every command. The environment variable HANDRAIL_SANDBOX overrides this."
    ),
)
TERMINAL_SAVE = Setting(
    name="terminal.save",
    default="ask",
    scope=Scope.WINDOW,
    choices=("ask", "always", "never"),
    does=(
        "This setting needs an editor that can save documents for handrail, such as VS Code, or Emacs with "
        "`handrail.el`; in other editors, nothing is saved, and the model is told. It decides whether "
        "handrail saves documents with your unsaved changes (alone, or together with the agent's) before "
        "a command that may change files. `ask`: it asks you first. `always`: it saves them. `never`: it "
        "does not save them, and tells the model which documents are not saved. Documents in which all "
        "unsaved changes are the agent's are always saved. Before a read-only command it saves nothing."
    ),
)
CONTEXT_WINDOW = Setting(
    name="context.window",
    default=0,
    scope=Scope.MACHINE,
    bounds=(0, 10_000_000),
    does=(
        "The size of the model's context in tokens, including its answer. 0: the size that its server "
        "reports (Ollama, vLLM, LM Studio, llama.cpp) or that is known for the model, otherwise 128,000. For "
        "the editor's own models (`editor`), it is 64,000 until the editor reports a size with an answer. "
        "handrail summarises a conversation before it outgrows this size. If you set a number, Ollama loads "
        "an `ollama:NAME` model with a context of this size; with 0, Ollama chooses the size, often only "
        "4,096."
    ),
)
CONTEXT_RESERVE = Setting(
    name="context.reserve",
    default=0,
    scope=Scope.MACHINE,
    bounds=(0, 1_000_000),
    does=(
        "The number of tokens of the context that stay free for the answer. When less is left, the "
        "conversation is summarised. 0: a quarter of the context."
    ),
)
OUTPUT_TOKENS = Setting(
    name="output.maxTokens",
    default=0,
    scope=Scope.MACHINE,
    bounds=(0, 1_000_000),
    does="The maximum number of tokens in one answer of the model. 0: the server's own limit.",
)
REASONING = Setting(
    name="reasoning",
    default="auto",
    scope=Scope.MACHINE,
    choices=("auto", "off", "low", "medium", "high"),
    does=(
        "How much the model thinks before it answers: `low`, `medium`, `high`, `off` (as little as possible) "
        "or `auto` (the model's default). Models that cannot reason ignore this; a server may refuse it."
    ),
)
PICTURES = Setting(
    name="pictures",
    default="auto",
    scope=Scope.MACHINE,
    choices=("auto", "always", "never"),
    does=(
        "Whether the model is shown pictures. `auto`: only if handrail knows from the model's name that the "
        "model accepts them. `always`: even if handrail does not know that. `never`: not at all. "
        "The editor's own models (`editor`) are never shown pictures."
    ),
)
TERMINAL_TIMEOUT = Setting(
    name="terminal.timeout",
    default=120,
    scope=Scope.WINDOW,
    bounds=(1, 3_600),
    does=(
        "The number of seconds after which a command is stopped, with everything that it started, unless "
        "the model asks for another limit. Commands in the background have no such limit."
    ),
)
TERMINAL_LONGEST = Setting(
    name="terminal.maxTimeout",
    default=600,
    scope=Scope.WINDOW,
    bounds=(1, 86_400),
    does=(
        "The maximum number of seconds that the model may ask for when it runs a command. If "
        "`handrail.terminal.timeout` is larger, its value is the maximum. Commands in the background have no "
        "such limit."
    ),
)
TERMINAL_ENVIRONMENT = Setting(
    name="terminal.environment",
    default=(),
    reads=environment.read,
    scope=Scope.MACHINE,
    does=(
        "Names of environment variables, such as `MY_TOOL_HOME` or the pattern `MY_TOOL_*`, for commands to "
        "inherit in addition to the usual ones, such as paths, language, terminal and proxies. Commands that "
        "handrail knows to be read-only do not inherit them. All other commands do, even if they run in the "
        "sandbox without a question. A pattern never matches a variable that may hold a key (`*KEY*`, "
        "`*TOKEN*`, `*PASS*` and the like) or that changes how programs start; write such a name in full. "
        "Even then, no command inherits a variable that handrail knows to hold the key of a model it uses."
    ),
)
CHECKS = Setting(
    name="checks",
    default=(),
    reads=checks.read,
    scope=Scope.MACHINE,
    does=(
        "Commands that check the documents that a turn edits, such as "
        f"`{checks.EXAMPLE}`. "
        "They are for a terminal, and for editors that do not share their diagnostics with handrail: no "
        "check runs in VS Code, or in Neovim and Emacs with handrail's plugin. The model is told about "
        "problems that did not exist before its edits. `{files}` stands for the paths of the documents. "
        "`format` says what the command prints: `lines` (`FILE:LINE:COLUMN: message` and the like) or "
        "`sarif`. `files` has patterns, such as `*.py` or `src/**`, for the paths of the documents to check. "
        "Without the sandbox bubblewrap, unsaved text is checked only if there is also a field `stdin`. Its "
        "value is a command that reads one document from its standard input; `{file}` is its path. A "
        "check runs in the sandbox, where it cannot write, not even a cache; without a sandbox, a rule of "
        "`handrail.approvals` must allow its command. The page *Models* of the documentation says more."
    ),
)

CHECKPOINTS_SIZE = Setting(
    name="checkpoints.maxSize",
    default=1_000,
    scope=Scope.MACHINE,
    bounds=(10, 1_000_000),
    does=(
        "How many megabytes the checkpoints of a workspace may use. Before it writes more, handrail removes "
        "the oldest checkpoints of turns and quick fixes, but never those of restores and undos."
    ),
)
CHECKPOINTS_AGE = Setting(
    name="checkpoints.maxAge",
    default=30,
    scope=Scope.MACHINE,
    bounds=(1, 36_500),
    does=(
        "The number of days after which the checkpoint of a turn or a quick fix is removed. If a document "
        "gets no new change for that many days, its pending changes count as kept."
    ),
)

CHECKPOINTS_REQUIRED = Setting(
    name="checkpoints.required",
    default=True,
    scope=Scope.MACHINE,
    does=(
        "What handrail does if it cannot take a checkpoint first. `true`: it does not change the file or run "
        "the command. `false`: it continues without the checkpoint, with a warning that the change "
        "cannot be undone. (The setting does not apply to files that no checkpoint covers.)"
    ),
)

QUESTIONS_TIMEOUT = Setting(
    name="questions.timeout",
    default=60,
    scope=Scope.MACHINE,
    bounds=(1, 10_080),
    does=(
        "The number of minutes that a question waits for your answer. After that, a request for permission "
        "counts as a no, and the turn continues without an answer to a question of the model."
    ),
)
DOCUMENTS = Setting(
    name="documents",
    default="workspace",
    scope=Scope.MACHINE,
    choices=("workspace", "state"),
    does=(
        "Where handrail writes the documents that it shows, such as conversations and questions. "
        "`workspace`: in the folder `.handrail`, which git ignores and the agent cannot use. `state`: in "
        "handrail's state folder, which is outside the workspace (on Linux `~/.local/state/handrail`). Some "
        "editors do not connect documents there to the server, so that their code actions are missing."
    ),
)

REVIEW_MODE = Setting(
    name="review.mode",
    default="pending",
    scope=Scope.WINDOW,
    choices=("pending", "keep", "off"),
    does=(
        "What happens to the agent's changes. `pending`: you can keep or undo each one at its place, as "
        "long as `handrail.checkpoints.maxAge` allows. `keep`: each change counts as kept immediately; so do "
        "the changes that are pending when you choose `keep`. `off`: handrail tracks no new changes, and "
        "hides those that are pending until you choose `pending` again."
    ),
)
REVIEW_MARKS = Setting(
    name="review.marks",
    default=False,
    scope=Scope.WINDOW,
    does=(
        "Show pending changes as diagnostics of severity *hint*, for editors in which diagnostics are the "
        "only marks that you can list and step through. The diagnostics of failed edits do not depend on "
        "this."
    ),
)
PROMPTS_ON_SAVE = Setting(
    name="prompts.onSave",
    default=False,
    scope=Scope.MACHINE,
    does=(
        "Send comments that begin with `handrail:` when you save the document, each comment once. Only "
        "comments that you typed since you opened the document are sent, never those that were already in "
        "the file, or that the agent or another program wrote. If your editor saves automatically, a comment "
        "may be sent before you have finished it."
    ),
)
FOLLOW = Setting(
    name="follow",
    default=False,
    scope=Scope.WINDOW,
    does=(
        "Show each place in the editor as the agent edits it, without taking the focus. This needs an "
        "editor that can show a document when a server asks for it."
    ),
)

# All settings, in the order in which they are defined above.
SETTINGS = tuple(each for each in list(globals().values()) if isinstance(each, Setting))
