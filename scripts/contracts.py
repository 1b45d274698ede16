"""Check the import contracts of pyproject.toml; print them only if one is broken."""

from __future__ import annotations

import contextlib
import io
import sys

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports


def main() -> int:
    """Run import-linter; the exit code is its own."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = lint_imports(cache_dir=".cache/import-linter")
    if code != EXIT_STATUS_SUCCESS:
        print(said.getvalue())
    return code


if __name__ == "__main__":
    sys.exit(main())
