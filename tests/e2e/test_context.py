"""What a prompt names with `@`, and its commands: what the model is sent, byte for byte, by each way in."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from adapters.model_server import Call, ModelServer, Say, model_server
from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE
from e2e.test_chat import REQUEST_FAILED, opened, says, shows
from e2e.test_chat_ask import between
from e2e.test_chat_commands import command, offered
from e2e.test_models import PNG
from git_user import git

KEY = "sk-very-secret-key-0123456789"
Door = Callable[[Editor, str], Awaitable[None]]


async def document(editor: Editor, prompt: str) -> None:
    """Write at the end of a conversation, and send it."""
    await says(editor, await opened(editor, "chat.new"), f"{prompt}\n")


async def turn_start(editor: Editor, prompt: str) -> None:
    """Begin a turn as any client does."""
    begun = await editor.request("turn.start", prompt=prompt)
    await editor.request("turn.wait", turn=begun["turn"])


every_door = pytest.mark.parametrize("door", [document, turn_start], ids=lambda door: door.__name__)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """An editor whose conversation has changed `a.txt`, failed at it once, and selected in it."""

    editor: Editor
    model: ModelServer
    session: str

    @property
    def sent(self) -> str:
        """What the model was sent last, as the user's."""
        found = [each for each in self.model.asked[-1]["messages"] if each["role"] == "user"]
        ((part,),) = [each["content"] for each in found[-1:]]
        text: str = part["text"]
        return text

    @property
    def told(self) -> list[str]:
        """What the user was told."""
        return [each.message for each in self.editor.messages]


def edit(old: str, new: str) -> Call:
    return Call(name="patch", arguments=json.dumps({"path": "a.txt", "old_string": old, "new_string": new}))


@asynccontextmanager
async def scene(stage: Stage, turns: int) -> AsyncIterator[Scene]:
    """A scene in which the model answers so many turns more."""
    stage.put("a.txt", "one\ntwo\nthree\n")
    async with model_server(
        Say(calls=(edit("one", "ONE"),), finish="tools"),
        Say(calls=(edit("six", "SIX"),), finish="tools"),
        Say(text=f"Half of it. {KEY}"),
        *(Say(text="Seen.") for _ in range(turns)),
    ) as server:
        settings = {"model": "openai:m", "baseUrl": server.url("openai-chat"), "keyName": "MY_KEY"}
        editor = await stage.start(VSCODE, settings=settings, environment={"MY_KEY": KEY})
        report = await editor.turn("Change it.")
        a = editor.desk.open(stage.root / "a.txt")
        await editor.quick_fixes(a, between(editor, a, 4, 7))
        yield Scene(editor=editor, model=server, session=report["session"])


FORMS = {
    "@session": "Earlier conversation {session} (Change it.):\n```\n"
    "User:\nChange it.\n\nAnswer:\nHalf of it. [key removed by handrail]\n```",
    "@session:{session}": "Earlier conversation {session} (Change it.):\n```\n"
    "User:\nChange it.\n\nAnswer:\nHalf of it. [key removed by handrail]\n```",
    '@"session:CHANGE I"': "Earlier conversation {session} (Change it.):\n```\n"
    "User:\nChange it.\n\nAnswer:\nHalf of it. [key removed by handrail]\n```",
    "@a.txt": "a.txt, from line 1:\n```\nONE\ntwo\nthree\n```",
    "@a.txt:2-3": "a.txt, from line 2:\n```\ntwo\nthree\n```",
    "@a.txt:3": "a.txt, from line 3:\n```\nthree\n```",
    r'@"say \"hi\" now.txt":2': 'say "hi" now.txt, from line 2:\n```\nthere\n```',
    "@node/key.txt": "node/key.txt, from line 1:\n```\nkey = [key removed by handrail]\n```",
    "@selection": "a.txt, from line 2:\n```\ntwo\n```",
    "@problems": "Problems that handrail shows:\n```\n"
    "a.txt: no-match: The search text is not in the document.\n```",
    "@diff": "Changes that are pending:\n```\na.txt:1\n-one\n+ONE\n```",
}


