"""What commands left in layers is found, and taken over without following anything that they made."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from handrail.adapters.state.layers import LayerAction, LayerChange, changes, kept_layers, take_over

pytestmark = pytest.mark.skipif(not hasattr(os, "mknod"), reason="there are layers on Linux only")


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    """A layer as the kernel has it: a change, a file deep below, a removal, and a folder in place of one."""
    upper = tmp_path / "home" / "layers" / "2026-01-02-ab" / "data-12"
    (upper / "deep" / "er").mkdir(parents=True)
    (upper / "changed.txt").write_bytes(b"new\r\n")
    (upper / "deep" / "er" / "run.sh").write_text("#!/bin/sh\n")
    (upper / "deep" / "er" / "run.sh").chmod(0o755)
    (upper / "link").symlink_to("changed.txt")
    os.mknod(upper / "gone.txt", stat.S_IFCHR, 0)
    (upper / "replaced").mkdir()
    (upper / "replaced" / "mine.txt").write_text("mine\n")
    (upper.parent / "folders.txt").write_text(f"data-12: {tmp_path / 'data'}\nempty-34: {tmp_path}\n")
    (upper.parent / "empty-34").mkdir()
    return upper


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "replaced").mkdir(parents=True)
    (folder / "replaced" / "theirs.txt").write_text("theirs\n")
    for name in ("changed.txt", "gone.txt", "kept.txt"):
        (folder / name).write_text("old\n")
    return folder


def test_only_layers_that_hold_something_are_found(tmp_path: Path, layer: Path) -> None:
    (found,) = kept_layers(tmp_path / "home")
    assert (found.id, found.lies_in, found.folder) == ("2026-01-02-ab/data-12", layer, tmp_path / "data")
    assert kept_layers(tmp_path / "another") == ()


def test_what_it_holds_is_taken_over(layer: Path, target: Path) -> None:
    asked = list(changes(layer, target))
    assert {(each.path, each.action) for each in asked} == {
        ("changed.txt", LayerAction.WRITTEN),
        ("deep/", LayerAction.WRITTEN),
        ("deep/er/", LayerAction.WRITTEN),
        ("deep/er/run.sh", LayerAction.WRITTEN),
        ("link", LayerAction.WRITTEN),
        ("gone.txt", LayerAction.REMOVED),
        ("replaced/mine.txt", LayerAction.WRITTEN),
    }
    assert list(take_over(layer, target)) == asked
    assert list(changes(layer, target)) == [], "it is all there already"
    assert (target / "changed.txt").read_bytes() == b"new\r\n"
    assert stat.S_IMODE((target / "deep/er/run.sh").stat().st_mode) == 0o755
    assert os.readlink(target / "link") == "changed.txt"
    assert not (target / "gone.txt").exists()
    assert (target / "kept.txt").read_text() == "old\n"
    assert sorted(os.listdir(target / "replaced")) == ["mine.txt", "theirs.txt"]


def test_a_folder_in_place_of_another_one_keeps_nothing_of_that(layer: Path, target: Path) -> None:
    try:
        os.setxattr(layer / "replaced", "user.overlay.opaque", b"y")
    except OSError:
        pytest.skip("no attributes here")
    asked = list(changes(layer, target))
    assert LayerChange(path="replaced/theirs.txt", action=LayerAction.REMOVED) in asked
    assert list(take_over(layer, target)) == asked
    assert os.listdir(target / "replaced") == ["mine.txt"]


@pytest.mark.parametrize("name", ["deep", "deep/er", "changed.txt", "replaced"])
def test_no_link_where_it_is_taken_over_to_leads_elsewhere(
    tmp_path: Path, layer: Path, target: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious.txt").write_text("precious\n")
    path = target / name
    path.parent.mkdir(exist_ok=True)
    if path.is_dir():
        path.rename(tmp_path / "aside")
    path.unlink(missing_ok=True)
    path.symlink_to(outside / "precious.txt" if name == "changed.txt" else outside)
    list(take_over(layer, target))
    assert os.listdir(outside) == ["precious.txt"]
    assert (outside / "precious.txt").read_text() == "precious\n"
    assert not path.is_symlink()


def test_a_link_in_place_of_the_whole_folder_is_refused(tmp_path: Path, layer: Path, target: Path) -> None:
    target.rename(tmp_path / "elsewhere")
    target.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="data"):
        list(take_over(layer, target))
    assert (tmp_path / "elsewhere" / "changed.txt").read_text() == "old\n"


def test_what_is_no_file_is_left_out(layer: Path, target: Path) -> None:
    os.mkfifo(layer / "pipe")
    (each,) = [each for each in take_over(layer, target) if each.action is LayerAction.LEFT_OUT]
    assert (each.path, bool(each.why)) == ("pipe", True)
    assert not (target / "pipe").exists()


def test_a_folder_that_a_command_has_closed_is_read(layer: Path, target: Path) -> None:
    (layer / "deep").chmod(0)
    list(take_over(layer, target))
    assert (target / "deep/er/run.sh").exists()


def test_what_goes_with_a_folder_that_a_file_replaces_is_said_before(layer: Path, target: Path) -> None:
    (layer / "folder").write_text("a file now\n")
    (target / "folder").mkdir()
    (target / "folder" / "precious.txt").write_text("precious\n")
    asked = list(changes(layer, target))
    assert LayerChange(path="folder/", action=LayerAction.REMOVED) in asked
    assert (target / "folder" / "precious.txt").exists()
    assert list(take_over(layer, target)) == asked
    assert (target / "folder").read_text() == "a file now\n"


def test_a_layer_of_new_folders_alone_is_found(tmp_path: Path, layer: Path, target: Path) -> None:
    (layer.parent / "empty-34" / "new").mkdir()
    assert {each.id for each in kept_layers(tmp_path / "home")} == {
        "2026-01-02-ab/data-12",
        "2026-01-02-ab/empty-34",
    }


def test_folders_in_one_another_without_end_are_left_out(layer: Path, target: Path) -> None:
    handle = os.open(layer, os.O_RDONLY)
    for _ in range(150):
        os.mkdir("x", dir_fd=handle)
        below = os.open("x", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    (left,) = [each for each in take_over(layer, target) if each.action is LayerAction.LEFT_OUT]
    assert "too deep" in left.why
    assert (target / "changed.txt").read_bytes() == b"new\r\n"


def test_rights_of_another_user_s_are_not_taken_over(layer: Path, target: Path) -> None:
    (layer / "deep" / "er" / "run.sh").chmod(0o6755)
    list(take_over(layer, target))
    assert stat.S_IMODE((target / "deep/er/run.sh").stat().st_mode) == 0o755


@pytest.mark.parametrize("odd", ["\x0c", "\x85", "\u2028"])
def test_a_folder_of_an_odd_name_is_no_other_one(tmp_path: Path, odd: str) -> None:
    layer = tmp_path / "home" / "layers" / "2026-01-02-ab" / "data-12"
    layer.mkdir(parents=True)
    (layer / "a").touch()
    (layer.parent / "folders.txt").write_text(f"data-12: {tmp_path}/data{odd}more\n")
    (found,) = kept_layers(tmp_path / "home")
    assert found.folder == tmp_path / f"data{odd}more"
