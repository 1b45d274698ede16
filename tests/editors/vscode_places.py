"""A workspace of two folders, one of which VS Code calls otherwise; with a notebook in it."""

import json

from editors.vscode_session import VSCode

CELL = "tax = 0.19\n"
NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": [CELL]},
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 2,
}


def write(code: VSCode) -> dict[str, object]:
    """Write it, and have the window open it. Returns what the steps need to know."""
    library = code.folder / "library"
    library.mkdir()
    code.add_folders(**{"The library": library})
    for folder in (code.workspace, library):
        (folder / "list.txt").write_bytes(b"one\ntwo\n")
    (library / "two words.txt").write_bytes(b"these words are in the library\n")
    (code.workspace / "tax.ipynb").write_text(json.dumps(NOTEBOOK, indent=1) + "\n")
    return {"library": str(library), "cell": CELL}
