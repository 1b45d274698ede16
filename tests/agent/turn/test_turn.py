"""
The agent with the real disk, the real shadow repository and scripted answers; no editor in between.

What needs an editor is in `e2e`; what is a pure decision is in `specs`.
"""

import asyncio
import json
from pathlib import Path

import pytest

from bench import Bench, Never, Together
from handrail.adapters.models.scripted import Scripted
from handrail.agent.turns import KEPT_TURNS, UnknownId
from handrail.core.documents.change import Status
from handrail.core.engine import engine
from handrail.core.failure import Code
from handrail.core.ledger.report import Ended, State, Superseded
from handrail.core.patches import notations
from handrail.core.policy import rules
from handrail.ports import DENY, CheckpointError, Terms
from handrail.testing import answer, call, lay_out, snapshot


def replace(path: str, old: str, new: str) -> dict[str, object]:
    return call("patch", path=path, old_string=old, new_string=new)


async def test_a_restore_keeps_what_was_typed_between_two_steps(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\nthree\nfour\nfive\n"})
    file = bench.root / "a.txt"
    bench.says(
        answer("", replace("a.txt", "one", "ONE")),
        answer("", replace("a.txt", "three", "THREE")),
        answer("Done."),
        acts={1: lambda: file.write_bytes(file.read_bytes().replace(b"five", b"five, typed"))},
    )
    report = await bench.turn()
    assert file.read_bytes() == b"ONE\ntwo\nTHREE\nfour\nfive, typed\n"

    assert report.checkpoint is not None
    restored = await bench.restore(report.checkpoint)

    assert file.read_bytes() == b"one\ntwo\nthree\nfour\nfive, typed\n"
    assert not restored.conflicts


async def test_a_restore_of_lines_typed_over_between_two_steps_is_a_conflict(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\nthree\n"})
    file = bench.root / "a.txt"
    bench.says(
        answer("", replace("a.txt", "one", "ONE")),
        answer("", replace("a.txt", "three", "THREE")),
        answer("Done."),
        acts={1: lambda: file.write_bytes(file.read_bytes().replace(b"ONE", b"ONE, typed"))},
    )
    report = await bench.turn()
    assert report.checkpoint is not None
    restored = await bench.restore(report.checkpoint)
    assert [conflict.uri for conflict in restored.conflicts] == [file.as_uri()]
    assert file.read_bytes() == b"ONE, typed\ntwo\nTHREE\n"


async def test_a_restore_can_be_taken_back_and_a_step_restored_alone(bench: Bench) -> None:
    before = {"a.txt": b"one\r\ntwo\r\n", "b.txt": b"b\n"}
    lay_out(bench.root, before)
    bench.says(
        answer("", replace("a.txt", "one", "ONE")),
        answer("", replace("a.txt", "two", "TWO"), call("write_file", path="new/c.txt", content="c\n")),
        answer("Done."),
    )
    report = await bench.turn()
    after = snapshot(bench.root)
    assert report.checkpoint is not None

    restored = await bench.restore(report.checkpoint)
    assert snapshot(bench.root) == before
    assert not (bench.root / "new").exists()
    await bench.restore(restored.checkpoint)
    assert snapshot(bench.root) == after
    await bench.restore(f"{report.checkpoint}.2")
    assert snapshot(bench.root) == before | {"a.txt": b"ONE\r\ntwo\r\n"}


async def test_every_call_has_one_result_in_call_order(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n", ".git/config": b"[core]\n", ".env": b"KEY=1\n"})
    bench.approver.says = DENY
    outside = bench.root.parent.resolve() / "outside.txt"
    cut = {"name": "patch", "arguments": '{"path": "a.txt", "old_st'}
    bench.says(
        answer(
            "",
            call("read_file", path="a.txt"),
            call("no_such_tool"),
            cut,
            replace(".git/config", "core", "x"),
            replace("../outside.txt", "a", "b"),
            replace(".env", "1", "2"),
            replace("a.txt", "one", "ONE"),
            call("patch", mode="v4a", patch="nonsense"),
            call("read_file", path="missing.txt"),
        ),
        answer("Done."),
    )
    report = await bench.turn()
    codes = ["", "unknown-tool", "bad-arguments", "blocked", "denied", "denied", "", "bad-patch"]
    assert bench.results() == [(f"c1-{n}", code) for n, code in enumerate([*codes, "no-such-file"], 1)]
    assert (bench.root / "a.txt").read_bytes() == b"ONE\n"
    assert (bench.root / ".git/config").read_bytes() == b"[core]\n"
    asked = sorted(question.subject for question in bench.approver.asked)  # at once
    assert asked == [".env", str(outside)]
    (checkpoint,) = await bench.repo.list()
    assert [path.path for path in checkpoint.paths] == ["a.txt"]
    assert report.state is State.FINISHED


async def test_a_cancelled_turn_ends_and_leaves_a_history_that_is_well_formed(bench: Bench) -> None:
    never = Never()
    bench.provider = never
    turn = bench.host.start("Do it.", None)
    await never.asked.wait()
    await bench.host.cancel(turn.id)
    report = await bench.host.wait(turn.id)
    assert (report.state, report.reason) == (State.CANCELLED, None)
    assert bench.events[-1] == Ended(state=State.CANCELLED, reason=report.reason)
    bench.says(answer("Again."))
    assert (await bench.turn(turn.session)).answer == "Again."


async def test_without_a_checkpoint_nothing_is_changed(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.state.write_bytes(b"not a folder")
    bench.says(answer("", replace("a.txt", "one", "ONE")), answer("Sorry."))
    report = await bench.turn()
    (outcome,) = report.outcomes
    assert outcome.failure is not None
    assert outcome.failure.code is Code.TOOL_FAILED
    assert (bench.root / "a.txt").read_bytes() == b"one\n"
    assert report.checkpoint is None

    bench.state.unlink()
    bench.says(answer("", replace("a.txt", "one", "ONE")), answer("Done."))
    report = await bench.turn()
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert (bench.root / "a.txt").read_bytes() == b"one\n"


async def test_an_edit_that_does_not_fit_leaves_no_checkpoint(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(answer("", replace("a.txt", "nowhere to be found", "x")), answer("Done."))
    report = await bench.turn()
    assert [outcome.status for outcome in report.outcomes] == [Status.FAILED]
    assert (await bench.repo.list(), report.checkpoint) == ((), None)


async def test_one_bad_hunk_holds_the_whole_call_back_unless_it_is_partial(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n"})
    blocks = "\n".join(
        f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"
        for old, new in (("one", "ONE"), ("quite another text", "x"))
    )
    whole = call("patch", mode="search_replace", path="a.txt", patch=blocks)
    partial = call("patch", mode="search_replace", path="a.txt", patch=blocks, partial=True)
    bench.says(answer("", whole), answer("", partial), answer("Done."))
    report = await bench.turn()
    assert [(outcome.status.value, outcome.mutation.hunk.number) for outcome in report.outcomes] == [
        ("failed", 1),
        ("failed", 2),
        ("landed", 1),
        ("failed", 2),
    ]
    assert (bench.root / "a.txt").read_bytes() == b"ONE\ntwo\n"
    (known,) = bench.host.ledger.open
    assert (known.mutation.hunk.number, known.attempts) == (2, 2)


async def test_a_failure_that_is_mended_later_is_told_as_superseded(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"def area():\n    return 1\n"})
    bench.says(
        answer("", replace("a.txt", "    return 2 * 2", "    return 3")),
        answer("", replace("a.txt", "    return 1", "    return 3")),
        answer("Done."),
    )
    report = await bench.turn()
    failed, landed = report.outcomes
    assert (failed.status, landed.status) == (Status.FAILED, Status.LANDED)
    assert Superseded(failure=failed.mutation.id) in bench.events
    assert not bench.host.ledger.open


async def test_a_lost_model_ends_the_turn_and_nothing_else(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(answer("", replace("a.txt", "one", "ONE")))
    report = await bench.turn()
    assert report.state is State.FAILED
    assert "needs one more" in (report.reason or "")
    assert [outcome.status for outcome in report.outcomes] == [Status.LANDED]
    assert (bench.root / "a.txt").read_bytes() == b"ONE\n"


async def test_only_the_latest_reports_are_kept(bench: Bench) -> None:
    """A server that lives for weeks must not hold every document that its turns ever touched."""
    never = bench.provider = Never()
    running = bench.host.start("Do it.", None)
    await never.asked.wait()
    bench.says(answer("Done."))
    first = await bench.turn()
    others = [await bench.turn() for _ in range(KEPT_TURNS)]
    with pytest.raises(UnknownId, match=f"{first.turn}.*last {KEPT_TURNS}"):
        await bench.host.wait(first.turn)
    for report in others:
        assert await bench.host.wait(report.turn) == report
    await bench.host.cancel(running.id)
    assert (await bench.host.wait(running.id)).state is State.CANCELLED, "it ended last"
    assert len(bench.host.turns) == KEPT_TURNS


async def test_all_turns_are_stopped_at_once(bench: Bench) -> None:
    """None goes on while the end of another is waited for."""
    together = bench.provider = Together(2)
    turns = [bench.host.start("Do it.", None) for _ in range(2)]
    await together.asked.wait()
    async with asyncio.timeout(10):
        await bench.host.close()
    assert [(await bench.host.wait(turn.id)).state for turn in turns] == [State.CANCELLED] * 2


async def test_a_turn_that_is_stopped_at_once_ends_in_order(bench: Bench) -> None:
    turn = bench.host.start("Do it.", None)
    await bench.host.cancel(turn.id)
    assert (await bench.host.wait(turn.id)).state is State.CANCELLED


async def test_an_unknown_id_is_said_so(bench: Bench) -> None:
    with pytest.raises(UnknownId, match="t-9"):
        await bench.host.wait("t-9")
    with pytest.raises(UnknownId, match="s-9"):
        bench.host.start("x", "s-9")
    with pytest.raises(CheckpointError, match="t-9"):
        await bench.restore("t-9")


def test_a_script_that_is_no_script_is_a_provider_error(tmp_path: Path) -> None:
    for wrong in ("nonsense", "{}", json.dumps(["text"]), json.dumps([{"stop": "never"}])):
        (tmp_path / "s.json").write_text(wrong, encoding="utf-8")

        async def ask() -> None:
            async for _ in Scripted(tmp_path / "s.json").complete([], []):
                pass

        with pytest.raises(Exception, match=r"The script|of the script"):
            asyncio.run(ask())


async def test_what_landed_of_a_call_that_fails_half_way_is_taken_back(bench: Bench) -> None:
    files = {"a.txt": b"one\r\ntwo\r\n", "gone.txt": b"\xef\xbb\xbfto go\n", "my folder/last.txt": b"x\n"}
    lay_out(bench.root, files)
    (bench.root / "gone.txt").chmod(0o750)
    (bench.root / "my folder/last.txt").chmod(0o444)  # planned well, refused when it is to be written
    sections = (
        "*** Update File: a.txt\n one\n-two\n+TWO\n",
        "*** Add File: new/made.txt\n+made\n",
        "*** Delete File: gone.txt\n",
        "*** Update File: my folder/last.txt\n-x\n+y\n",
    )
    patch = f"*** Begin Patch\n{''.join(sections)}*** End Patch\n"
    bench.says(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    before = snapshot(bench.root)
    report = await bench.turn()
    codes = [outcome.failure.code for outcome in report.outcomes if outcome.failure is not None]
    assert codes == [Code.BAD_PATCH] * 3 + [Code.EDIT_REJECTED]
    for outcome in report.outcomes[:3]:
        assert outcome.failure is not None
        assert outcome.failure.message == (
            "This edit landed, but the edit of my folder/last.txt, which was sent with it, did not, so this "
            "one was reverted."
        )
    assert snapshot(bench.root) == before
    assert not (bench.root / "new").exists()
    assert (bench.root / "gone.txt").stat().st_mode & 0o777 == 0o750


async def test_a_partial_call_keeps_what_landed(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n", "last.txt": b"x\n"})
    (bench.root / "last.txt").chmod(0o444)
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n-one\n+ONE\n*** Update File: last.txt\n-x\n+y\n"
        "*** End Patch\n"
    )
    bench.says(answer("", call("patch", mode="v4a", patch=patch, partial=True)), answer("Done."))
    report = await bench.turn()
    assert [outcome.status for outcome in report.outcomes] == [Status.LANDED, Status.FAILED]
    assert (bench.root / "a.txt").read_bytes() == b"ONE\n"


@pytest.mark.parametrize(
    ("section", "code"),
    [
        ("*** Add File: folder\n+x\n", Code.BAD_ARGUMENTS),
        ("*** Add File: fresh/\n+x\n", Code.BAD_ARGUMENTS),
        ("*** Update File: latin.txt\n-caf\u00e9\n+\u4e2d\n", Code.BAD_ENCODING),
        ("*** Add File: surrogate.txt\n+\ud800\n", Code.BAD_ENCODING),
    ],
    ids=["a-folder", "a-name-of-a-folder", "not-in-its-encoding", "a-lone-surrogate"],
)
async def test_what_cannot_be_written_is_refused_before_the_checkpoint(
    bench: Bench, section: str, code: Code
) -> None:
    files = {
        "folder/a.txt": b"a\n",
        "latin.txt": b"caf\xe9\n",
        ".editorconfig": b"root = true\n[latin.txt]\ncharset = latin1\n",
    }
    lay_out(bench.root, files)
    before = snapshot(bench.root)
    patch = f"*** Begin Patch\n{section}*** End Patch\n"
    bench.says(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    report = await bench.turn()
    assert [outcome.failure.code for outcome in report.outcomes if outcome.failure] == [code]
    assert snapshot(bench.root) == before
    assert report.checkpoint is None


async def test_a_file_whose_only_edit_does_not_fit_is_not_moved(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    for partial in (False, True):
        patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n-two\n+2\n*** End Patch\n"
        bench.says(answer("", call("patch", mode="v4a", patch=patch, partial=partial)), answer("Done."))
        await bench.turn()
        assert [path.name for path in bench.root.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("hunk", "name"), [("", "a.txt (now b/c.txt)"), ("-one\n+1\n", "a.txt (now b/c.txt), hunk 1")]
)
async def test_the_model_is_told_where_a_document_was_moved_to(bench: Bench, hunk: str, name: str) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    patch = f"*** Begin Patch\n*** Update File: a.txt\n*** Move to: b/c.txt\n{hunk}*** End Patch\n"
    bench.says(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    report = await bench.turn()
    assert [each.document.path for each in report.outcomes] == ["b/c.txt"]
    assert bench.texts() == [f"Landed: {name}."]


async def test_a_question_about_a_move_shows_paths(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.terms = asking_about_edits()
    patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: my b/é.txt\n-one\n+two\n*** End Patch\n"
    bench.says(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    await bench.turn()
    (asked,) = bench.approver.asked
    assert "+++ b/my b/é.txt" in asked.diff
    assert "file:" not in asked.diff


def asking_about_edits() -> Terms:
    found = rules.read([{"tool": "edit", "match": "**", "verdict": "ask"}])
    assert isinstance(found, tuple)
    return Terms(rules=found)


async def test_a_turn_finds_the_file_that_a_patch_means(bench: Bench) -> None:
    lay_out(bench.root, {"src/a.py": b"one\n", "b.py": b"one\n", "c.py": b"one\n", "d.py": b"one\n"})
    diffs = (("a/a.py", "b/a.py"), ("b.py", "b.py.new"), ("c.py", "d.py"))
    calls = [
        call("patch", mode="udiff", patch=f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n-one\n+two\n")
        for old, new in diffs
    ]
    bench.says(answer("", *calls), answer("Done."))
    report = await bench.turn()
    assert [outcome.status for outcome in report.outcomes] == [Status.LANDED, Status.LANDED, Status.FAILED]
    assert report.outcomes[0].notes == ("The patch names a.py; it was applied to src/a.py.",)
    assert (bench.root / "src/a.py").read_bytes() == (bench.root / "b.py").read_bytes() == b"two\n"
    assert (bench.root / "c.py").read_bytes() == (bench.root / "d.py").read_bytes() == b"one\n"


SECTIONS = (
    "*** Add File: a.txt\n+one\n",
    "*** Add File: a.txt\n",
    "*** Add File: a.txt/\n+one\n",
    "*** Delete File: a.txt\n",
    "*** Update File: a.txt\n-one\n+two\n",
    "*** Update File: a.txt\n@@\n+two\n",
    "*** Update File: a.txt\n*** Move to: b.txt\n",
    "*** Update File: a.txt\n*** Move to: c.txt\n-one\n+two\n",
)


@pytest.mark.parametrize("before", [None, b"", b"\xef\xbb\xbf", b"one\n", b"\xff\xfeo\x00"])
@pytest.mark.parametrize("section", SECTIONS)
async def test_a_turn_and_the_bare_engine_do_the_same(
    bench: Bench, section: str, before: bytes | None
) -> None:
    files = {"c.txt": b"three\n"} | ({} if before is None else {"a.txt": before})
    lay_out(bench.root, files)
    patch = f"*** Begin Patch\n{section}*** End Patch\n"
    done = engine.carry_out(engine.Patch(notation=notations.V4A, files=files, patch=patch))
    bench.says(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    (outcome,) = (await bench.turn()).outcomes
    codes = [failure and failure.code for failure in (outcome.failure, done.failure)]
    assert (outcome.status, codes[0]) == (done.status, codes[1])
    there = {path: raw for path, raw in {**files, **done.files}.items() if raw is not None}
    assert {path.name: path.read_bytes() for path in bench.root.iterdir()} == there


async def test_a_file_that_is_empty_may_be_added(bench: Bench) -> None:
    lay_out(bench.root, {"empty.txt": b""})
    patch = "*** Begin Patch\n*** Add File: empty.txt\n+one\n*** End Patch\n"
    bench.says(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    report = await bench.turn()
    assert [outcome.status for outcome in report.outcomes] == [Status.LANDED]
    assert (bench.root / "empty.txt").read_bytes() == b"one\n"


CHARSETS = b"""root = true
[latin/*]
charset = latin1
[wide/*]
charset = utf-16le
[marked/*]
charset = utf-8-bom
[odd/*]
charset = koi8-r
"""

NEW = ("one", "two", "three", "four")


def edits(*sections: str) -> dict[str, object]:
    return call(
        "patch", mode="v4a", patch="".join(f"*** Begin Patch\n{each}*** End Patch\n" for each in sections)
    )


@pytest.mark.parametrize(
    ("folder", "raw"),
    [
        ("latin", "é two\n".encode("latin-1")),
        ("wide", "é two\n".encode("utf-16-le")),
        ("marked", "é two\n".encode("utf-8-sig")),
        ("odd", "é two\n".encode()),
        ("plain", "é two\n".encode()),
    ],
)
async def test_a_new_file_has_the_encoding_that_editorconfig_names(
    bench: Bench, folder: str, raw: bytes
) -> None:
    lay_out(
        bench.root,
        {".editorconfig": CHARSETS, "three": "é one\n".encode(), "latin/old": "é one\n".encode("latin-1")},
    )
    bench.says(
        answer(
            "",
            call("write_file", path=f"{folder}/one", content="é one\n"),
            edits(f"*** Add File: {folder}/two\n+é one\n"),
            edits(f"*** Update File: three\n*** Move to: {folder}/three\n"),
            edits(f"*** Update File: latin/old\n*** Move to: {folder}/four\n"),
        ),
        answer(
            "",
            *(call("patch", path=f"{folder}/{name}", old_string="é one", new_string="é two") for name in NEW),
        ),
        answer("Done."),
    )
    report = await bench.turn()
    assert [outcome.failure for outcome in report.outcomes if outcome.failure] == []
    changed = {name: (bench.root / folder / name).read_bytes() for name in NEW}
    assert changed == dict.fromkeys(NEW, raw)
    assert report.checkpoint is not None
    assert (await bench.restore(report.checkpoint)).conflicts == ()
    assert (bench.root / "three").read_bytes() == "é one\n".encode()
    assert (bench.root / "latin" / "old").read_bytes() == "é one\n".encode("latin-1")


async def test_a_moved_file_whose_mark_tells_its_encoding_keeps_it(bench: Bench) -> None:
    raw = "漢 one\n".encode("utf-16")
    lay_out(bench.root, {".editorconfig": CHARSETS, "a": raw})
    bench.says(answer("", edits("*** Update File: a\n*** Move to: latin/a\n")), answer("Done."))
    await bench.turn()
    assert snapshot(bench.root) == {".editorconfig": CHARSETS, "latin/a": raw}


@pytest.mark.parametrize(
    ("section", "where"),
    [
        ("*** Add File: latin/b\n+漢\n", "line 1 of the new text"),
        ("*** Update File: a\n*** Move to: latin/b\n", "line 1 of the moved file"),
        ("*** Update File: b\n*** Move to: latin/b\n@@\n b\n+漢\n", "line 2 of the moved file"),
    ],
)
async def test_a_new_file_that_its_encoding_cannot_hold_is_refused(
    bench: Bench, section: str, where: str
) -> None:
    files = {".editorconfig": CHARSETS, "a": "漢\n".encode(), "b": b"b\n"}
    lay_out(bench.root, files)
    bench.says(answer("", edits(section)), answer("Done."))
    (outcome,) = (await bench.turn()).outcomes
    assert outcome.failure is not None
    assert outcome.failure.code is Code.BAD_ENCODING
    assert "latin/b must be latin-1" in outcome.failure.message
    assert outcome.failure.message.endswith(f"({where}).")
    assert snapshot(bench.root) == files


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("patch", {"path": "latin/a", "old_string": "two\nthree\n", "new_string": "two\nthree\n漢\n"}),
        ("write_file", {"path": "latin/a", "content": "one\ntwo\n漢\n"}),
    ],
)
async def test_a_character_that_the_encoding_lacks_is_named_by_its_line_as_the_model_sent_it(
    bench: Bench, tool: str, arguments: dict[str, str]
) -> None:
    lay_out(bench.root, {".editorconfig": CHARSETS, "latin/a": b"one\ntwo\nthree\n"})
    bench.says(answer("", call(tool, **arguments)), answer("Done."))
    (outcome,) = (await bench.turn()).outcomes
    assert outcome.failure is not None
    assert outcome.failure.message.endswith("cannot encode U+6F22 (line 3 of the new text).")


@pytest.mark.parametrize(
    "section",
    [
        "*** Delete File: link\n",
        "*** Update File: link\n*** Move to: new\n",
        "*** Update File: link\n*** Move to: new\n@@\n-one\n+two\n",
    ],
)
async def test_a_link_is_not_deleted_or_moved(bench: Bench, section: str) -> None:
    lay_out(bench.root, {"d/a": b"one\n"})
    (bench.root / "link").symlink_to("d/a")
    bench.says(answer("", edits(section)), answer("Done."))
    (outcome,) = (await bench.turn()).outcomes
    assert outcome.failure is not None
    assert "link is a symbolic link to d/a" in outcome.failure.message
    assert (bench.root / "link").read_bytes() == b"one\n"


async def test_a_file_is_deleted_in_a_folder_that_a_link_leads_to(bench: Bench) -> None:
    lay_out(bench.root, {"d/a": b"one\n", "d/b": b"one\n"})
    (bench.root / "link").symlink_to("d")
    bench.says(
        answer("", edits("*** Delete File: link/a\n*** Update File: link/b\n*** Move to: link/c\n")),
        answer("Done."),
    )
    await bench.turn()
    assert snapshot(bench.root / "d") == {"c": b"one\n"}