@every_door
async def test_what_is_named_is_sent_to_the_model(stage: Stage, door: Door) -> None:
    stage.put('say "hi" now.txt', "hi\nthere\n")
    stage.put("node/key.txt", f"key = {KEY}\n")
    async with scene(stage, len(FORMS)) as here:
        sent, wanted = dict[str, str](), dict[str, str]()
        for form, shown in FORMS.items():
            prompt = f"See {form.format(session=here.session)} now."
            await door(here.editor, prompt)
            sent[form] = here.sent
            wanted[form] = f"{prompt}\n\n{shown.format(session=here.session)}"
        assert sent == wanted
        assert here.told == []


NO_CHANGES = (
    "matches nothing: no text file that the model may see has pending changes, or is tracked by git and has "
    "uncommitted ones. To send a new file, name it with @path."
)


@every_door
async def test_without_pending_changes_the_uncommitted_ones_are_sent(stage: Stage, door: Door) -> None:
    """As the editor holds the documents, and without those that no prompt may name."""
    for name in ("a.txt", "b.txt", "gone.txt", ".env"):
        stage.put(name, "one\ntwo\n")
    git(stage.root, "init", "--quiet")
    git(stage.root, "add", ".")
    git(stage.root, "commit", "--quiet", "-m", "first")
    async with model_server(*[Say(text="Seen.")] * 3) as server:
        settings = {"model": "openai:m", "baseUrl": server.url("openai-chat")}
        editor = await stage.start(VSCODE, settings=settings)
        here = Scene(editor=editor, model=server, session="")
        await door(editor, "See @diff now.")
        assert here.sent == "See @diff now."
        assert here.told == [f"handrail: @diff {NO_CHANGES}"]
        stage.put(".env", "KEY=hush-hush\n")
        await door(editor, "See @diff now.")
        assert here.told[1:] == [f"handrail: @diff {NO_CHANGES}"]
        stage.put("a.txt", "ONE\r\ntwo\r\n")
        stage.put("new.txt", "new\n")
        git(stage.root, "add", "new.txt")
        (stage.root / "gone.txt").unlink()
        b = editor.desk.open(stage.root / "b.txt")
        editor.desk.type(b, "TWO", instead="two")
        editor.desk.tell()
        await door(editor, "See @diff now.")
        assert here.sent == (
            "See @diff now.\n\nChanges that are not committed:\n```\n"
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"
            "--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"
            "--- a/gone.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"
            "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+new\n```"
        )


@pytest.mark.parametrize("wrong", ["index", "blob", "SHA-256"])
async def test_changes_that_git_does_not_show_are_not_said_to_be_none(stage: Stage, wrong: str) -> None:
    stage.put("a.txt", "one\n")
    git(stage.root, "init", "--quiet", *(["--object-format=sha256"] if wrong == "SHA-256" else []))
    git(stage.root, "add", ".")
    git(stage.root, "commit", "--quiet", "-m", "first")
    stage.put("a.txt", "ONE\n")
    unread = str(stage.root)
    if wrong == "index":
        (stage.root / ".git/index").write_bytes(b"DIRC damaged")
    elif wrong == "blob":
        name = git(stage.root, "rev-parse", "HEAD:a.txt").strip()
        (stage.root / ".git/objects" / name[:2] / name[2:]).unlink()
        unread = "a.txt"
    async with model_server(Say(text="Seen."), Say(text="Seen.")) as server:
        settings = {"model": "openai:m", "baseUrl": server.url("openai-chat")}
        editor = await stage.start(VSCODE, settings=settings)
        here = Scene(editor=editor, model=server, session="")
        await turn_start(editor, "See @diff now.")
        assert here.sent == "See @diff now."
        why = f"handrail: @diff was not sent: git's record of {unread} cannot be read."
        assert why in here.told
        if wrong == "blob":
            stage.put("b.txt", "b\n")
            git(stage.root, "add", "b.txt")
            await turn_start(editor, "See @diff now.")
            assert "+++ b/b.txt" in here.sent
            assert here.told[-1] == (
                "handrail: @diff is not complete: git's record of a.txt cannot be read, so its changes were "
                "not sent."
            )


