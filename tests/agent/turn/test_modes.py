"""Calls that the mode of a turn does not allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench import Bench
from handrail.core.conversation.prompt import Mode
from handrail.testing import answer, call, lay_out

PATCH = call("patch", path="a.txt", old_string="one", new_string="two")


async def refused(bench: Bench, mode: Mode) -> list[str]:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(answer("", PATCH, call("terminal", command="ls")), answer("Done."))
    await bench.host.wait(bench.host.start("Do it.", None, mode=mode).id)
    assert (bench.root / "a.txt").read_bytes() == b"one\n"
    return bench.texts()


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.PLAN])
async def test_the_mode_in_which_the_agent_only_reads_is_named(bench: Bench, mode: Mode) -> None:
    for text in await refused(bench, mode):
        assert text.splitlines() == [
            "[TOOL_ERROR] blocked: Nothing was run or changed, because the mode of this turn is "
            f"`{mode}`, in which the agent may only read.",
            "1. Use only tools that read, then answer.",
            "2. For anything else, the user must choose the mode `edit`.",
        ]


async def test_that_the_workspace_is_not_trusted_is_named(bench: Bench) -> None:
    bench.terms = replace(bench.terms, is_untrusted=True)
    for text in await refused(bench, Mode.ASK):
        assert text.splitlines() == [
            "[TOOL_ERROR] blocked: Nothing was run or changed, because in a workspace that is not trusted, "
            "the agent may only read.",
            "1. Use only tools that read, then answer.",
            "2. For anything else, the user must trust the workspace, and the mode must be `edit`.",
        ]
