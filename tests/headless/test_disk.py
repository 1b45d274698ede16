"""The headless client's own writes keep what belongs to a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from adapters.kit import access_list
from handrail.headless import disk


def test_other_names_of_a_file_stay_its_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one, and longer\n")
    os.link(tmp_path / "a", tmp_path / "b")
    disk.write(tmp_path / "a", b"two\n")
    assert (tmp_path / "b").read_bytes() == b"two\n"
    assert os.path.samefile(tmp_path / "a", tmp_path / "b")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_and_the_mode_stay(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    os.chown(path, 1234, 2345)
    path.chmod(0o640)
    disk.write(path, b"two\n")
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o640)
    assert path.read_bytes() == b"two\n"


@pytest.mark.skipif(not hasattr(os, "chown"), reason="files have no owner there")
def test_a_file_that_cannot_be_given_away_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", refused)
    number = path.stat().st_ino
    disk.write(path, b"two\n")
    assert path.read_bytes() == b"two\n"
    if os.geteuid() == 0:
        assert path.stat().st_ino == number
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="files have no attributes there")
@pytest.mark.parametrize(
    "of_file", [{}, {"user.origin": b"here"}, {"system.posix_acl_access": access_list(99)}]
)
@pytest.mark.parametrize("is_folder_open", [False, True], ids=["", "access-list"])
def test_the_attributes_stay_and_none_are_added(
    tmp_path: Path, of_file: dict[str, bytes], *, is_folder_open: bool
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    path.chmod(0o660)
    try:
        if is_folder_open:
            os.setxattr(tmp_path, "system.posix_acl_default", access_list(1234))
        for name, value in of_file.items():
            os.setxattr(path, name, value)
    except OSError:
        pytest.skip("the file system has none")
    disk.write(path, b"two\n")
    assert path.read_bytes() == b"two\n"
    found = {name: os.getxattr(path, name) for name in os.listxattr(path) if "security." not in name}
    assert found == of_file
    assert os.listdir(tmp_path) == ["a"]
