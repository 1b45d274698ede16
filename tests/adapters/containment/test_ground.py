"""What is hidden or kept is found anew after any change, though folders are not read again."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from handrail.adapters.containment.ground import TICK_NS, Kind, WorkspaceScan
from handrail.adapters.workspace.protected import kind_of

NAMES = ("a", "b", ".env", ".git", ".vscode", "AGENTS.md", "id_rsa", "node_modules", ".husky", "x.pem")


def marked(ground: WorkspaceScan, root: Path) -> set[tuple[str, Kind]]:
    return {(os.path.relpath(each.path, root), each.kind) for each in ground.marked_paths([root])}


def change(root: Path, chance: random.Random) -> None:
    """One change, of any kind, somewhere."""
    folders = [Path(at) for at, _, _ in os.walk(root)]
    at = chance.choice(folders) / chance.choice(NAMES)
    entries = [path for path in root.rglob("*") if not path.is_symlink()]
    match chance.randrange(6):
        case 0 if not os.path.lexists(at):
            at.mkdir()
        case 1 if not at.is_dir() and not at.is_symlink():
            at.write_text("x")
        case 2 if entries:
            source = chance.choice(entries)
            if not os.path.lexists(at) and source not in (at, *at.parents):
                source.rename(at)
        case 3 if entries and (source := chance.choice(entries)).is_file():
            source.unlink()
        case 4 if entries and (source := chance.choice(entries)).is_file() and not os.path.lexists(at):
            os.link(source, at)
        case 5 if entries and (source := chance.choice(entries)).is_file() and not os.path.lexists(at):
            at.symlink_to(source)
        case _:
            pass


@pytest.mark.parametrize("seed", range(6))
def test_what_is_remembered_is_what_is_there(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    ground = WorkspaceScan(kind_of=kind_of)
    for _ in range(60):
        for _ in range(chance.randrange(4)):
            change(tmp_path, chance)
        assert marked(ground, tmp_path) == marked(WorkspaceScan(kind_of=kind_of), tmp_path)


def test_a_folder_that_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    old = time.time_ns() - 10 * TICK_NS
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".env").touch()
        os.utime(tmp_path / name, ns=(old, old))
    while time.time_ns() - (tmp_path / "two").stat().st_ctime_ns <= TICK_NS:
        (tmp_path / "one/.env").read_bytes()  # until the clock has gone on
    asked: list[str] = []

    def counted(path: Path) -> Kind:
        asked.append(str(path))
        return kind_of(path)

    ground = WorkspaceScan(kind_of=counted)
    first = ground.marked_paths([tmp_path])
    asked.clear()
    (tmp_path / "one/b").touch()
    assert {each.path for each in ground.marked_paths([tmp_path])} == {each.path for each in first}
    assert not [path for path in asked if path.startswith("two/")]
    assert "one/b" in asked


def test_what_packages_hold_is_published_and_what_lies_beside_them_is_not(tmp_path: Path) -> None:
    for name in (
        "node_modules/.env",
        "node_modules/certs/server.pem",
        "node_modules/.bin/x",
        "certs/server.pem",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert marked(WorkspaceScan(kind_of=kind_of), tmp_path) == {
        ("node_modules/.env", Kind.SECRET),
        ("node_modules/.bin", Kind.LATER),
        ("certs/server.pem", Kind.SECRET),
    }


def secrets(ground: WorkspaceScan, *roots: Path) -> set[str]:
    found = {each for each in ground.marked_paths(roots) if each.kind is Kind.SECRET}
    return {os.path.relpath(each.path, roots[0]) for each in found if not each.is_named}


def test_where_links_by_the_names_of_secrets_and_links_in_their_folders_lead_is_hidden(
    tmp_path: Path,
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for name in ("one/awsd/in/x", "one/.ssh/in/x", "one/a/b/c.txt", "one/real.txt", "two/keys/x", "out/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    links = {
        ".aws": "awsd",  # a folder
        "awsd/in/link": "../../real.txt",  # in a folder that is hidden through a link
        ".ssh/in/id": str(one / "a/b"),  # in a hidden folder
        ".ssh/self": "in",
        ".gnupg": str(two / "keys"),  # in another workspace folder
        ".npmrc": "later.txt",
        ".pypirc": ".npmrc",
        "x.pem": "..",  # all of it
        ".env": ".",
        ".netrc": "../out",  # elsewhere
        "y.key": "y.key",
        "plain": "a",
        ".vscode": "a",
    }
    for name, target in links.items():
        (one / name).symlink_to(target)
    ground = WorkspaceScan(kind_of=kind_of)
    led_to = {"awsd", "real.txt", "a/b", "../two/keys"}
    assert secrets(ground, one, two) == led_to
    (one / "later.txt").write_text("x")
    assert secrets(ground, one, two) == {*led_to, "later.txt"}
    (one / "a/b").rename(one / "a/c")
    (one / "awsd/in/link").unlink()
    assert secrets(ground, one, two) == {"awsd", "later.txt", "../two/keys"}
    assert secrets(WorkspaceScan(kind_of=kind_of), one, two) == {"awsd", "later.txt", "../two/keys"}


def test_the_other_names_of_a_hidden_file_are_hidden(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("x")
    (tmp_path / "deep").mkdir()
    os.link(tmp_path / ".env", tmp_path / "deep/notes.txt")
    (tmp_path / "real.txt").write_text("x")
    (tmp_path / ".env.local").symlink_to("real.txt")
    found = marked(WorkspaceScan(kind_of=kind_of), tmp_path)
    hidden = {name for name, kind in found if kind is Kind.SECRET}
    assert hidden == {".env", "deep/notes.txt", "real.txt"}
