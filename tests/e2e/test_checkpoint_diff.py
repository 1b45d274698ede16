"""Comparing checkpoints, going back over several turns, removing and checking them, through the protocol."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote, unquote, urlsplit

import pytest

from adapters.kit import shadow, step, targets
from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import NEOVIM, VSCODE, Habits
from e2e.prompts import block, fence, v4a
from handrail.adapters.files.files import path_of
from handrail.testing import snapshot

pytestmark = pytest.mark.any_client


async def opened(editor: Editor, uri: str) -> str:
    """What an editor shows that opens the document *uri*: a virtual one if it knows of those, else a file."""
    if editor.habits.capabilities["workspace"].get("textDocumentContent") is not None:
        found = await editor.call("workspace/textDocumentContent", {"uri": respelled(uri)})
        return str(found["text"])
    path = path_of(uri)
    assert path is not None
    return path.read_text()


async def test_a_diff_says_what_the_turn_changed_and_a_document_shows_it(
    stage: Stage, editor: Editor
) -> None:
    stage.put("a.txt", "one\ntwo\nthree\n")
    report = await editor.turn(block("a.txt", "two", "TWO"))
    found = await editor.request("checkpoint.diff", checkpoint=report["checkpoint"])
    assert found["text"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
    assert await opened(editor, found["uri"]) == found["text"]
    await editor.turn(block("a.txt", "three", "three\nfour"))
    now = await editor.request("checkpoint.diff", checkpoint=report["checkpoint"], against="now")
    assert now["text"].endswith(" one\n-two\n+TWO\n three\n+four\n")
    assert await opened(editor, now["uri"]) == now["text"]


def respelled(uri: str) -> str:
    """As VS Code spells it: each part is decoded, and all but letters, digits and a few signs encoded."""
    parts = urlsplit(uri)
    assert parts.scheme == "handrail"
    query = quote(unquote(parts.query), safe="")
    return f"handrail:{quote(unquote(parts.path))}" + (f"?{query}" if query else "")


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
@pytest.mark.parametrize("name", ["a b.txt", "100%20 & more=1.txt"])
async def test_the_diff_of_one_document_is_shown_as_one(stage: Stage, habits: Habits, name: str) -> None:
    editor = await stage.start(habits)
    stage.put("a.txt", "one\n")
    stage.put(name, "one\n")
    change = ("-one", "+ONE")
    report = await editor.turn(v4a("*** Update File: a.txt", *change, f"*** Update File: {name}", *change))
    uri = (stage.root / name).as_uri()
    found = await editor.request("checkpoint.diff", checkpoint=report["checkpoint"], uri=uri)
    assert found["text"] == f"--- a/{name}\n+++ b/{name}\n@@ -1,1 +1,1 @@\n-one\n+ONE\n"
    assert await opened(editor, found["uri"]) == found["text"]
    with expect_error(-32602, "is not one of handrail's documents"):
        await opened(editor, found["uri"].partition("?")[0] + "?against=now")


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
async def test_between_two_checkpoints_and_back_over_both(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits)
    stage.put("a.txt", "one\n")
    stage.put("kept.txt", "kept\n")
    first = await editor.turn(block("a.txt", "one", "ONE"))
    second = await editor.turn(block("a.txt", "ONE", "One") + "\n" + fence("made.txt", "made\n"))
    ids = {"checkpoint": first["checkpoint"], "against": second["checkpoint"]}
    between = await editor.request("checkpoint.diff", **ids)
    assert "-one\n+ONE\n" in between["text"]
    assert "made.txt" not in between["text"]
    only = await editor.request("checkpoint.diff", checkpoint=first["checkpoint"], against="now")
    assert "-one\n+One\n" in only["text"]
    assert "+++ b/made.txt" in only["text"]
    uri = (stage.root / "made.txt").as_uri()
    made = await editor.request("checkpoint.diff", checkpoint=first["checkpoint"], against="now", uri=uri)
    assert made["text"] == "--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1,1 @@\n+made\n"

    restored = await editor.request("checkpoint.restore", checkpoint=first["checkpoint"], following=True)
    assert restored["conflicts"] == []
    assert snapshot(stage.root) == {"a.txt": b"one\n", "kept.txt": b"kept\n"}
    await editor.request("checkpoint.restore", checkpoint=restored["checkpoint"])
    assert snapshot(stage.root) == {"a.txt": b"One\n", "kept.txt": b"kept\n", "made.txt": b"made\n"}


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
async def test_checkpoints_are_checked_and_removed(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits)
    stage.put("a.txt", "one\n")
    first = await editor.turn(block("a.txt", "one", "ONE"))
    second = await editor.turn(block("a.txt", "ONE", "One"))
    assert await editor.request("checkpoint.verify") == {"checkpoints": 2, "problems": []}
    with expect_error(-32803, "no checkpoint"):
        await editor.request("checkpoint.prune", checkpoints=["t-9"])
    pruned = await editor.request("checkpoint.prune", checkpoints=[first["checkpoint"]])
    assert pruned["removed"] == [first["checkpoint"]]
    assert pruned["bytesUsed"] > 0
    assert [each["id"] for each in await editor.request("checkpoint.list")] == [second["checkpoint"]]
    with expect_error(-32803, "no checkpoint"):
        await editor.request("checkpoint.diff", checkpoint=first["checkpoint"])


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
async def test_an_empty_list_removes_nothing_and_no_list_what_is_too_old(
    stage: Stage, habits: Habits
) -> None:
    stage.put("a.txt", "one\n")
    long_ago = shadow(stage.state, stage.root, clock=lambda: datetime.now(UTC) - timedelta(days=31))
    await long_ago.ensure(step(turn="t-1"), targets(stage.root / "a.txt"))
    editor = await stage.start(habits)
    pruned = await editor.request("checkpoint.prune", checkpoints=[])
    assert pruned["removed"] == []
    assert pruned["bytesUsed"] > 0
    assert (await editor.request("checkpoint.prune"))["removed"] == ["t-1"]


@pytest.mark.parametrize("habits", [NEOVIM], ids=["neovim"])
async def test_a_dry_run_tells_the_user_nothing(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits)
    uri = editor.desk.open(stage.put("a.txt", "one\n"))
    report = await editor.turn(block("a.txt", "one", "ONE"))
    editor.desk.type(uri, "mine", instead="ONE")
    editor.desk.tell()
    for dry_run in (True, False):
        wanted = {"checkpoint": report["checkpoint"], "dryRun": dry_run}
        restored = await editor.request("checkpoint.restore", **wanted)
        assert len(restored["conflicts"]) == 1
        told = [each.message for each in editor.messages if "a.txt was not restored" in each.message]
        assert bool(told) is not dry_run
