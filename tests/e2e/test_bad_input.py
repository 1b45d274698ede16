"""What models, users and clients send that is invalid: each gets a clear answer, and nothing is touched."""

from __future__ import annotations

import pytest

from e2e.client import UNKNOWN, Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits
from e2e.prompts import block, patch, statuses, v4a
from e2e.shadow import Shadow
from handrail.testing import answer, call, snapshot
from handrail.testing.profiles import RECORDINGS

vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])


async def test_a_prompt_without_edit_blocks(stage: Stage, editor: Editor) -> None:
    report = await editor.turn("Please make it faster.")
    assert report["state"] == "stopped"
    for words in ("SEARCH", "*** Begin Patch", "unified diff", "fence", "handrail.model"):
        assert words in report["answer"]
    assert report["outcomes"] == []
    assert Shadow(stage.state).repositories == []


async def test_an_empty_prompt(editor: Editor) -> None:
    for prompt in ("", " \n\t"):
        with expect_error(-32602, "prompt"):
            await editor.start_turn(prompt)


BAD_CALLS = {
    "unknown tool": (call("rename_all", path="a.txt"), "unknown-tool"),
    "missing argument": (call("patch", path="a.txt", new_string="x"), "bad-arguments"),
    "wrong kind": (call("write_file", path="a.txt", content=["x"]), "bad-arguments"),
    "no path": (call("write_file", content="x"), "bad-arguments"),
    "blank path": (call("patch", path=" ", old_string="one", new_string="x"), "bad-arguments"),
    "unknown mode": (call("patch", mode="magic", path="a.txt", patch="x"), "bad-arguments"),
    "path with NUL": (patch("a\0.txt", "one", "x"), "bad-arguments"),
    "another scheme": (patch("https://example.com/a.txt", "one", "x"), "bad-arguments"),
    "truncated JSON": (
        {"name": "patch", "arguments": '{"path": "a.txt", "old_string": "on'},
        "bad-arguments",
    ),
    "no object": ({"name": "patch", "arguments": "[1, 2]"}, "bad-arguments"),
    "no such file": (patch("none.txt", "one", "x"), "no-such-file"),
    "a folder": (patch("folder", "one", "x"), "bad-arguments"),
    "empty search": (patch("a.txt", "", "x"), "empty-search"),
    "nothing to change": (patch("a.txt", "one", "one"), "no-change"),
    "more than once": (patch("a.txt", "same", "x"), "ambiguous-match"),
    "half an envelope": (
        call("patch", mode="v4a", patch="*** Begin Patch\n*** Update File: a.txt"),
        "bad-patch",
    ),
    "lines left out": (call("write_file", path="a.txt", content="# ... rest of file ...\n"), "omission"),
}


@vscode
async def test_bad_calls_are_failures_that_name_what_to_do(stage: Stage, habits: Habits) -> None:
    """Each is told to the model as a result; the one good call among them lands."""
    good = patch("good.txt", "one", "1")
    answers = [answer("", bad, good) for bad, _ in BAD_CALLS.values()]
    text = "one\nsame\nsame\n"
    for name, (bad, code) in BAD_CALLS.items():
        stage.put("a.txt", text)
        stage.put("folder/b.txt", "")
        stage.put("good.txt", "one\n")
        settings = stage.script(answer("", bad, good), answer("Done."))
        editor = await stage.start(habits, settings=settings)
        report = await editor.turn(name)
        found = [each for each in statuses(report) if each != "landed"]
        assert found in ([code], []), name
        results = [each["event"] for each in editor.updates if each["event"]["kind"] == "toolResult"]
        assert len(results) == 2, name
        assert results[0]["summary"], name
        failures = [each["failure"] for each in report["outcomes"] if each["status"] == "failed"]
        assert all(each["steps"] and each["message"] for each in failures), name
        assert snapshot(stage.root) == {
            "a.txt": text.encode(),
            "folder/b.txt": b"",
            "good.txt": b"1\n",
        }, name
    assert answers


@vscode
async def test_a_model_that_cannot_be_used(stage: Stage, habits: Habits) -> None:
    for model, words in (
        ("scripted:/no/such/file", "/no/such/file"),
        ("telepathy", "telepathy"),
        ("scripted:", "scripted:"),
    ):
        editor = await stage.start(habits, settings={"model": model})
        report = await editor.turn("Edit.")
        assert report["state"] == "failed"
        assert words in report["reason"]
        assert report["outcomes"] == []
        await editor.until(
            lambda editor=editor: any(each["event"]["kind"] == "ended" for each in editor.updates)
        )


