"""A bubblewrap is used only if it holds here: those that do not run, and those that hold nothing, are not."""

from __future__ import annotations

import os
import platform
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.adapters.containment import enter, landlock, probe
from handrail.adapters.containment.probe import Bubblewrap, find

linux = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")
pytestmark = linux

BECOMES_THE_COMMAND = "import os, sys; at = sys.argv.index('--') + 1; os.execv(sys.argv[at], sys.argv[at:])"
AFTER_THE_ARGUMENTS = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'
VERSION = 'if [ "$1" = --version ]; then echo bubblewrap 0.11.0; exit; fi'

# A filter by which the kernel refuses new namespaces, as it does in a container of Docker's.
REFUSES_NAMESPACES = """
import ctypes, os, struct, sys
def op(code, jt, jf, k):
    return struct.pack("HBBI", code, jt, jf, k)
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
NEW_USER, REFUSED, NO_CALL, ALLOWED = 0x10000000, 0x00050001, 0x00050026, 0x7fff0000
refuses_landlock = sys.argv.pop(1) == "landlock"
program = b"".join([
    op(LOAD, 0, 0, 0),
    op(EQUAL, 6, 0, 272),  # unshare
    op(EQUAL, 6, 0, 444 if refuses_landlock else 435),  # landlock_create_ruleset
    op(EQUAL, 5, 0, 435),  # clone3
    op(EQUAL, 0, 2, 56),  # clone
    op(LOAD, 0, 0, 16),
    op(ANY_BIT, 1, 0, NEW_USER),
    op(RETURN, 0, 0, ALLOWED),
    op(RETURN, 0, 0, REFUSED),
    op(RETURN, 0, 0, NO_CALL),
])
buffer = ctypes.create_string_buffer(program)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
given = Program(len(program) // 8, ctypes.addressof(buffer))
assert libc.prctl(22, 2, ctypes.byref(given)) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path


def pretend(place: Path, body: str, monkeypatch: pytest.MonkeyPatch, *, alone: bool = True) -> None:
    """A bubblewrap on PATH that is a script; *alone*: there is no other."""
    program = place / "bin/bwrap"
    program.write_text(f"#!/bin/sh\n{VERSION}\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    if alone:
        monkeypatch.setattr(probe, "PACKAGE", "no_such_package")


def tried(place: Path, port: int) -> tuple[Bubblewrap | None, str]:
    folder = place / "trial"
    folder.mkdir()
    found = find([place / "work"], folder, port)
    assert list((place / "work").iterdir()) == []
    return found


def test_the_one_that_is_installed_holds(place: Path, port: int) -> None:
    found, why = tried(place, port)
    assert found is not None, why


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (AFTER_THE_ARGUMENTS, "fails to hide files and to protect folders"),
        ("exit 1", "does not run here: without a message"),
        ("echo no permission >&2; exit 1", "does not run here: no permission"),
        ("echo '{}'", "its self-test did not answer"),
    ],
)
def test_one_that_does_not_hold_is_not_used(
    place: Path, port: int, monkeypatch: pytest.MonkeyPatch, body: str, says: str
) -> None:
    pretend(place, body, monkeypatch)
    found, why = tried(place, port)
    assert found is None
    assert says in why


def test_the_next_one_is_tried(place: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(place, AFTER_THE_ARGUMENTS, monkeypatch, alone=False)
    found, why = tried(place, port)
    assert found is not None, why
    assert not found.program.startswith(str(place))


def test_a_bubblewrap_that_lets_one_thing_through_is_not_used(
    place: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each single hole is found: here the network is not taken away."""
    real = next(iter(probe.candidates()))
    pretend(
        place,
        f'for each; do shift; [ "$each" = --unshare-net ] || set -- "$@" "$each"; done; exec {real} "$@"',
        monkeypatch,
    )
    found, why = tried(place, port)
    assert found is None
    assert "does not work: it fails to block the network" in why


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter is written for this processor")
@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("nothing", "ok commands are contained by Landlock"),
        ("landlock", "-  commands are not contained:"),
    ],
)
def test_the_doctor_says_what_there_is_where_the_kernel_refuses_namespaces(
    place: Path, more: str, says: str
) -> None:
    if not enter.version():
        pytest.skip("this kernel has no Landlock")
    command = [sys.executable, "-c", REFUSES_NAMESPACES, more, sys.executable, "-m", "handrail", "doctor"]
    environment = {**os.environ, "HANDRAIL_SANDBOX": "auto"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=place / "work", env=environment
    )
    (line,) = [each for each in done.stdout.splitlines() if "contained" in each]
    assert line.strip().startswith(says), done.stdout
    said = "handrail asks before every command that it does not know to be read-only"
    assert line.endswith(said), "in both cases"


def test_a_landlock_that_holds_nothing_is_refused(
    place: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the kernel takes the rules, and something before it does not pass them on."""
    monkeypatch.setattr(enter, "version", lambda: 7)
    monkeypatch.setattr(landlock.Landlock, "arguments", lambda *_: ("-I", "-S", "-c", BECOMES_THE_COMMAND))
    folder = place / "trial"
    folder.mkdir()
    found, why = landlock.find([place / "work"], folder, port)
    assert found is None
    assert "does not work: it fails to hide files" in why
