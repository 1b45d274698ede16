"""Symbolic links that commands made, changed, removed and replaced come back as links, or are left alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import Bench
from handrail.agent.restore.compare import compare
from handrail.core.checkpoint import Kind, StepId
from handrail.testing import answer, call, lay_out

STEP = StepId(session="s", turn="t-9", number=1, label="A command")
CHANGES = """
    rm removed linked && ln -sfn b.txt changed && ln -s a.txt made && ln -sfn a.txt file
    cp --remove-destination a.txt replaced && rm -r folder && ln -s deep folder && echo a > linked
    mkdir -p new && ln -s ../nowhere new/dangling
"""


def links(root: Path) -> dict[str, str | bytes]:
    """Where every link points, and what every file holds, by relative path."""
    found: dict[str, str | bytes] = {}
    for at, folders, names in os.walk(root):
        for name in (*names, *folders):
            path = Path(at, name)
            if path.is_symlink():
                found[path.relative_to(root).as_posix()] = f"-> {os.readlink(path)}"
            elif path.is_file():
                found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found


@pytest.fixture(params=["with git", "without git"])
def laid(bench: Bench, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Bench:
    if request.param == "without git":
        (empty := bench.state.parent / "bin").mkdir()
        monkeypatch.setattr("shutil.which", lambda name: str(empty) if name != "git" else None)
    lay_out(bench.root, {"a.txt": b"a\n", "b.txt": b"b\n", "file": b"a file\n", "deep/c": b"c\n"})
    lay_out(bench.root, {"folder/x": b"x\n", "folder/y": b"y\n"})
    for name in ("removed", "changed", "replaced", "kept"):
        (bench.root / name).symlink_to("a.txt")
    (bench.root / "linked").symlink_to("deep")
    return bench


async def during(bench: Bench, act: Callable[[], object]) -> dict[str, Kind]:
    taken = await bench.repo.before_command(STEP)
    act()
    effects = await bench.repo.after_command(STEP, taken)
    assert effects.not_covered == ()
    return {each.path: each.change for each in effects.changes}


async def test_links_come_back_as_links_and_go_again(laid: Bench) -> None:
    before = links(laid.root)
    changes = await during(laid, lambda: os.system(f"set -e; cd '{laid.root}' && {CHANGES.strip()}"))
    after = links(laid.root)
    assert after["linked"] == b"a\n"
    assert changes["removed"] is Kind.DELETED
    assert changes["made"] is changes["new/dangling"] is Kind.CREATED
    assert set(changes) == {name for name in {*before, *after} if before.get(name) != after.get(name)}
    report = await laid.restore("t-9")
    assert report.conflicts == ()
    assert links(laid.root) == before
    assert not (laid.root / "new").exists()
    assert report.checkpoint is not None
    redone = await laid.restore(report.checkpoint)
    assert redone.conflicts == ()
    assert links(laid.root) == after
    assert redone.checkpoint is not None
    await laid.restore(redone.checkpoint)
    assert links(laid.root) == before
    assert (await laid.repo.verify()).problems == ()


async def test_what_somebody_put_there_since_is_kept(laid: Bench) -> None:
    (laid.root / "kept").unlink()
    (laid.root / "kept").symlink_to("a.txt")

    def act() -> None:
        for name in ("removed", "changed", "kept"):
            (laid.root / name).unlink()
        (laid.root / "changed").symlink_to("b.txt")

    await during(laid, act)
    (laid.root / "removed").write_bytes(b"mine\n")
    (laid.root / "changed").unlink()
    (laid.root / "changed").symlink_to("deep")
    (laid.root / "kept").mkdir()
    report = await laid.restore("t-9")
    assert {Path(each.uri).name for each in report.conflicts} == {"removed", "changed", "kept"}
    (folder,) = (each.reason for each in report.conflicts if each.uri.endswith("kept"))
    assert "neither a file nor a link" in folder
    found = links(laid.root)
    assert (found["removed"], found["changed"]) == (b"mine\n", "-> deep")
    assert (laid.root / "kept").is_dir()


async def test_a_link_is_taken_back_in_no_other_folder(laid: Bench, tmp_path: Path) -> None:
    """Its folder became a link to outside since."""
    (laid.root / "deep" / "link").symlink_to("c")
    await during(laid, (laid.root / "deep" / "link").unlink)
    (tmp_path / "outside").mkdir()
    (laid.root / "deep" / "c").unlink()
    (laid.root / "deep").rmdir()
    (laid.root / "deep").symlink_to(tmp_path / "outside")
    report = await laid.restore("t-9", is_foreseen=False)  # only the attempt shows it
    assert len(report.conflicts) == 1
    assert list((tmp_path / "outside").iterdir()) == []


async def test_one_link_is_taken_back_by_its_own_name(laid: Bench) -> None:
    def act() -> None:
        (laid.root / "a.txt").write_bytes(b"A\n")
        for name in ("removed", "changed"):
            (laid.root / name).unlink()

    await during(laid, act)
    await laid.restore("t-9", uris=[(laid.root / "removed").as_uri()])
    assert links(laid.root)["removed"] == "-> a.txt"
    assert not (laid.root / "changed").is_symlink()
    assert (laid.root / "a.txt").read_bytes() == b"A\n"
    shown = await compare(laid.host.ports(), "t-9", "now", None)
    assert [line for line in shown.splitlines() if line.startswith("--- ")] == [
        "--- a/a.txt",
        "--- a/changed",
    ]


async def test_an_edit_through_a_link_is_one_of_the_file(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"a\n"})
    (bench.root / "link").symlink_to("a.txt")
    bench.says(answer("", call("write_file", path="link", content="b\n")), answer("Done."))
    report = await bench.turn()
    assert links(bench.root) == {"a.txt": b"b\n", "link": "-> a.txt"}
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert links(bench.root) == {"a.txt": b"a\n", "link": "-> a.txt"}
