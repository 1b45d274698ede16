"""
Check the import contracts of pyproject.toml, and print how the packages of each layer stand on each other.

A package is a folder, or a module beside folders. Its level is 1 if it imports no sibling, else one more than
the highest level that it imports; an arrow is a pair of siblings of which one imports the other. What
import-linter says is printed only if a contract is broken.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Mapping
from functools import cache

import grimp
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

LAYERS = ("core", "adapters", "agent")
MOST_ARROWS = {"core": 30}  # with more, the picture cannot be remembered


def main() -> int:
    """Run import-linter and print the packages; the exit code is 1 if a contract or a bound is broken."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = lint_imports(cache_dir=".cache/import-linter")
    if code != EXIT_STATUS_SUCCESS:
        print(said.getvalue())
        return code
    graph = grimp.build_graph("handrail", cache_dir=".cache/grimp")
    for layer in LAYERS:
        imports = siblings(graph, f"handrail.{layer}")
        levels = levels_of(imports)
        arrows = sum(map(len, imports.values()))
        print(f"{layer}: {len(imports)} packages, {max(levels.values())} levels, {arrows} arrows")
        for name in sorted(imports, key=lambda name: (-levels[name], name)):
            below = ", ".join(sorted(imports[name])) or "nothing beside it"
            print(f"  {levels[name]}  {name} -> {below}")
        if arrows > MOST_ARROWS.get(layer, arrows):
            print(
                f"{layer} has {arrows} arrows between its packages; at most {MOST_ARROWS[layer]} are allowed."
            )
            code = 1
    return code


def siblings(graph: grimp.ImportGraph, parent: str) -> dict[str, set[str]]:
    """Returns which children of *parent* each child imports, by the last part of their names."""
    children = graph.find_children(parent)
    return {
        importer.rpartition(".")[2]: {
            imported.rpartition(".")[2]
            for imported in children - {importer}
            if graph.direct_import_exists(importer=importer, imported=imported, as_packages=True)
        }
        for importer in children
    }


def levels_of(imports: Mapping[str, set[str]]) -> dict[str, int]:
    """Returns the level of each package; the contracts have shown that there is no circle."""

    @cache
    def level(name: str) -> int:
        return 1 + max(map(level, imports[name]), default=0)

    return {name: level(name) for name in imports}


if __name__ == "__main__":
    sys.exit(main())