async def test_a_path_outside_is_neither_read_nor_written(stage: Stage, habits: Habits) -> None:
    secret = stage.folder / "secret.txt"
    secret.write_text("secret\n")
    calls = [call("read_file", path=path) for path in ("../secret.txt", str(secret), secret.as_uri())]
    settings = stage.script(answer("", *calls), answer("Done."))
    editor = await stage.start(habits, settings=settings)
    editor.answers = ["deny"] * 3
    report = await editor.turn("Read.")
    assert report["outcomes"] == []  # nothing was to be changed
    assert "secret\\n" not in "".join(editor.traffic)
    assert secret.read_text() == "secret\n"
    report = await editor.turn("Again.", session=report["session"])
    assert report["state"] == "failed", "the script has no third answer"


@pytest.mark.parametrize("answered", ["allow", "deny", None, UNKNOWN])
async def test_a_protected_file_is_asked_for(stage: Stage, habits: Habits, answered: str | None) -> None:
    path = stage.put(".env", "KEY=one\n")
    editor = await stage.start(habits)
    report = await stage.turn(editor, block(".env", "KEY=one", "KEY=two"), answered)
    assert statuses(report) == ["landed" if answered == "allow" else "denied"]
    (question,) = editor.questions
    assert ".env" in question["message"]
    assert "secrets such as passwords" in question["message"], "why it is asked"
    assert [each["title"] for each in question["actions"]] == ["No", "Show"]
    now = editor.desk.documents.get(path.as_uri())
    assert (now.text if now else path.read_text()) == f"KEY={'two' if answered == 'allow' else 'one'}\n"


@vscode
@pytest.mark.parametrize("answered", ["allow", "deny", None, UNKNOWN])
async def test_a_client_that_opted_in_is_asked_by_our_own_request(
    stage: Stage, habits: Habits, answered: str | None
) -> None:
    path = stage.put(".env", "KEY=one\n")
    options = {"handrail": {"approvals": True, "turnUpdates": True}}
    editor = await stage.start(habits, options=options)
    report = await stage.turn(editor, block(".env", "KEY=one", "KEY=two"), answered)
    assert statuses(report) == ["landed" if answered == "allow" else "denied"]
    (question,) = editor.questions
    assert question["turn"] == report["turn"]
    assert (question["tool"], question["subject"]) == ("patch", ".env")
    assert "secrets such as passwords" in question["detail"]
    assert question["choices"] == ["deny", "allow", "session", "always"]
    asked = [each["event"] for each in editor.updates if each["event"]["kind"] == "approval"]
    assert [each.get("choice") for each in asked] == [None, "allow" if answered == "allow" else "deny"]
    assert path.read_text() == f"KEY={'two' if answered == 'allow' else 'one'}\n"


@vscode
async def test_edits_of_one_call_land_together_or_not_at_all(stage: Stage, habits: Habits) -> None:
    """A patch that a model sends is one thing; a pasted reply has nobody to mend it, so what fits lands."""
    text = v4a("*** Update File: a.txt", "-one", "+1", "*** Update File: b.txt", "-none", "+0")
    stage.put("a.txt", "one\n")
    stage.put("b.txt", "two\n")
    editor = await stage.start(
        habits, settings=stage.script(answer("", call("patch", mode="v4a", patch=text)), answer("Done."))
    )
    report = await editor.turn("Edit.")
    assert statuses(report) == ["bad-patch", "no-match"]
    assert snapshot(stage.root) == {"a.txt": b"one\n", "b.txt": b"two\n"}
    assert report.get("checkpoint") is None
    paste = await stage.start(habits)
    assert statuses(await paste.turn(text)) == ["landed", "no-match"]
    assert snapshot(stage.root) == {"a.txt": b"1\n", "b.txt": b"two\n"}


async def test_a_checkpoint_that_cannot_be_kept_stops_the_edit(stage: Stage, habits: Habits) -> None:
    path = stage.put("a.txt", "one\n")
    blocked = stage.folder / "blocked"
    blocked.write_text("a file where the state folder should be")
    editor = await stage.start(habits, environment={"XDG_STATE_HOME": str(blocked)})
    uri = editor.desk.open(path)
    report = await editor.turn(block("a.txt", "one", "1"))
    assert statuses(report) == ["tool-failed"]
    assert editor.desk[uri] == path.read_text() == "one\n"
    assert not editor.edits


def test_the_recordings_are_those_of_these_clients() -> None:
    names = {path.name for path in RECORDINGS.iterdir()}
    assert names == {
        "vscode-1.139-languageclient-11.json",
        "neovim-0.11.4.json",
        "emacs-28.2-eglot-1.9.json",
        "emacs-28.2-lsp-mode-8.0.0.json",
        "headless-from-source.json",
        "helix-from-source.json",
    }