BAD = {
    "@huge.bin": "is not shown to the model: The file has 10,000,000,000 bytes",
    "@pipe.txt": "is not shown to the model: pipe.txt is a pipe, socket or device, not a file.",
    "@pipe": "is not shown to the model: pipe is a pipe, socket or device, not a file.",
    "@loop": "is not shown to the model: loop cannot be read: its symbolic links form a loop.",
    "@raw.bin": "is not shown to the model: The file is not valid utf-8",
    "@big/": "is not shown to the model: big is a folder, not a file.",
    "@.env": "is not shown to the model: it is protected",
    "@../outside.txt": "is not shown to the model: it is outside the workspace",
    "@away.txt": "is not shown to the model: it is outside the workspace",
    "@away.png": "is not shown to the model: it is outside the workspace",
    "@shot.png": "is not shown to the model: it is an image (PNG), and handrail does not know whether "
    "openai:m can see pictures. If it can, set handrail.pictures to `always`.",
    "@no/such.py": "was not sent: the file does not exist.",
    '@"no such"': "was not sent: the file does not exist.",
    "@session:none": "was not sent: no other conversation has this ID or title.",
    "@session:see": "was not sent: it may mean s-",
}


@every_door
async def test_what_cannot_be_shown_is_said(stage: Stage, door: Door) -> None:
    stage.put("raw.bin", b"\x00\xff\xfe\x00")
    stage.put(".env", "KEY=hush-hush\n")
    stage.put("big/a.txt", "a\n")
    with stage.put("huge.bin", "").open("r+b") as file:
        file.truncate(10_000_000_000)
    for name in ("pipe.txt", "pipe"):
        os.mkfifo(stage.root / name)
    (stage.root / "loop").symlink_to("loop")
    (stage.folder / "outside.txt").write_text("hush-hush\n")
    (stage.root / "away.txt").symlink_to(stage.folder / "outside.txt")
    stage.put("shot.png", PNG)
    (stage.folder / "outside.png").write_bytes(PNG)
    (stage.root / "away.png").symlink_to(stage.folder / "outside.png")
    async with scene(stage, len(BAD)) as here:
        for form, why in BAD.items():
            count = len(here.told)
            await door(here.editor, f"See {form} now.")
            assert here.sent == f"See {form} now."
            (told,) = here.told[count:]
            assert told.startswith(f"handrail: {form.replace(chr(34), '')} {why}")
        assert "hush-hush" not in json.dumps(here.model.asked)


@every_door
async def test_a_picture_is_shown_to_a_model_that_sees(stage: Stage, door: Door) -> None:
    """Each picture once, whatever it is called; one that is too large, or one too many, is said."""
    small = {f"shot{number}.png": PNG + bytes([number]) for number in range(21)}
    for name, raw in {
        **small,
        "my shot.dat": PNG + b"spaces",
        "large.gif": b"GIF89a" + bytes(3_500_000),
    }.items():
        stage.put(name, raw)
    says = {
        'See @"my shot.dat" and @shot1.png, @shot1.png now.': "",
        "See @large.gif now.": "@large.gif is not shown to the model: it has 3,500,006 bytes",
        " ".join(
            f"@{name}" for name in small
        ): "@shot20.png is not shown to the model: a message can show at most",
    }
    async with model_server(*[Say(text="Seen.")] * len(says)) as server:
        settings = {"model": "openai:gpt-4o", "baseUrl": server.url("openai-chat")}
        editor = await stage.start(VSCODE, settings=settings)
        here = Scene(editor=editor, model=server, session="")
        counts = []
        for prompt, why in says.items():
            told = len(here.told)
            await door(editor, prompt)
            assert [why in each for each in here.told[told:]] == [True] * bool(why)
            (*_, last) = [each for each in server.asked[-1]["messages"] if each["role"] == "user"]
            counts.append(json.dumps(last).count("data:image/png;base64,"))
        assert counts == [2, 0, 20]
        assert b64encode(PNG + b"spaces").decode() in json.dumps(server.asked[0]["messages"])


