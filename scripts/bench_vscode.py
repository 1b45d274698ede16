"""
What the extension costs VS Code: its start and its server's, typing, a long conversation, a streamed answer.

The marks are taken inside a real VS Code, with the extension from its VSIX: in the extension host and in the
chat view's page. Yardsticks of the same run are a bare pygls server that the extension starts in turn with
ours, and typing in the same document while nothing is pending. Times without a yardstick are in milliseconds;
of the view's tasks, those that the processor worked for them, since all of VS Code shares the processor.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import bench_lsp
from bench_review import check, failures
from handrail.core.conversation import as_json
from handrail.core.conversation.journal import Entry, Said, TurnBegun, TurnEnded
from handrail.core.conversation.message import AssistantMessage, Usage, UserMessage

ROOT = Path(__file__).resolve().parent.parent
ROUNDS, HUNKS, LINES, MESSAGES = 5, 100, 20_000, 2_000
SECONDS = 12.0  # of the answer that streams: prose first, then one long block of code
MOST_VSIX = 5_000_000
LIMIT_ACTIVATION, LIMIT_READY, LIMIT_TYPING, LIMIT_CALL, LIMIT_OPEN, LIMIT_TASK = 50, 1.5, 1.5, 50, 500, 50
CODE = ["if", "word:", "return", "other", "+", "1\n   ", "#", "and", "so", "on\n"]


def words() -> list[str]:
    """An answer of as many words as are streamed."""
    half = int(bench_lsp.TOKENS_S * SECONDS / 2)
    prose = (bench_lsp.WORDS * (half // len(bench_lsp.WORDS) + 1))[:half]
    return [*prose, "\n\n```python\n", *(CODE * (half // len(CODE)))]


def conversation() -> str:
    """The journal of a long conversation."""
    rows: list[Entry] = []
    for number in range(MESSAGES // 2):
        asked = TurnBegun(turn=f"t-{number}", prompt=f"Question {number}?", mode="edit")
        answer = f"Answer {number}: " + " ".join(bench_lsp.WORDS)
        rows += [
            asked,
            Said(message=UserMessage(text=asked.prompt)),
            Said(message=AssistantMessage(text=answer)),
            TurnEnded(turn=asked.turn, state="finished", reason=None, usage=Usage()),
        ]
    return "".join(as_json.line(row) + "\n" for row in rows)


def measured(folder: Path) -> dict[str, list[Any]]:
    """What the steps in VS Code have noted, by name."""
    sys.path.append(str(ROOT / "tests"))
    from editors import vscode_session  # noqa: PLC0415  # the tests' own

    vscode = vscode_session.editors.install_vscode()
    packed = vscode_session.pack(vscode, folder)
    check("size of the VSIX, of 5 MB", packed.stat().st_size / MOST_VSIX, 1.0)
    (folder / "installed").mkdir()
    extensions = vscode_session.install(vscode, packed, folder / "installed")
    code = vscode_session.VSCode(vscode, extensions, folder)
    code.moves = True
    (code.workspace / "large.txt").write_text("".join(f"line {at} of many\n" for at in range(LINES)))
    (folder / "bare.py").write_text(bench_lsp.BARE)
    bare = folder / "bare"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder / "bare.py"}"\n')
    bare.chmod(0o755)
    (folder / "journal.jsonl").write_text(conversation())
    ours = code.own_server["handrail.serverPath"]
    told = {
        "rounds": ROUNDS,
        "hunks": HUNKS,
        "servers": {"bare": str(bare), "ours": ours},
        "journal": str(folder / "journal.jsonl"),
        "found": str(folder / "found.json"),
    }
    model = bench_lsp.Model(words(), SECONDS)
    code.environment |= {"OPENAI_API_KEY": "none"}
    with model.serving():
        chosen = {"handrail.model": "openai-chat:m", "handrail.baseUrl": model.url}
        settings: dict[str, Any] = {**code.own_server, **chosen}
        code.run("bench", scenario=told, **settings)
    found: dict[str, list[Any]] = json.loads((folder / "found.json").read_text())
    return found


def main() -> int:
    """Measure in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        found = measured(Path(name).resolve())
    assert found["landed"] == [HUNKS] * ROUNDS, found["landed"]
    check("activation, ms of the extension's own code", found["activation"][0], LIMIT_ACTIVATION)
    ready, bare = (statistics.median(found[f"server {each}"]) for each in ("ours", "bare"))
    print(f"       the server is ready after {ready:.0f} ms, a bare one after {bare:.0f} ms")
    check("the server is ready, of a bare pygls server", ready / bare, LIMIT_READY)
    active = {
        each: statistics.median(round_["active"] for round_ in found[each]) for each in ("with", "without")
    }
    check(
        f"a key with {HUNKS} changes to review, of one without",
        active["with"] / active["without"],
        LIMIT_TYPING,
    )
    longest = statistics.median(round_["longest"] for round_ in found["with"])
    check(f"the longest call while typing with {HUNKS} changes, ms", longest, LIMIT_CALL)
    took, items = found["opened"][0]
    print(f"       a conversation of {MESSAGES:,} messages shows {items} of them at first")
    check(f"a conversation of {MESSAGES:,} messages opens, ms", took, LIMIT_OPEN)
    tasks = found["tasks"][0]
    took = max((each["took"] for each in tasks), default=0)
    print(f"       {len(tasks)} tasks of the view took over 50 ms, with waiting; the longest {took:.0f} ms")
    worked = max((each["worked"] for each in tasks), default=0)
    check("1,000 tokens a second: the longest task of the view, ms of processor time", worked, LIMIT_TASK)
    print(f"{len(failures)} bounds missed" if failures else "all within bounds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
