"""
List the problems that language servers or checks report, in one file or in all.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.agent.tools import call
from handrail.core.failure import Failure
from handrail.core.ledger import problems
from handrail.core.ledger.problems import DocumentProblems
from handrail.core.policy.grants import Rights
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.policy.verdict import Allow, Request, verdict
from handrail.ports import Ports
from handrail.ports.languages import PROBLEMS, Report, Unknown, Unwatched
from handrail.values import dataclass

WAIT_S = 2.0
NOTHING_KNOWN = "No problems are known. Give a path to ask about one file."
READ = "read_file"  # the tool by which a model would read the same documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Problems:
    """List the problems of the file at `path`, or all that are known."""

    path: str

    @property
    def title(self) -> str:
        """For people: what is being done."""
        return f"List problems of {self.path}" if self.path else "List problems"

    @property
    def reads(self) -> tuple[str, ...]:
        """The file, if one is named."""
        return (self.path,) if self.path else ()

    async def run(self, places: Mapping[str, Place], ports: Ports) -> str | Failure:
        """A problem in each line; the first lines first."""
        if not self.path:
            found_in_all = await _readable_problems(ports)
            return problems.report_all(found_in_all) if found_in_all else NOTHING_KNOWN
        place = places[self.path]
        document = await ports.editor.read(place.uri)
        if isinstance(document, Failure):
            return document
        match (await ports.languages.problems([document.uri], WAIT_S)).get(document.uri):
            case Report(problems=found, missing=missing):
                listed = problems.report_all([DocumentProblems(path=place.path, problems=_in_order(found))])
                return "\n".join((listed if found or not missing else "", *missing)).lstrip("\n")
            case Unwatched() if ports.terms.is_headless:
                return f"Unknown: no check reports on {place.path}."
            case Unwatched():
                return (
                    f"Unknown: no language server or check has reported on {place.path}; some report only "
                    f"while the file is open in the editor."
                )
            case Unknown() | None:
                return problems.report_all((), [place.path])


async def _readable_problems(ports: Ports) -> list[DocumentProblems]:
    """Those of the documents that the model may read without a question."""
    rights = Rights(rules=ports.rules(), grants=await ports.grants.load())
    result = []
    for uri, known in (await ports.languages.known_problems()).items():
        place = ports.workspace.resolve(uri)
        if isinstance(place, Place) and all(
            isinstance(verdict(Request(tool=tool, kind=ToolKind.READ, places=(place,)), rights), Allow)
            for tool in (READ, PROBLEMS)
        ):
            result.append(DocumentProblems(path=place.path, problems=_in_order(known)))
    return sorted(result, key=lambda each: each.path)


def _in_order(listed: tuple[problems.Problem, ...]) -> tuple[problems.Problem, ...]:
    return tuple(sorted(listed, key=lambda each: each.line))


def parse(arguments: call.Arguments) -> Problems | Failure:
    """Read the arguments of a call."""
    path = call.optional_text(arguments, "path")
    return path if isinstance(path, Failure) else Problems(path=path)


TOOL = call.Tool(
    kind=ToolKind.READ,
    offer=call.offer(
        PROBLEMS,
        "List the errors and warnings that language servers or the user's checks report.",
        {"path": {"type": "string", "description": "Only this file. Default: all."}},
        (),
    ),
    parse=parse,
    needs=PROBLEMS,
)