UNKNOWN = {
    "Ask @someone about @no_such_symbol.": "@someone, @no_such_symbol: no such files exist, so only "
    "their names were sent to the model.",
    "Fix the @selction and @Problems.": "@selction, @Problems: no such files exist, so only their names were "
    "sent to the model. Did you mean @selection or @problems?",
    " ".join(
        f"@n{number}" for number in range(9)
    ): "@n0, @n1, @n2, @n3, @n4 and 4 more: no such files exist, so only their names were sent to the model.",
    "/usr is full, why?": "`/usr` is not a command, so the message was sent to the model unchanged.",
    "/undo\nand try again": "`/undo` was sent to the model as text. It is a command only in a conversation, "
    "alone on one line.",
    "/modle m\nand try again": "`/modle` is not a command, so the message was sent to the model unchanged. "
    "Did you mean `/mode` or `/model`?",
}


@every_door
async def test_what_may_be_a_name_or_a_command_and_is_not_is_said_and_sent(stage: Stage, door: Door) -> None:
    async with scene(stage, len(UNKNOWN)) as here:
        for prompt, said in UNKNOWN.items():
            count = len(here.told)
            await door(here.editor, prompt)
            assert here.sent == prompt
            assert here.told[count:] == [f"handrail: {said}"]


@every_door
async def test_addresses_and_code_are_left_alone(stage: Stage, door: Door) -> None:
    prompt = "Mail me@a.txt about `@a.txt`, `/undo` and /usr/bin:\n```\n@app.route\n```"
    async with scene(stage, 1) as here:
        await door(here.editor, prompt)
        assert here.sent == prompt
        assert here.told == []


@every_door
async def test_of_many_names_that_stand_for_nothing_some_are_said(stage: Stage, door: Door) -> None:
    async with scene(stage, 1) as here:
        await door(here.editor, " ".join(f"@no/{number}.py" for number in range(30)))
        assert len(here.told) == 11
        assert here.told[-1].endswith("20 more mentions match nothing, or are not shown to the model.")


@every_door
async def test_what_is_large_is_cut(stage: Stage, door: Door) -> None:
    """All that a prompt names together is bounded, and what is left out is told."""
    stage.put("huge.txt", "four\n" * 1_000_000)
    async with scene(stage, 1) as here:
        await door(here.editor, "See @huge.txt and @a.txt now.")
        _, huge, a = here.sent.split("\n\n")
        assert huge == (
            "huge.txt, from line 1:\n```\n"
            + "four\n" * 20_000
            + "(4,900,000 more characters are not shown.)\n```"
        )
        assert a == "a.txt, from line 1:\n```\n(14 more characters are not shown.)\n```"


@pytest.mark.parametrize("typed", ["@session:", "@session:s-", "@session:chan"])
async def test_conversations_are_completed(stage: Stage, typed: str) -> None:
    async with scene(stage, 0) as here:
        found = await offered(here.editor, await opened(here.editor, "chat.new"), f"See {typed}")
        assert {label: item["detail"] for label, item in found.items()} == {
            f"@session:{here.session}": "Change it."
        }
        complete = await here.editor.request("chat.complete", session=here.session, before=f"See {typed}")
        assert complete["offers"] == [{"name": f"@session:{here.session}", "does": "Change it."}]


# ---- Commands -------------------------------------------------------------------------------------

OWN = "---\ndescription: mend it\n---\nMend $1 as @a.txt:3 does; all of: $ARGUMENTS.\n"


@every_door
async def test_a_command_of_the_projects_is_sent_as_its_file_says(stage: Stage, door: Door) -> None:
    stage.put(".agents/commands/fix.md", OWN)
    async with scene(stage, 1) as here:
        await door(here.editor, "/fix 12 now")
        assert here.sent == (
            "/fix 12 now\n\na.txt, from line 3:\n```\nthree\n```\n\n"
            "Contents of /fix (.agents/commands/fix.md):\n```\n"
            "Mend 12 as @a.txt:3 does; all of: 12 now.\n```"
        )


WRONG = {
    ("/xyzzy", document): "is not a command. Commands are `/compact`",
    ("/modle m", document): "Did you mean `/mode` or `/model`?",
    ("/fix_2", document): "is not a command. Did you mean `/fix_it`?",
    ("/git:fix", document): "is not a command.",
    ("/undo it", document): "takes no arguments",
    ("/xyzzy", turn_start): "is not a command of this project, which has `/fix_it`. To send",
    ("/fix_2", turn_start): "is not a command of this project. Did you mean `/fix_it`? To send",
    ("/undo it", turn_start): "is a command of conversations, and not a prompt",
}


