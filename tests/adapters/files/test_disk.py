"""Documents on disk are read and edited byte for byte: real files, real links, real errors of the system."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.kit import access_list, code, full_disk, large, names, one, read, stamp, update, written
from handrail.adapters.files import disk as disk_module
from handrail.adapters.files import failure as failures
from handrail.adapters.files import files
from handrail.adapters.files.disk import Disk, uri_of
from handrail.core.documents.change import Applied, Create, Delete, Partial, Rejected, Update
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.ports import Document, Editor


@pytest.mark.parametrize(
    ("raw", "charset", "expected"),
    [
        (b"a\r\nb\n\xc3\xa4", None, Text("a\r\nb\nä")),
        (b"", None, Text("")),
        (b"\xef\xbb\xbfa", None, Text("a", "utf-8", True)),
        (b"\xff\xfea\0", None, Text("a", "utf-16-le", True)),
        (b"caf\xe9", "latin1", Text("café", "latin-1")),
        (b"\xc3\xa4", "latin1", Text("Ã¤", "latin-1")),
        (b"a", "utf-8-bom", Text("a")),
        (b"\xef\xbb\xbfa", "utf-8-bom", Text("a", "utf-8", True)),
        (b"a\0", "utf-16le", Text("a", "utf-16-le")),
        (b"\0a", "utf-16be", Text("a", "utf-16-be")),
        (b"a", "no-such-charset", Text("a")),
    ],
)
async def test_reading_takes_the_named_encoding(
    disk: Editor, tmp_path: Path, raw: bytes, charset: str | None, expected: Text
) -> None:
    path = written(tmp_path, raw, charset)
    assert await disk.read(uri_of(path)) == Document(uri=uri_of(path), text=expected)


@pytest.mark.parametrize(
    "broken",
    [
        b"\xff\xfe\xff",
        b"[*\ncharset",
        b"[{a,[b]\ncharset = latin1",
        b"[*.{9..99999999999999999999}]\ncharset=x",
    ],
)
async def test_a_broken_editorconfig_does_not_keep_a_file_from_being_read(
    disk: Editor, tmp_path: Path, broken: bytes
) -> None:
    (tmp_path / ".editorconfig").write_bytes(broken)
    (tmp_path / "a.txt").write_bytes(b"a")
    assert await read(disk, tmp_path / "a.txt") == Text("a")


async def test_an_editorconfig_that_is_a_folder_says_nothing(disk: Editor, tmp_path: Path) -> None:
    (tmp_path / ".editorconfig").mkdir()
    (tmp_path / "a.txt").write_bytes(b"a")
    assert await read(disk, tmp_path / "a.txt") == Text("a")


async def test_what_cannot_be_read_says_why(disk: Editor, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\x89PNG\0\xff")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "plain").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    large(tmp_path / "large", 60_000_000)
    expected = {
        "missing": (Code.NO_SUCH_FILE, "The file missing does not exist."),
        "plain/below": (Code.NO_SUCH_FILE, "The file below does not exist."),
        "folder": (Code.BAD_ARGUMENTS, "folder is a folder, not a file."),
        "pipe": (Code.UNREADABLE, "pipe is a pipe, socket or device, not a file."),
        "loop": (Code.UNREADABLE, "loop cannot be read: its symbolic links form a loop."),
        "x" * 300: (Code.NO_SUCH_FILE, "x" * 300 + " cannot be read: the name is too long."),
        "large": (
            Code.TOO_LARGE,
            "The file has 60,000,000 bytes; handrail reads and edits at most 50,000,000.",
        ),
    }
    for name, (wanted, message) in expected.items():
        failure = await disk.read(uri_of(tmp_path / name))
        assert isinstance(failure, Failure)
        assert (failure.code, failure.message, failure.uri) == (wanted, message, uri_of(tmp_path / name))
        assert failure.steps
    failure = await disk.read(uri_of(tmp_path / "binary"))
    assert isinstance(failure, Failure)
    assert failure.code is Code.BAD_ENCODING
    failure = await disk.read("untitled:Untitled-1")
    assert isinstance(failure, Failure)
    assert (failure.code, failure.uri) == (Code.NO_SUCH_FILE, "untitled:Untitled-1")


async def test_what_fails_is_named_by_its_path_in_the_workspace(tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    (tmp_path / "one" / "d" / "folder").mkdir(parents=True)
    (tmp_path / "one" / "d" / "there").write_bytes(b"")
    (tmp_path / "one" / "link").symlink_to("d/gone")
    (tmp_path / "gone").symlink_to("one/d/none")
    for count, prefix in ((1, ""), (2, "one/")):
        disk = Disk(roots=lambda: roots[:count])  # noqa: B023
        for path, message in {
            "one/d/x.txt": f"The file {prefix}d/x.txt does not exist.",
            "one/x.txt": f"The file {prefix}x.txt does not exist.",
            "one/link": f"The file {prefix}d/gone does not exist.",
            "one/d/folder": f"{prefix}d/folder is a folder, not a file.",
            "x.txt": "The file x.txt does not exist.",
        }.items():
            failed = await disk.read(uri_of(tmp_path / path))
            assert isinstance(failed, Failure)
            assert (failed.message, failed.uri) == (message, uri_of(tmp_path / path))
        uri = uri_of(tmp_path / "one" / "d" / "there")
        (landing,) = await disk.apply([Create(uri=uri, text=Text("x"))], "")
        assert isinstance(landing, Rejected)
        assert landing.failure.message == f"{prefix}d/there already exists. It was left unchanged."


@pytest.mark.parametrize(
    ("number", "step"),
    [
        (errno.ENAMETOOLONG, "Choose a shorter name."),
        (
            errno.EACCES,
            "Only the user can fix this. Tell them: Change the permissions of the file or its folder.",
        ),
        (errno.ENOSPC, "Only the user can fix this. Tell them: Free some space and try again."),
        (errno.ENOTTY, "Only the user can fix this. Tell them: Fix the cause and try again."),
    ],
)
def test_the_model_is_not_told_to_do_what_only_the_user_can(tmp_path: Path, number: int, step: str) -> None:
    error = OSError(number, os.strerror(number))
    assert failures.unreadable(tmp_path / "a.txt", error).steps[0] == step
    assert failures.unwritable(tmp_path / "a.txt", error).steps[0] == step


async def test_reading_does_not_hold_up_the_event_loop(
    disk: Editor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, real = list[int](), files.read

    def noted(path: Path, limit: int) -> files.FileState:
        threads.append(threading.get_ident())
        return real(path, limit)

    monkeypatch.setattr(files, "read", noted)
    (tmp_path / "a.txt").write_bytes(b"a")
    os.mkfifo(tmp_path / ".editorconfig")
    assert isinstance(await disk.read(uri_of(tmp_path / "a.txt")), Document)
    assert threads
    assert threading.get_ident() not in threads


async def test_read_bytes(tmp_path: Path) -> None:
    disk = Disk()
    (tmp_path / "binary").write_bytes(b"\0\xff")
    assert await disk.read_bytes(uri_of(tmp_path / "binary")) == b"\0\xff"
    assert await disk.read_bytes(uri_of(tmp_path / "missing")) is None
    assert await disk.read_bytes(uri_of(tmp_path)) is None
    assert await disk.read_bytes("untitled:1") is None


# ---- Updating ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "hunk", "expected"),
    [
        ((b"a\r\nb\r\n", None), ("b", "c"), b"a\r\nc\r\n"),
        ((b"a\nb\r\nc\rd", None), ("c", "\f\u2028"), b"a\nb\r\n\x0c\xe2\x80\xa8\rd"),
        ((b"\xef\xbb\xbfa\n", None), ("a", "b"), b"\xef\xbb\xbfb\n"),
        ((b"\xfe\xff\0a\0b", None), ("b", "c"), b"\xfe\xff\0a\0c"),
        ((b"caf\xe9 b", "latin1"), ("b", "\u00fc"), b"caf\xe9 \xfc"),
        ((b"x", None), ("x", ""), b""),
    ],
)
async def test_only_the_edited_bytes_change(
    disk: Editor, tmp_path: Path, given: tuple[bytes, str | None], hunk: tuple[str, str], expected: bytes
) -> None:
    path = written(tmp_path, *given)
    before = names(tmp_path)
    base = await read(disk, path)
    landing = await one(disk, update(path, base, hunk))
    assert landing == Applied(text=Text(base.content.replace(*hunk), base.encoding, base.bom))
    assert path.read_bytes() == expected
    assert names(tmp_path) == before


async def test_mode_owner_and_attributes_are_kept(disk: Editor, tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_bytes(b"a")
    if os.geteuid() == 0:
        os.chown(path, 12345, 23456)
    path.chmod(0o2755)
    with suppress(OSError):  # not every file system has them
        os.setxattr(path, "user.origin", b"here")
    before, attributes = path.stat(), os.listxattr(path)
    assert isinstance(await one(disk, update(path, Text("a"), ("a", "b"))), Applied)
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.listxattr(path) == attributes
    assert after.st_ino != before.st_ino, "replaced at once, not written over"


@pytest.mark.skipif(sys.platform != "linux", reason="the attributes that hold access lists are Linux's")
async def test_a_replaced_file_does_not_let_in_who_its_folder_names(disk: Editor, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a")
    path.chmod(0o660)
    others = {"user.origin": b"here"}
    with suppress(OSError):  # not every file system has them
        os.setxattr(path, "user.origin", others["user.origin"])
        os.setxattr(tmp_path, "system.posix_acl_default", access_list(user=1234))
    assert isinstance(await one(disk, update(path, Text("a"), ("a", "b"))), Applied)
    assert {name for name in os.listxattr(path) if not name.startswith("security.")} <= others.keys()
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


@pytest.mark.skipif(sys.platform != "linux", reason="the attributes that hold access lists are Linux's")
@pytest.mark.parametrize("call", ["setxattr", "removexattr"])
async def test_a_file_whose_access_list_a_new_one_cannot_get_is_written_in_place(
    disk: Editor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Without its list, the group may have more rights than with it; and its folder may pass on another."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n")
    on = (path, "system.posix_acl_access") if call == "setxattr" else (tmp_path, "system.posix_acl_default")
    try:
        os.setxattr(*on, access_list(user=1234))
    except OSError:
        pytest.skip("this file system has no access lists")
    before, attributes = path.stat(), os.listxattr(path)
    monkeypatch.setattr(os, call, refuse)
    landing = await one(disk, update(path, Text("one\n"), ("one", "two")))
    assert isinstance(landing, Applied)
    assert path.read_bytes() == b"two\n"
    assert (path.stat().st_ino, path.stat().st_mode) == (before.st_ino, before.st_mode)
    assert os.listxattr(path) == attributes
    assert names(tmp_path) == [path.name]


def refuse(*_: object) -> None:
    """What the system says to someone who may not."""
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


async def test_a_symbolic_link_stays_and_its_target_changes(disk: Editor, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"a")
    (tmp_path / "middle").symlink_to("target")
    (tmp_path / "link").symlink_to(tmp_path / "middle")
    assert isinstance(await one(disk, update(tmp_path / "link", Text("a"), ("a", "b"))), Applied)
    assert (tmp_path / "target").read_bytes() == b"b"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "middle").is_symlink()
    assert not (tmp_path / "target").is_symlink()


async def test_a_hard_link_holds(disk: Editor, tmp_path: Path) -> None:
    one_name, other = tmp_path / "one", tmp_path / "other"
    one_name.write_bytes(b"a longer text")
    os.link(one_name, other)
    assert isinstance(
        await one(disk, update(one_name, Text("a longer text"), ("a longer text", "b"))), Applied
    )
    assert other.read_bytes() == b"b"
    assert one_name.stat().st_ino == other.stat().st_ino
    assert one_name.stat().st_nlink == 2


async def test_an_update_is_carried_over_to_what_the_file_holds_by_now(disk: Editor, tmp_path: Path) -> None:
    path, base = tmp_path / "a", Text("one\ntwo\nthree\n")
    path.write_bytes(b"zero\r\none\ntwo\nthree\n")
    landing = await one(disk, update(path, base, ("three", "drei")))
    assert landing == Applied(text=Text("zero\r\none\ntwo\ndrei\n"))
    assert path.read_bytes() == b"zero\r\none\ntwo\ndrei\n"


async def test_lines_that_changed_meanwhile_are_a_conflict(disk: Editor, tmp_path: Path) -> None:
    path, base = tmp_path / "a", Text("one\ntwo\n")
    path.write_bytes(b"one\nTWO\n")
    before = stamp(path)
    landing = await one(disk, update(path, base, ("two", "zwei")))
    assert code(landing) is Code.STALE_DOCUMENT
    assert isinstance(landing, Rejected)
    assert landing.failure.message == (
        "a has changed in lines that were to be edited. They were 'two'; now they are 'TWO'. "
        "That change was kept."
    ), "a whole file, a restore and a quick fix have no hunks"
    assert path.read_bytes() == b"one\nTWO\n"
    assert stamp(path) == before


async def test_a_conflict_of_one_hunk_does_not_keep_the_other_from_landing(
    disk: Editor, tmp_path: Path
) -> None:
    path, base = tmp_path / "a", Text("one\ntwo\nthree\n")
    path.write_bytes(b"ONE\ntwo\nthree\n")
    both = update(path, base, ("one", "eins"), ("three", "drei"))
    assert isinstance(await one(disk, both), Rejected)
    assert path.read_bytes() == b"ONE\ntwo\nthree\n"
    landing = await one(disk, replace(both, is_divisible=True))
    assert isinstance(landing, Partial)
    assert landing.landed == (False, True)
    assert (landing.failure.code, landing.failure.uri) == (Code.STALE_DOCUMENT, uri_of(path))
    assert "They were 'one'; now they are 'ONE'" in landing.failure.message
    assert path.read_bytes() == b"ONE\ntwo\ndrei\n"


async def test_a_hunk_lands_whole_or_not_at_all(disk: Editor, tmp_path: Path) -> None:
    path, base = tmp_path / "a", Text("one\nsame\nthree\nfour\n")
    path.write_bytes(b"ONE\nsame\nthree\nfour\n")
    both = update(path, base, ("one\nsame\nthree", "eins\nsame\ndrei"), ("four", "vier"))
    landing = await one(disk, replace(both, is_divisible=True))
    assert isinstance(landing, Partial)
    assert landing.landed == (False, False, True)
    assert path.read_bytes() == b"ONE\nsame\nthree\nvier\n"


async def test_a_file_that_has_become_binary_is_left_alone(disk: Editor, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xff\0")
    assert code(await one(disk, update(path, Text("a"), ("a", "b")))) is Code.BAD_ENCODING
    assert path.read_bytes() == b"\xff\0"


async def test_an_update_without_edits_writes_nothing(disk: Editor, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a")
    before = stamp(path)
    landing = await one(disk, Update(uri=uri_of(path), base=Text("a"), hunks=()))
    assert landing == Applied(text=Text("a"))
    assert stamp(path) == before


async def test_what_the_encoding_cannot_write_is_refused(disk: Editor, tmp_path: Path) -> None:
    (tmp_path / ".editorconfig").write_text("[*]\ncharset = latin1\n")
    path = tmp_path / "a"
    path.write_bytes(b"\xe9")
    landing = await one(disk, update(path, await read(disk, path), ("é", "→")))
    assert code(landing) is Code.BAD_ENCODING
    assert path.read_bytes() == b"\xe9"


async def test_a_missing_file_cannot_be_updated(disk: Editor, tmp_path: Path) -> None:
    assert code(await one(disk, update(tmp_path / "a", Text("a"), ("a", "b")))) is Code.NO_SUCH_FILE
    assert names(tmp_path) == []


async def test_a_read_only_file_is_left_alone(disk: Editor, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a")
    path.chmod(0o444)
    for change in (update(path, Text("a"), ("a", "b")), Delete(uri=uri_of(path), base=Text("a"))):
        landing = await one(disk, change)
        assert code(landing) is Code.EDIT_REJECTED
        assert isinstance(landing, Rejected)
        assert "read-only" in landing.failure.message
    assert path.read_bytes() == b"a"


@pytest.mark.parametrize("linked", [False, True])
async def test_a_full_disk_leaves_the_file_as_it_was(disk: Editor, tmp_path: Path, linked: bool) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"short")
    if linked:
        os.link(path, tmp_path / "b")
    with full_disk(1000):
        landing = await one(disk, update(path, Text("short"), ("short", "long" * 1000)))
    assert code(landing) is Code.EDIT_REJECTED
    assert isinstance(landing, Rejected)
    assert landing.failure.message == "a cannot be changed: the file would be too large. Nothing was changed."
    assert path.read_bytes() == b"short"
    assert names(tmp_path) == (["a", "b"] if linked else ["a"])


async def test_one_change_that_fails_does_not_stop_the_next(disk: Editor, tmp_path: Path) -> None:
    landings = await disk.apply(
        [
            Create(uri=uri_of(tmp_path / "a"), text=Text("1")),
            Create(uri=uri_of(tmp_path / "a"), text=Text("2")),
            Create(uri="untitled:1", text=Text("3")),
            Create(uri=uri_of(tmp_path / "b"), text=Text("4")),
        ],
        "test",
    )
    assert [type(landing) for landing in landings] == [Applied, Rejected, Rejected, Applied]
    assert [code(landing) for landing in landings[1:3]] == [Code.FILE_EXISTS, Code.NO_SUCH_FILE]


def test_what_was_altered_after_writing_has_not_landed(tmp_path: Path) -> None:
    ready = disk_module._rebase(
        tmp_path / "a", update(tmp_path / "a", Text("a\nb\n"), ("a", "A"), ("b", "B")), b"a\nb\n"
    )
    assert isinstance(ready, disk_module._Ready)
    half = disk_module._outcome(tmp_path / "a", ready, Text("A\nsomething else\n"))
    assert isinstance(half, Partial)
    assert half.landed == (True, False)
    assert half.failure.code is Code.NOT_AS_WRITTEN
    for gone in (Text("a\nb\n"), Failure(code=Code.NO_SUCH_FILE, message="")):
        nothing = disk_module._outcome(tmp_path / "a", ready, gone)
        assert isinstance(nothing, Rejected)
        assert nothing.failure.code is Code.NOT_AS_WRITTEN
    more = Text("A\nB\nand what somebody appended\n")
    assert disk_module._outcome(tmp_path / "a", ready, more) == Applied(text=more)
