"""
What the scripts run in, so that they pass or fail alike on every machine: a clean process environment, and
the project's own virtual environment, which is made on first use and renewed when its packages change.

Needs nothing but Python; `check.py` and `demo.py` begin here. Versions are pinned in `constraints.txt`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv"
OLDEST = (3, 11)
INTERRUPTED, NOT_READY = 130, 3  # exit codes: stopped with Ctrl-C; there is no virtual environment to run in

if sys.version_info < OLDEST:  # said here, before any script is read that an older Python cannot read
    print("handrail needs Python 3.11 or newer; this is " + sys.version.split()[0] + ".", file=sys.stderr)
    sys.exit(NOT_READY)

# What is kept of the caller's environment. What is not named here cannot change how a test ends: no Python
# options, virtual environment, locale, git settings or keys, and nothing that tells CI from a desk.
KEPT = (
    # this machine and its terminal
    r"PATH|HOME|TMPDIR|TERM|NO_COLOR",
    r"APPDATA|COMSPEC|LOCALAPPDATA|PATHEXT|PROGRAMDATA|SYSTEMDRIVE|SYSTEMROOT|TEMP|TMP|USERPROFILE|WINDIR",
    # the way to the packages: proxies, certificates, indexes of one's own and their configuration
    r"(ALL|FTP|HTTP|HTTPS|NO)_PROXY",
    r"CURL_CA_BUNDLE|NETRC|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|SSL_CERT_DIR|SSL_CERT_FILE|XDG_CONFIG_HOME",
    r"PIP_(CACHE_DIR|CERT|CLIENT_CERT|CONFIG_FILE|DEFAULT_TIMEOUT|EXTRA_INDEX_URL|FIND_LINKS|INDEX_URL)",
    r"PIP_(KEYRING_PROVIDER|NO_INDEX|PROXY|RETRIES|TIMEOUT|TRUSTED_HOST)",
    r"NPM_CONFIG_(CA|CACHE|CAFILE|GLOBALCONFIG|HTTPS_PROXY|NOPROXY|PROXY|REGISTRY|STRICT_SSL|USERCONFIG)",
    # how much the tests try
    r"HANDRAIL_(ACTS|BRIEF|CALLS|CHAT_STEPS|COMMANDS|ESCAPES|EXAMPLES|KILLS|LINES|MACHINE_S|PROCESSES|REPLAY_FILES)",
    r"HANDRAIL_(ROUNDS|SCENARIOS_S)",
)
LOCAL = "localhost,127.0.0.1,::1"  # servers of the tests, which no proxy reaches


def run(main: Callable[[], int]) -> None:
    """Ends this process with the exit code of *main*, which runs in a clean environment."""
    _clean()
    try:
        try:
            code = main()
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:  # nobody reads how it ends: not a success, as the rest was not done
        code = 1
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())  # for what Python flushes at its own end
    sys.exit(code)


def clean(given: dict[str, str]) -> dict[str, str]:
    """
    The environment for this process and its children.

    Args:
        given: The caller's.
    """
    kept = {name: value for name, value in given.items() if re.fullmatch("|".join(KEPT), name, re.IGNORECASE)}
    if any(name.lower().endswith("_proxy") for name in kept):
        direct = kept.pop("NO_PROXY", None), kept.pop("no_proxy", None), LOCAL
        kept["NO_PROXY"] = kept["no_proxy"] = ",".join(names for names in direct if names)
    kept["PIP_USER"] = "0"  # a virtual environment refuses what a pip.conf may ask for otherwise
    return kept


def ensure(extras: tuple[str, ...] = (), *, is_own: bool = False) -> Path:
    """
    Make sure that the virtual environment holds this project with *extras*.

    Args:
        is_own: Whether it is one for this very Python, and not for all of its version.

    Returns:
        Its Python, of the same version as the one that runs this. Ends the process with a sentence and
        NOT_READY if that cannot be done.
    """
    version = ".".join(map(str, sys.version_info[: 3 if is_own else 2]))
    folder = ROOT / ".cache" / f"python-{version}" if is_own else _folder(version)
    python = _python(folder)
    stamp = folder / f"handrail-{'-'.join(extras) or 'plain'}"
    wanted = _fingerprint(extras)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted and python.exists():
        return python
    print(f"Preparing {folder.relative_to(ROOT).as_posix()} (once) ...", flush=True)
    if not python.exists():
        _call(sys.executable, "-m", "venv", "--clear", str(folder))
    elif _call(str(python), "-c", "import pip"):  # its making was interrupted, or another tool made it
        _call(sys.executable, "-m", "venv", str(folder))
    if not python.exists() or _call(str(python), "-c", "import pip"):
        _give_up("Python's module venv does not work here; on Debian and Ubuntu: apt install python3-venv.")
    names = f".[{','.join(extras)}]" if extras else "."
    # Without `--no-compile`, pip compiles all that it installs: a third of its work, and more than is used.
    quiet = ("install", "-qq", "--no-compile", "--constraint", "constraints.txt")
    if _call(str(python), *PIP, *quiet, "--editable", names):
        _give_up(f"Installing on Python {version} failed; pip says above why.")
    stamp.write_text(wanted, encoding="utf-8")
    return python


PIP = ("-m", "pip", "--disable-pip-version-check")


def _clean() -> None:
    """Gives this process what all its children shall have."""
    kept = clean(dict(os.environ))
    os.environ.clear()
    os.environ.update(kept)
    os.umask(0o022)  # tests look at permissions
    for number in range(3):
        with contextlib.suppress(OSError):
            os.fstat(number)
            continue
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # which takes the lowest number that is free


def _folder(version: str) -> Path:
    """`.venv`; but if another version of Python has made that, a folder for this version."""
    try:
        made = (FOLDER / "pyvenv.cfg").read_text(encoding="utf-8")
    except FileNotFoundError:
        return FOLDER
    ours = re.search(rf"^version(_info)? *= *{re.escape(version)}\b", made, re.MULTILINE)
    return FOLDER if ours or not _python(FOLDER).exists() else ROOT / ".cache" / f"python-{version}"


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _fingerprint(extras: tuple[str, ...]) -> str:
    """A hash of what the environment should hold, and of where it is: it cannot be moved."""
    read = (ROOT / "pyproject.toml").read_bytes() + (ROOT / "constraints.txt").read_bytes()
    return hashlib.sha256(os.fsencode(ROOT) + f"{sys.version} {extras}".encode() + read).hexdigest()


def _call(*command: str) -> int:
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _give_up(why: str) -> None:
    print(why, file=sys.stderr)
    sys.exit(NOT_READY)