async def test_a_project_without_commands_offers_none(stage: Stage) -> None:
    async with scene(stage, 0) as here:
        with expect_error(
            REQUEST_FAILED, "`/nope` is not a command of this project, which has none. To send"
        ):
            await turn_start(here.editor, "/nope")


@pytest.mark.parametrize(
    ("prompt", "door"), WRONG, ids=lambda each: each if isinstance(each, str) else each.__name__
)
async def test_a_command_that_is_unknown_is_said_and_not_sent(stage: Stage, door: Door, prompt: str) -> None:
    stage.put(".agents/commands/fix_it.md", OWN)
    async with scene(stage, 0) as here:
        count = len(here.model.asked)
        with expect_error(REQUEST_FAILED, WRONG[prompt, door]):
            await door(here.editor, prompt)
        assert len(here.model.asked) == count


@every_door
async def test_a_command_whose_file_cannot_be_read_is_not_said_to_be_missing(
    stage: Stage, door: Door
) -> None:
    (stage.root / ".agents" / "commands").mkdir(parents=True)
    os.mkfifo(stage.root / ".agents" / "commands" / "fix.md")
    async with scene(stage, 1) as here:
        count = len(here.model.asked)
        why = "/fix cannot be used: .agents/commands/fix.md is a pipe, socket or device, not a file."
        with expect_error(REQUEST_FAILED, why):
            await door(here.editor, "/fix")
        assert len(here.model.asked) == count
        long = f"/{'x' * 300} is what?"
        await door(here.editor, long)
        assert here.sent == long, "no file has such a name"


@pytest.mark.parametrize("name", ["turn.start", "turn.queue"])
@pytest.mark.parametrize(
    "typed", ["/compact", "/undo", "/review", "/model", "/mode ask", "/help", "/new", "/sessions", "/stop"]
)
async def test_a_command_of_conversations_is_no_prompt(stage: Stage, name: str, typed: str) -> None:
    async with scene(stage, 0) as here:
        count = len(here.model.asked)
        with expect_error(REQUEST_FAILED, "is a command of conversations, and not a prompt for the model"):
            await here.editor.request(name, prompt=typed)
        assert len(here.model.asked) == count


@pytest.mark.parametrize("typed", ["/mode", "/undo it", "/nope"])
async def test_a_command_is_no_prompt_even_without_a_model(stage: Stage, typed: str) -> None:
    editor = await stage.start(VSCODE, settings={"model": "paste"})
    with expect_error(REQUEST_FAILED, "a command of"):
        await turn_start(editor, typed)
    assert await editor.request("session.list") == []


async def test_commands_in_a_conversation_and_what_the_model_is_sent_after_them(stage: Stage) -> None:
    """None of them reaches the model; what they choose, or take back, shows in its next request."""
    async with scene(stage, 3) as here:
        editor, asked = here.editor, here.model.asked
        uri = await opened(editor, "chat.new")
        await says(editor, uri, "First.\n")
        await says(editor, uri, "Second.\n")
        count = len(asked)
        for typed, shown in {
            "/compact": "The conversation is still too short to summarise.",
            "/help": "- `/undo`: undo the last turn",
            "/mode": "The mode is edit.",
            "/mode ask": "the mode is ask.",
            "/model openai:other": "the model is openai:other,",
            "/undo": "The last turn was undone",
        }.items():
            await command(editor, uri, f"{typed}\n")
            await shows(editor, uri, shown)
        await command(editor, uri, "/review\n")
        await editor.until(lambda: any(each.endswith("review.md") for each in editor.documents_opened))
        assert len(asked) == count
        edits = {each["function"]["name"] for each in asked[-1]["tools"]} & {"patch", "write_file"}
        assert (asked[-1]["model"], edits) == ("m", {"patch", "write_file"})
        await says(editor, uri, "Third.\n")
        users = [
            part["text"]
            for each in asked[-1]["messages"]
            if each["role"] == "user"
            for part in each["content"]
        ]
        assert users[-2:] == ["First.", "Third."]
        edits = {each["function"]["name"] for each in asked[-1]["tools"]} & {"patch", "write_file"}
        assert (asked[-1]["model"], edits) == ("other", set())
