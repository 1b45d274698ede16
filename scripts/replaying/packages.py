"""
Consecutive releases of real packages, fetched once with the registries' own clients into a cache folder.

Source distributions and npm packages carry what their authors write: code in several languages, Markdown,
reStructuredText, YAML, TOML and JSON. Versions are pinned, so that a replay can be repeated.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import install_editors

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / ".cache" / "replay"
MARKER = ".fetched"

PYTHON: tuple[tuple[str, str, str], ...] = (
    ("flask", "3.0.3", "3.1.0"),
    ("rich", "13.7.1", "13.8.0"),
    ("mkdocs", "1.5.3", "1.6.0"),
    ("yamllint", "1.35.1", "1.36.0"),
    ("ansible-lint", "24.6.1", "24.9.2"),
    ("pre-commit", "3.7.1", "3.8.0"),
    ("httpx", "0.27.2", "0.28.1"),
)
NPM: tuple[tuple[str, str, str], ...] = (
    ("express", "4.18.3", "4.19.2"),
    ("zod", "3.22.4", "3.23.8"),
    ("rxjs", "7.8.0", "7.8.1"),
    ("commander", "11.1.0", "12.0.0"),
    ("preact", "10.19.7", "10.20.2"),
    ("fastify", "4.26.2", "4.27.0"),
    ("svelte", "4.2.12", "4.2.15"),
    ("nunjucks", "3.2.3", "3.2.4"),
    ("bootstrap", "5.3.2", "5.3.3"),
)


def fetched() -> Iterator[tuple[Path, Path]]:
    """The folders of each package's two releases; what is not there is fetched first."""
    for packages, fetch in ((PYTHON, _python), (NPM, _npm)):
        for name, *versions in packages:
            old, new = (_once(CACHE / f"{name}-{version}", name, version, fetch) for version in versions)
            yield old, new


def _once(folder: Path, name: str, version: str, fetch: Callable[[str, str, Path], None]) -> Path:
    """The folder with a release; a fetch that was broken off is begun anew."""
    if not (folder / MARKER).exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        print(f"Fetching {name} {version} ...", file=sys.stderr, flush=True)
        fetch(name, version, folder)
        (archive,) = (path for path in folder.iterdir() if path.name.endswith((".tgz", ".tar.gz")))
        with tarfile.open(archive) as packed:
            files = [each for each in packed if each.isfile() and _is_inside(each.name)]
            packed.extractall(folder, files)  # its filters came with Python 3.11.4
        archive.unlink()
        (folder / MARKER).touch()
    return folder


def _python(name: str, version: str, folder: Path) -> None:
    # Only the package itself comes as source: what pip needs to read its metadata need not be built.
    options = ("--disable-pip-version-check", "-qq", "--no-deps", "--no-binary", name)
    _run(sys.executable, "-m", "pip", "download", *options, f"{name}=={version}", folder=folder)


def _npm(name: str, version: str, folder: Path) -> None:
    npm = shutil.which("npm") or str(install_editors.install_node() / "npm")
    _run(npm, "pack", "--silent", f"{name}@{version}", folder=folder)


def _run(*command: str, folder: Path) -> None:
    path = os.pathsep.join((str(Path(command[0]).parent), os.environ.get("PATH", "")))
    try:
        environment = {**os.environ, "PATH": path}  # npm starts the node beside it
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=environment)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"A package could not be fetched: {error}") from error


def _is_inside(name: str) -> bool:
    """Whether a file of an archive lies in the folder that it is unpacked to."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts
