"""
Each kind of thing is declared once: a dummy of each is added to its one table, and nothing else is touched.

Where files are made from the table, the gate says how to make them again.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from adapters.model_server import Raw, Say, model_server
from bench import Bench
from handrail.adapters.models import formats, providers
from handrail.adapters.models.keys import Keys
from handrail.agent import tools
from handrail.agent.tools import call as tool_call
from handrail.agent.tools import patch
from handrail.agent.turn import loop
from handrail.core.conversation.message import Response, UserMessage
from handrail.core.conversation.prompt import Mode
from handrail.core.documents.change import Status
from handrail.core.engine import jsonl
from handrail.core.failure import Code, Failure
from handrail.core.patches import notations, reply
from handrail.core.patches.hunk import FilePatch, Hunk, Operation
from handrail.core.policy.rules import Decision, Rule
from handrail.core.policy.tool_kind import ToolKind
from handrail.lsp import protocol, server, settings
from handrail.lsp.features import turn
from handrail.lsp.settings.setting import Scope, Setting
from handrail.ports import ModelChoice, ProviderError, Terms
from handrail.testing import answer, call, lay_out

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
import generate  # found by the line above


def dummy(kind: ToolKind) -> tool_call.Tool:
    """A tool that removes a file, whatever its *kind* says."""

    def parse(arguments: tool_call.Arguments) -> tool_call.Edits | Failure:
        path = tool_call.path(arguments)
        if isinstance(path, Failure):
            return path
        return tool_call.Edits(title="Remove", patches=(FilePatch(path=path, operation=Operation.DELETE),))

    offer = tool_call.offer("remove_file", "Remove a file.", {"path": {"type": "string"}}, ("path",))
    return tool_call.Tool(kind=kind, offer=offer, parse=parse)


def add_tool(monkeypatch: pytest.MonkeyPatch, kind: ToolKind) -> None:
    monkeypatch.setitem(tools.TOOLS, "remove_file", dummy(kind))  # type: ignore[arg-type]  # a dict


async def test_a_tool_is_one_entry(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> None:
    add_tool(monkeypatch, ToolKind.EDIT)
    assert "remove_file" in {offer.name for offer in loop.offers(Mode.EDIT, bench.ports())}
    assert "remove_file" not in {offer.name for offer in loop.offers(Mode.ASK, bench.ports())}
    lay_out(bench.root, {"a.py": b"x\n"})
    bench.says(answer("", call("remove_file", path="a.py")), answer("Done."))
    report = await bench.turn()
    assert [outcome.status for outcome in report.outcomes] == [Status.LANDED]
    assert not (bench.root / "a.py").exists()


@pytest.mark.parametrize("group", ["edit", "*", "remove_file"])
async def test_a_rule_for_a_group_holds_for_a_new_tool(
    group: str, monkeypatch: pytest.MonkeyPatch, bench: Bench
) -> None:
    add_tool(monkeypatch, ToolKind.EDIT)
    lay_out(bench.root, {"a.py": b"x\n"})
    rule = Rule(tool=group, match="*", decision=Decision.BLOCK)
    bench.terms = Terms(rules=(rule,))
    bench.says(answer("", call("remove_file", path="a.py")), answer("Done."))
    await bench.turn()
    assert (bench.root / "a.py").read_bytes() == b"x\n"
    assert bench.results() == [("c1-1", "blocked")]


async def test_a_tool_does_nothing_but_what_its_kind_says(
    monkeypatch: pytest.MonkeyPatch, bench: Bench
) -> None:
    add_tool(monkeypatch, ToolKind.READ)
    lay_out(bench.root, {"a.py": b"x\n"})
    bench.says(answer("", call("remove_file", path="a.py")), answer("Done."))
    await bench.turn()
    assert (bench.root / "a.py").read_bytes() == b"x\n"
    assert "of kind 'read'" in bench.texts()[0]


ARROW = "=> old\n=> new"


def add_notation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notation of two rows, `=> OLD` and `=> NEW`, below the name of their file."""

    def read(text: str, path: str, others: tuple[str, ...]) -> tuple[FilePatch, ...] | Failure:
        old, new = (row.removeprefix("=> ") for row in text.strip().split("\n"))
        return (FilePatch(path=path, operation=Operation.UPDATE, hunks=(Hunk(number=1, old=old, new=new),)),)

    def ends_at(lines: Sequence[str], at: int) -> int | None:
        return at + 2 if lines[at].startswith("=> ") else None

    arrow = notations.Notation(
        name="arrow", read=read, names_files=False, title="arrows", example=ARROW, ends_at=ends_at
    )
    monkeypatch.setitem(notations.NOTATIONS, "arrow", arrow)


