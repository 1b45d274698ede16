"""
List the files of a folder and of all folders below it.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.agent.tools import call
from handrail.core.failure import Failure
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results import search
from handrail.ports import Ports
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFiles:
    """List what is below `path`, or everything, as far as `glob` takes it."""

    path: str
    glob: str

    @property
    def title(self) -> str:
        """For people: what is being done."""
        return f"List {self.path or 'all files'}"

    @property
    def reads(self) -> tuple[str, ...]:
        """The folder that is listed."""
        return (self.path,) if self.path else ()

    async def run(self, places: Mapping[str, Place], ports: Ports) -> str | Failure:
        """The paths, or folders with the number of their files where there are too many."""
        files = await ports.workspace.files(places[self.path] if self.path else None, self.glob)
        return files if isinstance(files, Failure) else search.list_paths(files)


def parse(arguments: call.Arguments) -> ListFiles | Failure:
    """Read the arguments of a call."""
    path, glob = call.optional_text(arguments, "path"), call.optional_text(arguments, "glob")
    if isinstance(path, Failure):
        return path
    return glob if isinstance(glob, Failure) else ListFiles(path=path, glob=glob)


TOOL = call.Tool(
    kind=ToolKind.READ,
    offer=call.offer(
        "list_files",
        "List the files of a folder and of all folders below it. Ignored files (.gitignore) are left out. "
        "If there are too many, folders are shown with the number of files in them; list those by path.",
        {
            "path": {"type": "string", "description": "Only this folder."},
            "glob": {
                "type": "string",
                "description": "Only files that match, relative to path: *.py, src/**/*.{ts,tsx}",
            },
        },
        (),
    ),
    parse=parse,
)
