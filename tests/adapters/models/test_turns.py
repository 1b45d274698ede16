"""Whole turns with a model behind HTTP that misbehaves: what the user sees, and what the history holds."""

from __future__ import annotations

import json
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from adapters.model_server import (
    FORMATS,
    SIGNED,
    WINDOWS,
    Call,
    Drop,
    ModelServer,
    Raw,
    Refuse,
    Say,
    events,
    model_server,
)
from bench import Bench
from handrail.adapters.models.address import Address
from handrail.adapters.models.keys import Keys
from handrail.adapters.models.providers import Providers
from handrail.adapters.models.record import Record
from handrail.adapters.models.remote import Remote
from handrail.adapters.models.scripted import Scripted
from handrail.adapters.state.session_log import SessionLog
from handrail.agent.archive import Archive
from handrail.core.conversation import journal
from handrail.core.conversation.message import (
    AssistantMessage,
    Response,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from handrail.core.ledger.report import Retried, State, ThoughtDelta, TurnReport
from handrail.core.results import key_names
from handrail.ports import ModelChoice, Provider, ProviderError
from handrail.testing import lay_out

KEY = "sk-very-secret-key-0123456789"
each_format = pytest.mark.parametrize("kind", FORMATS)
READ = Call(arguments='{"path": "a.txt"}')
EDIT = Call(
    name="patch", arguments='{"path": "a.txt", "old_string": "one", "new_string": "ONE"}', id="call_2"
)


def remote(server: ModelServer, kind: str) -> Provider:
    # Only of models that are known to reason is reasoning taken back by OpenAI's newer format.
    name = "gpt-5" if kind == "openai-responses" else "m"
    return Remote(
        lambda: Address(
            kind=kind, name=name, base_url=server.url(kind), key=KEY, window_tokens=WINDOWS.get(kind, 0)
        ),
        0.3,
    )


async def turn(bench: Bench, server: ModelServer, kind: str) -> TurnReport:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n"})
    bench.provider = remote(server, kind)
    report = await bench.turn()
    open_calls: list[str] = []
    for message in bench.history():
        if isinstance(message, ToolMessage):
            assert [result.call for result in message.results] == open_calls
            open_calls = []
        elif isinstance(message, AssistantMessage):
            open_calls = [call.id for call in message.calls]
    assert not open_calls
    assert KEY not in repr(bench.events)
    assert KEY not in repr(bench.history())
    return report


@each_format
async def test_a_turn_that_survives_everything(kind: str, bench: Bench) -> None:
    """Each step fails first, in another way, and is begun anew."""
    answers = (
        Refuse(status=429, code="rate_limit_error", headers={"Retry-After": "3"}),
        Refuse(status=500, message="Your key {key} broke us."),
        Say(text="Let me look.", calls=(READ,), finish="tools", breaks_after=3),
        Say(text="Let me look.", calls=(READ,), finish="tools"),
        Drop(),
        Say(text="Now I change it.", calls=(EDIT,), finish="tools", ends_after=4),
        Say(text="Now I change it.", calls=(EDIT,), finish="tools", hangs_after=4),
        Say(text="Now I change it.", calls=(EDIT,), finish="tools"),
        Say(text="Done with it, all of it.", garbles=2),
        Say(text="Done with it, all of it."),
    )
    async with model_server(*answers) as server:
        report = await turn(bench, server, kind)
    assert (report.state, report.answer) == (State.FINISHED, "Done with it, all of it.")
    assert (bench.root / "a.txt").read_bytes() == b"ONE\ntwo\n"
    assert len([event for event in bench.events if isinstance(event, Retried)]) == 7
    assert bench.pauses[0] == 3.0
    assert (report.usage.steps, report.usage.input_tokens) == (3, 33)


@each_format
async def test_a_call_that_was_cut_is_told_and_made_anew(kind: str, bench: Bench) -> None:
    cut = Call(name="patch", arguments=EDIT.arguments[:30])
    async with model_server(
        Say(calls=(cut,), finish="length"), Say(calls=(EDIT,), finish="tools"), Say(text="Done.")
    ) as server:
        report = await turn(bench, server, kind)
    assert (report.state, report.answer) == (State.FINISHED, "Done.")
    assert "patch (30 characters arrived)" in json.dumps(server.asked[1])
    assert (bench.root / "a.txt").read_bytes() == b"ONE\ntwo\n"


@each_format
async def test_two_empty_answers_and_a_refusal(kind: str, bench: Bench) -> None:
    async with model_server(Say(), Say()) as server:
        report = await turn(bench, server, kind)
    assert (report.state, report.answer) == (State.STOPPED, "")
    if kind == "ollama":
        return  # a model of Ollama's refuses in words
    async with model_server(Say(text="I will not.", finish="filter")) as server:
        bench.provider = remote(server, kind)
        report = await bench.turn()
    assert report.state is State.STOPPED


@each_format
async def test_a_wrong_key_ends_the_turn_at_once(kind: str, bench: Bench) -> None:
    async with model_server(Refuse(status=401, message="Incorrect API key provided: {key}.")) as server:
        report = await turn(bench, server, kind)
    assert report.state is State.FAILED
    assert "HTTP 401: Incorrect API key provided" in (report.reason or "")
    assert KEY not in (report.reason or "")


@each_format
async def test_a_server_that_is_not_there(kind: str, bench: Bench) -> None:
    async with model_server() as server:
        pass
    report = await turn(bench, server, kind)
    assert report.state is State.FAILED
    assert bench.pauses == [0.5, 1.0, 2.0, 4.0, 8.0]


@each_format
async def test_reasoning_goes_back_with_the_results(kind: str, bench: Bench) -> None:
    """What a provider signs it wants to have back as it was; without it the next step is refused."""
    again = Call(arguments='{"path": "a.txt", "start_line": 2}')  # by the same id, which is made another one
    async with model_server(
        Say(thinking="I must look first.", text="Let me look.", calls=(READ,), finish="tools"),
        Say(thinking="And once more.", calls=(again,), finish="tools"),
        Say(text="Done."),
    ) as server:
        report = await turn(bench, server, kind)
    assert (report.state, report.answer) == (State.FINISHED, "Done.")
    assert "".join(e.delta for e in bench.events if isinstance(e, ThoughtDelta)) == (
        "I must look first.And once more."
    )
    for asked, times in ((server.asked[1], 1), (server.asked[2], 2)):
        said = json.dumps(asked)
        assert said.count("I must look first.") == 1
        assert said.count("Let me look.") == 1
        assert said.count(SIGNED) == (0 if kind in ("openai-chat", "ollama") else times)
    last = json.dumps(server.asked[2])
    assert last.count("call_1-2") == 2, "the call and its result go by the same name"


@each_format
async def test_reasoning_outlives_the_server(kind: str, bench: Bench, tmp_path: Path) -> None:
    """It is in the journal, so a session that is taken up again is the same for its provider."""
    log = SessionLog(lambda: tmp_path / "sessions")
    bench.host.archive = Archive(journals=log)
    async with model_server(
        Say(thinking="I must look first.", calls=(READ,), finish="tools"), Say(text="Done.")
    ) as server:
        await turn(bench, server, kind)
    entries = await log.load("s-1")
    assert entries is not None
    assert journal.replay(entries).messages == bench.history()
    assert any(isinstance(each, AssistantMessage) and each.private for each in bench.history())


MALFORMED = {
    "an id that is a number": ('"call_1"', "7"),
    "an id that is a list": ('"call_1"', '["call_1"]'),
    "a name that is null": ('"read_file"', "null"),
    "a name that is a number": ('"read_file"', "7"),
    "arguments that are a number": ('{"path": "a.txt"}', "5"),
    "a name that is an object": ('"read_file"', '{"name": "read_file"}'),
    "a signature that is a list": (f'"{SIGNED}"', "[]"),
    "a count with 400 digits": (": 11,", f": {10**400},"),
    "a count that is not whole": (": 11,", ": 11.5,"),
    "a count below zero": (": 11,", ": -11,"),
    "a count that is text": (": 11,", ': "many",'),
    "text that is a number": ('"Let me "', "5"),
    "reasoning that is a number": ('"I must "', "5"),
}


@each_format
@pytest.mark.parametrize(("good", "bad"), MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_malformed_answer_is_repeated_or_told_and_the_session_goes_on(
    kind: str, good: str, bad: str, bench: Bench, tmp_path: Path
) -> None:
    say = Say(thinking="I must look first.", text="Let me look.", calls=(READ,), finish="tools")
    body = "".join(events(say, kind)).replace(good, bad).encode()
    rows = {"Content-Type": "application/x-ndjson" if kind == "ollama" else "text/event-stream"}
    log = SessionLog(lambda: tmp_path / "sessions")
    bench.host.archive = Archive(journals=log)
    fine = [Say(text=text) for text in ("Done.", "Again.", "Later.")]
    async with model_server(Raw(200, body, rows), *fine) as server:
        report = await turn(bench, server, kind)
        assert (report.state, report.answer) == (State.FINISHED, "Done.")
        assert (await bench.turn("s-1")).answer == "Again."
        entries = await log.load("s-1")
        assert entries is not None
        read = journal.replay(entries)
        made = [each for each in bench.history() if isinstance(each, AssistantMessage)]
        assert [each for each in read.messages if isinstance(each, AssistantMessage)] == made
        assert read.usage == bench.host.sessions["s-1"].spent
        assert [each.state for each in read.turns] == ["finished"] * 2
        await bench.host.resume("s-1")
        assert (await bench.turn("s-1")).answer == "Later."


@each_format
@pytest.mark.parametrize("event", ["[]", "5", "null", '"text"'])
async def test_an_event_that_is_not_an_object_is_no_fault_of_handrail(
    kind: str, event: str, bench: Bench
) -> None:
    rows = list(events(Say(text="Let me look."), kind))
    if kind == "ollama":
        rows[0] = f"{event}\n"
    else:
        rows[0] = f"{rows[0].partition('data: ')[0]}data: {event}\n\n"
    type_ = {"Content-Type": "application/x-ndjson" if kind == "ollama" else "text/event-stream"}
    async with model_server(Raw(200, "".join(rows).encode(), type_), Say(text="Done.")) as server:
        report = await turn(bench, server, kind)
    assert "Internal error" not in (report.reason or "")


async def test_reasoning_that_no_server_takes_back_is_left_out(bench: Bench) -> None:
    """A session may have some from before this was looked at."""
    call = ToolCall(id="c1", name="read_file", arguments="{}")
    part = {"part_kind": "thinking", "content": "Hm.", "signature": []}
    private = f"anthropic:m\n{json.dumps([{'kind': 'response', 'parts': [part]}])}"
    async with model_server(Say(text="Done.")) as server:
        lay_out(bench.root, {"a.txt": b"one\n"})
        bench.provider = remote(server, "anthropic")
        said = (
            UserMessage(text="Go."),
            AssistantMessage(text="", calls=(call,), private=private),
            ToolMessage(results=(ToolResult(call="c1", text="one"),)),
        )
        pieces = [piece async for piece in bench.provider.complete(said, [])]
    assert isinstance(pieces[-1], Response)
    assert pieces[-1].text == "Done."


@each_format
async def test_reasoning_without_a_signature_is_never_the_user_s(kind: str, bench: Bench) -> None:
    """Some gateways leave signatures out."""
    say = Say(thinking="I must look first.", calls=(READ,), finish="tools")
    body = "".join(events(say, kind)).replace(SIGNED, "").encode()
    rows = {"Content-Type": "application/x-ndjson" if kind == "ollama" else "text/event-stream"}
    async with model_server(Raw(200, body, rows), Say(text="Done.")) as server:
        report = await turn(bench, server, kind)
    assert (report.state, report.answer) == (State.FINISHED, "Done.")
    messages = server.asked[1]["input" if kind == "openai-responses" else "messages"]
    said = [json.dumps(each) for each in messages if each.get("role") == "user"]
    assert said
    assert not any("I must look" in each for each in said)


async def test_reasoning_of_one_provider_is_not_sent_to_another(bench: Bench) -> None:
    async with model_server(
        Say(thinking="I must look first.", calls=(READ,), finish="tools"), Say(text="Done."), Say(text="Yes.")
    ) as server:
        await turn(bench, server, "anthropic")
        bench.provider = remote(server, "openai-responses")
        report = await bench.turn("s-1")
    assert report.state is State.FINISHED
    said = json.dumps(server.asked[2])
    assert "I must look first." not in said
    assert SIGNED not in said
    assert "call_1" in said


async def test_what_was_recorded_is_replayed(bench: Bench, tmp_path: Path) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n"})
    file = tmp_path / "record.json"
    answers = (
        Say(calls=(READ,), finish="tools"),
        Say(),
        Say(calls=(EDIT,)),
        Say(text="Done."),
    )
    async with model_server(*answers) as server:
        bench.provider = Record(remote(server, "openai-chat"), file)
        first = await bench.turn()
    assert (bench.root / "a.txt").read_bytes() == b"ONE\ntwo\n"
    lay_out(bench.root, {"a.txt": b"one\ntwo\n"})
    bench.provider = Scripted(file)
    second = await bench.turn()
    assert (bench.root / "a.txt").read_bytes() == b"ONE\ntwo\n"
    assert (second.answer, second.state) == (first.answer, first.state)
    assert KEY not in file.read_text()


def test_which_provider_a_setting_names(tmp_path: Path) -> None:
    choose = Providers(Keys({}))
    assert isinstance(choose(ModelChoice(model="anthropic:m")), Remote)
    assert isinstance(choose(ModelChoice(model=f"record:{tmp_path}/r.json:ollama:m:7b")), Record)
    assert isinstance(choose(ModelChoice(model=f"scripted:{tmp_path}/r.json")), Scripted)
    kept = ModelChoice(model="ollama:m")
    assert choose(kept) is choose(kept)
    for wrong in ("nonsense", "", "record:x", "scripted:"):
        with pytest.raises(ProviderError, match="does not name a provider and its model"):
            choose(ModelChoice(model=wrong))


def test_which_values_are_secrets() -> None:
    environment = {
        "OPENAI_API_KEY": "sk-0123456789",
        "MY_OWN": "mine-0123456789",
        "GITHUB_TOKEN": "ghp-0123456789",
        "TOKENIZERS_PARALLELISM": "not-a-secret",
        "SHORT_TOKEN": "abc",
        "PATH": "/usr/bin:/bin",
    }
    assert key_names.secrets(environment) == ("sk-0123456789", "ghp-0123456789")
    assert key_names.secrets(environment, "MY_OWN") == ("sk-0123456789", "mine-0123456789", "ghp-0123456789")


def test_a_key_comes_from_the_environment_or_the_keyring() -> None:
    class Memory(KeyringBackend):
        priority = 1

        def set_password(self, service: str, username: str, password: str) -> None:
            raise NotImplementedError

        def get_password(self, service: str, username: str) -> str | None:
            return f"{service}/{username}" if username == "MY_KEY" else None

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        found = Keys({"OTHER_KEY": "from the environment", "OWN": "own-0123456789", "THIRD": "third"})
        assert found.secrets() == ("from the environment",)
        assert found.find("MY_KEY") == "handrail/MY_KEY"
        assert found.find("OTHER_KEY") == "from the environment"
        assert found.find("OTHER") == ""
        assert found.secrets() == ("from the environment", "handrail/MY_KEY")
        assert found.find("OWN") == "own-0123456789"
        own = ("handrail/MY_KEY", "own-0123456789")
        assert sorted(found.secrets()) == sorted(("from the environment", *own))
        assert sorted(found.secrets("OWN")) == sorted(("from the environment", *own)), "each once"
        assert set(found.of_models(["THIRD", "OWN", "MISSING"])) == {"from the environment", *own, "third"}
    finally:
        keyring.set_keyring(before)


def test_a_usual_word_that_a_model_is_given_as_its_key_is_no_secret_everywhere() -> None:
    found = Keys({"OPENAI_API_KEY": "placeholder"})
    before = found.secrets()
    assert found.find("OPENAI_API_KEY") == "placeholder"
    assert found.secrets() == before
    assert "placeholder" not in before
    assert found.of_models([]) == ("placeholder",)