async def test_a_notation_is_one_entry(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> None:
    add_notation(monkeypatch)
    offer = patch.tool().offer
    assert json.dumps({"mode": "arrow", "path": "a.py", "patch": ARROW}) in offer.description
    assert json.loads(offer.schema)["properties"]["mode"]["enum"][-1] == "arrow"
    lay_out(bench.root, {"a.py": b"old\n", "b.py": b"old\n"})
    bench.says(
        answer("", call("patch", mode="arrow", path="a.py", patch=ARROW)),
        answer(f"This is it:\n\nb.py\n\n{ARROW}\n"),
        answer("Done."),
    )
    report = await bench.turn()
    assert [outcome.status for outcome in report.outcomes] == [Status.LANDED] * 2
    assert [(bench.root / name).read_bytes() for name in ("a.py", "b.py")] == [b"new\n"] * 2


def test_the_bare_engine_knows_a_new_notation(monkeypatch: pytest.MonkeyPatch) -> None:
    add_notation(monkeypatch)
    files = {name: base64.b64encode(b"old\n").decode() for name in ("a.py", "b.py")}
    request = {"kind": "arrow", "files": files, "patch": f"b.py\n\n{ARROW}\n"}
    assert jsonl.answer(json.dumps(request).encode())["files"] == {
        "b.py": base64.b64encode(b"new\n").decode()
    }


def test_a_fence_around_a_new_notation_is_only_wrapping(monkeypatch: pytest.MonkeyPatch) -> None:
    add_notation(monkeypatch)
    (block,) = reply.read(f"Here:\n\na.py\n```\n{ARROW}\n```\n").blocks
    assert (str(block.notation), block.path, block.text) == ("arrow", "a.py", ARROW)


def test_the_documentation_of_the_engine_names_all_notations() -> None:
    *most, last = (f"`{name}`" for name in notations.NOTATIONS)
    sentence = f"The `kind` of a request with a `patch` is {', '.join(most)} or {last}."
    page = Path(__file__).parents[1] / "docs" / "engine.md"
    assert sentence in page.read_text(encoding="utf-8"), f"docs/engine.md: it must say: {sentence}"


def add_provider(monkeypatch: pytest.MonkeyPatch, like: str = "openai-chat") -> None:
    acme = replace(
        formats.FORMATS[like],
        name="acme",
        key_name="ACME_TOKEN",
        base_url_name="ACME_URL",
        listing=formats.Listing(path="/catalogue", under="items"),
    )
    monkeypatch.setitem(formats.FORMATS, "acme", acme)


async def test_a_provider_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    add_provider(monkeypatch)
    async with model_server(Say(text="Hello.")) as server:
        keys = Keys({"ACME_TOKEN": "the-token", "ACME_URL": server.url("openai-chat")})
        provider = providers.provider(ModelChoice(model="acme:m"), keys)
        pieces = [piece async for piece in provider.complete([UserMessage(text="Hi.")], [])]
        assert isinstance(pieces[-1], Response)
        assert pieces[-1].text == "Hello."
        assert server.keys == ["the-token"]
        server.pages = {"/v1/catalogue": Raw(200, b'{"items": [{"id": "m"}]}')}
        listed = await providers.Providers(keys).models(ModelChoice(model="acme:m"))
        assert [each.model for each in listed] == ["acme:m"]


@pytest.mark.parametrize("like", ["openai-chat", "openai-responses", "anthropic"])
async def test_a_new_provider_speaks_the_format_of_its_entry(
    like: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_provider(monkeypatch, like)
    async with model_server(Say(text="Hello.")) as server:
        keys = Keys({"ACME_TOKEN": "the-token", "ACME_URL": server.url(like)})
        provider = providers.provider(ModelChoice(model="acme:m"), keys)
        pieces = [piece async for piece in provider.complete([UserMessage(text="Hi.")], [])]
        assert isinstance(pieces[-1], Response)
        assert pieces[-1].text == "Hello."
        assert server.kinds == [like]


async def test_a_new_provider_is_asked_for_its_window_as_its_entry_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add_provider(monkeypatch, "ollama")
    loaded = {"models": [{"name": "m:latest", "context_length": 8_192}]}
    async with model_server() as server:
        server.pages = {"/api/ps": Raw(200, json.dumps(loaded).encode())}
        keys = Keys({"ACME_URL": server.url("openai-chat")})
        provider = providers.provider(ModelChoice(model="acme:m"), keys)
        await provider.prepare()
        assert provider.context_tokens == 8_192


async def test_a_new_provider_without_a_key_names_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    add_provider(monkeypatch)
    with pytest.raises(ProviderError, match="Put the key into the environment variable ACME_TOKEN"):
        await providers.Providers(Keys({})).models(ModelChoice(model="acme:m"))


@pytest.mark.parametrize("kind", [*formats.FORMATS, *formats.ALIASES])
def test_the_documentation_names_each_provider(kind: str) -> None:
    page = (Path(__file__).parents[1] / "docs" / "models.md").read_text(encoding="utf-8")
    assert f"| `{kind}:NAME` |" in page, f"docs/models.md: add a row for {kind}"
    assert f"`{kind}:NAME`" in settings.MODEL.does, f"settings/table.py: MODEL: name {kind}"


def test_a_failure_code_is_one_entry(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    added = SimpleNamespace(value="out-of-ink", page="The pen is empty. Fill it.")
    monkeypatch.setattr(generate, "Code", [*Code, added])
    assert "## out-of-ink\n\nThe pen is empty. Fill it.\n" in generate.failures_md()
    assert '| "out-of-ink"' in generate.protocol_ts()
    assert generate.main(["--check"]) == 1
    told = capsys.readouterr().out
    assert "docs/failures.md: out of date; run `python3 scripts/generate.py`" in told
    assert "client-vscode/src/protocol.ts: out of date" in told


def test_every_failure_code_has_a_page() -> None:
    assert not [code for code in Code if not code.page.endswith(".")]


def test_a_setting_is_one_entry(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    added = Setting(
        name="ink.colour", default="blue", scope=Scope.WINDOW, choices=("blue", "red"), does="Ink."
    )
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS, added))
    assert settings.settle({"ink.colour": "red"}, None, None).text(added) == "red"
    assert settings.settle({"ink.colour": "green"}, None, None).problems
    assert '"handrail.ink.colour"' in generate.manifest()
    assert '"setting.ink.colour": "Ink."' in generate.manifest_strings()
    assert "`handrail.ink.colour`" in generate.settings_md()
    assert generate.main(["--check"]) == 1
    told = capsys.readouterr().out
    assert "docs/settings.md: out of date; run `python3 scripts/generate.py`" in told


@pytest.mark.parametrize("make", [generate.protocol_ts, generate.protocol_md])
def test_a_request_is_documented_from_its_entry(
    make: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    added = protocol.Request(
        name="ink.fill", params=protocol.TurnWaitParams, result=None, does="Fills the pen."
    )
    monkeypatch.setattr(protocol, "REQUESTS", (*protocol.REQUESTS, added))
    assert "Fills the pen." in make()


def test_a_request_is_offered_from_its_entry(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    added = protocol.Request(
        name="ink.fill", params=protocol.TurnWaitParams, result=None, does="Fills the pen."
    )
    monkeypatch.setattr(protocol, "REQUESTS", (*protocol.REQUESTS, added))
    monkeypatch.setattr(server, "HANDLERS", (*server.HANDLERS, (added, turn.wait)))
    offered = json.loads(generate.capabilities_json())
    assert offered["experimental"]["handrail"]["requests"][-1] == "handrail/ink/fill"
    assert offered["executeCommandProvider"]["commands"][-1] == "handrail.ink.fill"
    assert generate.main(["--check"]) == 1
    told = capsys.readouterr().out
    assert "server/handrail/lsp/capabilities.json: out of date; run `python3 scripts/generate.py`" in told


def test_every_field_of_the_protocol_is_described() -> None:
    missing = generate.undescribed()
    assert not missing, f"describe in the `Attributes:` of its class: {', '.join(missing)}"


def test_a_field_without_a_description_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Ink:
        """
        What a pen writes with.

        Attributes:
            colour: Its colour.
        """

        kind: Literal["ink"]
        colour: str
        millilitres_left: int

    @dataclass(frozen=True, slots=True, kw_only=True)
    class RedInk(Ink):
        """
        Red ink.

        Attributes:
            shade: Which red.
        """

        shade: str
        price: float

    for added in (Ink, RedInk):
        added.__module__ = protocol.values.__name__
        monkeypatch.setattr(protocol.values, added.__name__, added, raising=False)
    assert generate.undescribed() == ["Ink.millilitresLeft", "RedInk.millilitresLeft", "RedInk.price"]


def test_a_description_reaches_all_that_is_made_from_it() -> None:
    told = "Seconds until the time for an answer is over."
    definition = json.loads(generate.protocol_schema())["$defs"]["ApprovalRequestParams"]
    assert definition["properties"]["secondsLeft"] == {"type": "number", "description": told}
    for made in (generate.protocol_ts(), generate.protocol_md()):
        assert made.count(told) == 2  # with the question, and with the request that asks it
