"""The mode that was chosen for a session also holds for a run, unless its command line names another one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.test_chat import vscode
from e2e.test_chat_commands import modes, reading
from handrail.testing import answer, script


@vscode
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "ask"),
        (("--mode", "edit"), "edit"),
        (("--set", "handrail.mode=plan"), "plan"),
        (("--mode", "edit", "--set", "mode=plan"), "plan"),
    ],
    ids=["none", "--mode", "--set", "both"],
)
async def test_of_a_run(stage: Stage, habits: Habits, options: Sequence[str], expected: str) -> None:
    editor = await stage.start(habits, settings=stage.script(answer("One.")))
    await reading(editor)
    (session,) = await editor.request("session.list")
    await editor.leave()
    model = script(stage.folder / "again.json", answer("One."), answer("Two."))
    words = ["run", "--session", session["session"], "--workspace", str(stage.root), "--model", model]
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "handrail", *words, *options, "Second."],
        env={**os.environ, "XDG_STATE_HOME": str(stage.state)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert modes(stage) == ["ask", expected]
