"""Questions: nothing is approved that was not seen, whatever is asked and whatever a client answers."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from pygls.exceptions import JsonRpcException

from e2e.client import NOWHERE, UNKNOWN, Editor, RefusedError, expect_error
from e2e.conftest import HOUR_S, Stage
from e2e.habits import EMACS, NEOVIM, VSCODE, Habits, opt_in
from e2e.prompts import block, patch, statuses
from handrail.testing import answer, call
from handrail.testing.texts import Json

vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
neovim = pytest.mark.parametrize("habits", [NEOVIM], ids=["neovim"])
OWN = opt_in("save", approvals=True)
STANDARD = opt_in()
REQUEST_FAILED, INVALID_PARAMS = -32803, -32602


def command(stage: Stage, *lines: str) -> Json:
    """Settings of a model that runs all of these lines in one step."""
    return stage.script(answer("", *(call("terminal", command=line) for line in lines)), answer("Done."))


def ends(editor: Editor) -> list[str]:
    return [each["end"] for each in editor.ended_questions]


def actions_of(found: Sequence[Json]) -> list[str]:
    return [each["title"] for each in found]


async def asked(editor: Editor, prompt: str = "Do it.", number: int = 1) -> tuple[str, list[Json]]:
    """A turn that waits for the user: its id, and the questions."""
    turn: str = (await editor.start_turn(prompt))["turn"]
    await editor.until(lambda: len(editor.questions) >= number or None)
    found: list[Json] = []
    while len(found) < number:
        found = await editor.request("approval.list")
    return turn, found


async def shown(editor: Editor, approval: str) -> tuple[str, str]:
    """The document of a question, opened in the editor: its URI and text."""
    found = await editor.request("approval.show", approval=approval)
    await editor.until(lambda: found["uri"] in editor.documents_opened or editor.habits.has_extension)
    if found["uri"] not in editor.desk.documents:
        editor.desk.open(found["uri"])
    return found["uri"], found["text"]


# ---- One question ---------------------------------------------------------------------------------


async def test_no_is_first_and_yes_is_in_no_message(stage: Stage, habits: Habits) -> None:
    """A3, A4: neither a digit nor RET can say yes."""
    editor = await stage.start(habits, settings=command(stage, "touch made.txt"), options=STANDARD)
    turn, (question,) = await asked(editor)
    assert [each["title"] for each in editor.questions[0]["actions"]] == ["No", "Show"]
    assert question["choices"] == ["deny", "allow", "session", "always"]
    assert (question["kind"], question["subject"], question["folder"]) == ("command", "touch made.txt", ".")
    await editor.request("approval.answer", approval=question["id"], choice="allow")
    await editor.request("turn.wait", turn=turn)
    assert (stage.root / "made.txt").exists()


@pytest.mark.parametrize("own", [True, False], ids=["own request", "message request"])
async def test_what_cannot_be_shown_is_not_answered(stage: Stage, habits: Habits, own: bool) -> None:
    """A5, A10: null, an error, an unknown title and silence leave it open, and its status says so."""
    calls = command(stage, "touch a", "touch b", "touch c", "touch d")
    editor = await stage.start(habits, settings=calls, options=opt_in(approvals=own))
    says = iter([None, UNKNOWN, RefusedError(message="no", code=-32603)])

    async def reply(params: object) -> object:
        editor.questions.append({"asked": True})
        editor.news.set()
        said = next(says, asyncio.Event())
        if isinstance(said, asyncio.Event):
            await said.wait()
        if isinstance(said, Exception):
            raise said
        return said and {("choice" if own else "title"): said}

    for method in ("handrail/approval/request", "window/showMessageRequest"):
        editor.handle(method, reply)
    turn, found = await asked(editor, number=4)
    assert [each["subject"] for each in found] == ["touch a", "touch b", "touch c", "touch d"]
    assert list(stage.root.iterdir()) == []
    if habits.shows_progress:
        told = [each["message"] for each in editor.progressed if "Waiting for you" in each.get("message", "")]
        assert "60 min left" in told[-1]
        assert "(and 3 more)" in told[-1]
    for each in reversed(found):  # later questions do not wait for earlier ones
        await editor.request("approval.answer", approval=each["id"], choice="deny")
    report = await editor.request("turn.wait", turn=turn)
    assert report["state"] == "finished"
    editor.errors.clear()


@vscode
async def test_the_first_valid_answer_counts(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits, settings=command(stage, "touch made.txt"), options=OWN)
    editor.answers = [UNKNOWN]
    turn, (question,) = await asked(editor)
    name = question["id"]
    for choice in ("Allow", "yes", "", "ALLOW", "allow ", "session\0"):
        with expect_error(INVALID_PARAMS, "params.choice must be one of 'deny', 'allow'"):
            await editor.request("approval.answer", approval=name, choice=choice)
    for params in ({"approval": name}, {"approval": name, "choice": None}, {"choice": "allow"}):
        with expect_error(INVALID_PARAMS):
            await editor.request("approval.answer", **params)
    with expect_error(REQUEST_FAILED, "Question 'q-9' is not open"):
        await editor.request("approval.answer", approval="q-9", choice="allow")
    first = asyncio.ensure_future(editor.request("approval.answer", approval=name, choice="deny"))
    second = asyncio.ensure_future(editor.request("approval.answer", approval=name, choice="allow"))
    await first
    with expect_error(REQUEST_FAILED, "already been answered"):
        await second
    await editor.request("turn.wait", turn=turn)
    with expect_error(REQUEST_FAILED, "already been answered"):
        await editor.request("approval.answer", approval=name, choice="allow")
    assert not (stage.root / "made.txt").exists()
    assert (ends(editor), await editor.request("approval.list")) == (["answered"], [])


@pytest.mark.parametrize("own", [True, False], ids=["own request", "message request"])
async def test_an_ended_question_leaves_no_button(stage: Stage, habits: Habits, own: bool) -> None:
    """Answered elsewhere, out of time or withdrawn: the request is cancelled, and a late yes is none."""
    editor = await stage.start(
        habits, settings=command(stage, "touch made.txt"), options=opt_in(approvals=own)
    )
    gate = asyncio.Event()

    async def late(params: object) -> Json:
        editor.questions.append({"asked": True})
        editor.news.set()
        await gate.wait()
        return {"choice": "allow", "title": "Show"}

    editor.handle("handrail/approval/request", late)
    editor.handle("window/showMessageRequest", late)
    turn, (question,) = await asked(editor)
    await editor.request("turn.cancel", turn=turn)
    await editor.until(lambda: any("$/cancelRequest" in line for line in editor.traffic if line[0] == "←"))
    assert ends(editor) == (["withdrawn"] if own else [])
    gate.set()
    with expect_error(REQUEST_FAILED, "was withdrawn"):
        await editor.request("approval.answer", approval=question["id"], choice="allow")
    assert (await editor.request("turn.wait", turn=turn))["state"] == "cancelled"
    assert not (stage.root / "made.txt").exists()
    editor.errors.clear()


@pytest.mark.parametrize("own", [True, False], ids=["own request", "message request"])
async def test_a_question_waits_for_an_hour_and_says_how_long(
    stage: Stage, habits: Habits, own: bool
) -> None:
    """Show 4, and the end of its time: a no."""
    editor = await stage.start(
        habits, settings=command(stage, "touch made.txt"), options=opt_in(approvals=own)
    )
    turn, (question,) = await asked(editor)
    assert question["secondsLeft"] == HOUR_S
    stage.pass_time(600)
    if habits.shows_progress:
        await editor.until(
            lambda: any("50 min left" in str(each.get("message")) for each in editor.progressed)
        )
    (still,) = await editor.request("approval.list")
    assert (still["id"], still["secondsLeft"]) == (question["id"], HOUR_S - 600)
    stage.pass_time(HOUR_S)
    report = await editor.request("turn.wait", turn=turn)
    assert report["state"] == "finished"
    assert ends(editor) == (["timedOut"] if own else [])
    with expect_error(REQUEST_FAILED, "timed out"):
        await editor.request("approval.answer", approval=question["id"], choice="allow")
    assert not (stage.root / "made.txt").exists()


@vscode
async def test_how_long_a_question_waits_is_a_setting(stage: Stage, habits: Habits) -> None:
    settings = {**command(stage, "touch made.txt"), "questions": {"timeout": 5}}
    editor = await stage.start(habits, settings=settings, options=OWN)
    _, (question,) = await asked(editor)
    assert question["secondsLeft"] == 300


# ---- Beside a question ----------------------------------------------------------------------------


@vscode
async def test_harmless_calls_go_on_beside_a_question(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", "one\n")
    calls = (
        call("terminal", command="touch made.txt"),
        call("read_file", path="a.txt"),
        patch("a.txt", "one", "two"),
        call("search", pattern="one"),
    )
    editor = await stage.start(
        habits, settings=stage.script(answer("", *calls), answer("Done.")), options=OWN
    )
    turn, (question,) = await asked(editor)

    def told(kind: str) -> list[str]:
        events = [each["event"] for each in editor.updates]
        return [event["call"] for event in events if event["kind"] == kind]

    await editor.until(lambda: told("toolResult"))
    assert told("toolCall") == ["c1-2"], "what comes after a change waits for it"
    assert not editor.edits
    await editor.request("approval.answer", approval=question["id"], choice="allow")
    report = await editor.request("turn.wait", turn=turn)
    assert (statuses(report)[-1], (stage.root / "made.txt").exists()) == ("landed", True)
    assert told("toolResult") == ["c1-2", "c1-1", "c1-3", "c1-4"]


@vscode
async def test_twenty_questions_at_once(stage: Stage, habits: Habits) -> None:
    names = [f"made-{number}" for number in range(20)]
    editor = await stage.start(
        habits, settings=command(stage, *(f"touch {name}" for name in names)), options=OWN
    )
    turn, found = await asked(editor, number=20)
    for each in found[::2]:
        await editor.request("approval.answer", approval=each["id"], choice="allow")
    for each in found[1::2]:
        await editor.request("approval.answer", approval=each["id"], choice="deny")
    await editor.request("turn.wait", turn=turn)
    assert sorted(path.name for path in stage.root.iterdir()) == sorted(names[::2])
    assert len(editor.ended_questions) == 20


@vscode
async def test_a_yes_that_lasts_answers_the_same_question(stage: Stage, habits: Habits) -> None:
    line = "echo x >> made.txt"
    editor = await stage.start(habits, settings=command(stage, line, line, line), options=OWN)
    editor.answers = ["session"]
    await editor.turn("Do it.")
    assert len(editor.questions) == 1
    assert (stage.root / "made.txt").read_text() == "x\n" * 3


# ---- The whole of it can be read ------------------------------------------------------------------


async def test_a_yes_is_given_where_the_whole_command_stands(stage: Stage, habits: Habits) -> None:
    """A3: forty lines and 2,000 characters; what is shown is what runs."""
    line = "\n".join([*(f"echo {'x' * 45} >> made.txt" for _ in range(40)), "touch last.txt"])
    editor = await stage.start(habits, settings=command(stage, line), options=STANDARD)
    other = editor.desk.open(stage.put("other.txt", "text\n"))
    turn, (question,) = await asked(editor)
    assert question["subject"] == line
    assert len(editor.questions[0]["message"]) < 400
    assert "\n" not in editor.questions[0]["message"]
    uri, text = await shown(editor, question["id"])
    assert line in text
    assert f"41 lines, {len(line):,} characters" in text
    no, allow, session, always = await editor.quick_fixes(uri, NOWHERE)
    assert [each.partition(":")[0] for each in actions_of([no, allow, session, always])] == [
        "No",
        "Allow once",
        "Allow in this conversation",
        "Always allow in this workspace",
    ]
    assert "terminal may run exactly this in" in session["title"], "the rule that it adds"
    elsewhere = await editor.quick_fixes(other, NOWHERE)
    assert [each.partition(":")[0] for each in actions_of(elsewhere)] == ["Show handrail's question", "No"]
    await editor.choose(allow)
    await editor.request("turn.wait", turn=turn)
    assert (stage.root / "last.txt").exists()
    assert await editor.quick_fixes(uri, NOWHERE) == []


LONG = "echo " + "a" * 100_000 + " > made.txt"
ROWS = "\n".join(f"echo {number}" for number in range(400)) + "\ntouch made.txt"


@neovim
@pytest.mark.parametrize("line", [LONG, ROWS], ids=["100,000 characters", "400 lines"])
async def test_a_command_of_any_length_is_shown_whole(stage: Stage, habits: Habits, line: str) -> None:
    editor = await stage.start(habits, settings=command(stage, line), options=STANDARD)
    turn, (question,) = await asked(editor)
    _, text = await shown(editor, question["id"])
    rows = text.split("```sh\n")[1].split("\n```")[0]
    assert rows.replace("\n↪ ", "") == line
    assert max(map(len, text.split("\n"))) < 300
    await editor.request("turn.cancel", turn=turn)


HOSTILE = [
    "[safe](command:workbench.action.terminal.new)",
    "[safe](file:///etc/passwd)",
    "![x](https://evil.example/a.png)",
    "$(trash) $(sync~spin)",
    "<a href='command:x'>safe</a>",
    "\\<b>bold</b>",
    "&lt;b&gt; &#x202e;",
    "\u202egnp.exe\u202c",
    "a\u200bb\u2060c\ufeffd",
    "\x1b[2J\x1b]8;;http://evil\x07x\x1b]8;;\x07",
    "\x9b31m",
    "x\rrm -rf y",
    "a\u2028b\u2029c\x85d",
    "e\u0301\u0301\u0301\u0301\u0301",
    "\U000e0041\U000e0042",
    "x\ufe0fy\u3164z\u2800",
    "```\n# Heading\n[x](command:y)\n```",
    "**bold** `code` _it_ ~~s~~",
    "[ref]: command:x",
    "[![x](y)](command:z)",
    "\\](command:x)",
    "\\\\<img src=x onerror=y>",
    "# Heading\n\n> quote\n---",
    "↪ forged continuation",
    "a⏎b",
    "↵\t\t\ttabs",
    "%s {0} ${HOME} {{x}}",
    "\u00a0\u3000blank",
    "\ud83d\ude00",
    "\u0600\u06dd arabic number sign",
]
UNSEEN = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA1), 0x200B, 0x202E, 0x2028, 0xFEFF, 0x3164)]


def is_inert(message: str) -> bool:
    """Whether nothing of a message is a link, an icon, HTML or unseen to VS Code, Markdown or a terminal."""
    parts = ("](", "$(", "][", "]:")
    if any(part in message for part in parts) or any(each in message for each in UNSEEN if each != "\n"):
        return False
    opened = [at for at, each in enumerate(message) if each in "<&" and message[at + 1 : at + 2].isalpha()]
    return all((len(head := message[:at]) - len(head.rstrip("\\"))) % 2 for at in opened)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@neovim
async def test_nothing_that_is_shown_is_interpreted(stage: Stage, habits: Habits, text: str) -> None:
    """Show 3, A1 and A2: questions, messages, progress, diagnostics, titles, labels, documents."""
    name = text.replace("/", "_").replace("\0", "")[:80].encode("utf-8", "replace").decode()
    hostile = text.encode("utf-8", "replace").decode()
    stage.put("a.txt", "one\n")
    calls = (
        call("terminal", command=f"touch made {json.dumps(hostile, ensure_ascii=False)}"),
        call("ask_user", question=hostile, choices=[hostile[:60].strip() or "x", "other"]),
        call("patch", path="a.txt", old_string=f"none {hostile}", new_string="x"),
        call("patch", path=f".env.{name}", old_string="x", new_string="y"),
        call("write_file", path=name, content=hostile),
    )
    settings = stage.script(answer(hostile, *calls), answer(hostile))
    editor = await stage.start(habits, settings=settings, options=STANDARD)
    uri = editor.desk.open(stage.root / "a.txt")
    turn = (await editor.start_turn(hostile))["turn"]
    titles, answered = list[str](), list[str]()

    def asked() -> list[str]:
        events = [each["event"] for each in editor.updates if each["event"]["kind"] == "approval"]
        return [each["approval"] for each in events if each["approval"] not in answered and "end" not in each]

    def has_ended() -> bool:
        return any(each["event"]["kind"] == "ended" for each in editor.updates)

    while not has_ended():
        for each in asked():
            answered.append(each)
            document, shown_text = await shown(editor, each)
            titles += actions_of(await editor.quick_fixes(document, NOWHERE))
            titles += actions_of(await editor.quick_fixes(uri, NOWHERE))
            assert not [one for one in UNSEEN if one in shown_text.replace("\n", "").replace("\t", "")]
            await editor.request("approval.answer", approval=each, choice="deny")
        await editor.until(lambda: asked() or has_ended())
    report = await editor.request("turn.wait", turn=turn)
    assert report["state"] == "finished"
    messages = [each["message"] for each in editor.questions] + [each.message for each in editor.messages]
    messages += [str(each["message"]) for each in editor.progressed if each.get("message")]
    assert editor.questions
    assert [each for each in messages if not is_inert(each)] == []
    titles += actions_of(await editor.quick_fixes(uri, NOWHERE))
    labels = [each.get("label") or "" for each in editor.edits]
    assert [each for each in (*titles, *labels) for one in UNSEEN if one in each] == []
    diagnostics = [one["message"] for each in editor.published for one in each["diagnostics"]]
    assert [
        each for each in diagnostics for one in UNSEEN if one in each.replace("\n", "").replace("\t", "")
    ] == []


@neovim
async def test_a_document_that_was_edited_or_deleted_is_not_what_was_seen(
    stage: Stage, habits: Habits
) -> None:
    editor = await stage.start(habits, settings=command(stage, "touch made.txt"), options=STANDARD)
    turn, (question,) = await asked(editor)
    uri, text = await shown(editor, question["id"])
    editor.desk.type(uri, "harmless ", before="```sh")
    editor.desk.tell()
    titles = actions_of(await editor.quick_fixes(uri, NOWHERE))
    assert [each.partition(":")[0] for each in titles] == ["Show handrail's question", "No"]
    await editor.choose((await editor.quick_fixes(uri, NOWHERE))[0])
    await editor.until(lambda: editor.desk[uri] == text)
    assert len(await editor.quick_fixes(uri, NOWHERE)) == 4
    path = stage.root / ".handrail" / f"question-{question['id']}.md"
    assert path.as_uri() == uri
    for spoil in (path.unlink, lambda: path.write_text("harmless\n"), lambda: shutil.rmtree(path.parent)):
        spoil()
        assert (await shown(editor, question["id"]))[1] == path.read_text() == text
    path.write_text("harmless\n")
    stage.pass_time(61)
    for _ in range(1000):
        if path.read_text() == text:
            break
        await editor.request("approval.list")
    assert path.read_text() == text, "it is written anew while the question is open"
    await editor.request("turn.cancel", turn=turn)


async def test_a_question_about_a_file_shows_what_would_be_written(stage: Stage, habits: Habits) -> None:
    """A6; if the file changes meanwhile, it is asked about again."""
    stage.put(".env", "KEY=one\nOTHER=1\n")
    edit = call("write_file", path=".env", content="KEY=two\nOTHER=1\n")
    settings = stage.script(answer("", edit), answer("Done."))
    editor = await stage.start(habits, settings=settings, options=STANDARD)
    turn, (question,) = await asked(editor)
    assert (question["kind"], question["subject"]) == ("file", ".env")
    assert "-KEY=one\n+KEY=two\n" in question["diff"]
    assert question["diff"] in (await shown(editor, question["id"]))[1]
    assert (stage.root / ".env").read_text() == "KEY=one\nOTHER=1\n"
    stage.put(".env", "KEY=three\nOTHER=1\n")
    await editor.request("approval.answer", approval=question["id"], choice="allow")
    again = [question]
    while not again or again[0]["id"] == question["id"]:
        again = await editor.request("approval.list")
    assert "-KEY=three\n+KEY=two\n" in again[0]["diff"]
    await editor.request("approval.answer", approval=again[0]["id"], choice="allow")
    report = await editor.request("turn.wait", turn=turn)
    assert statuses(report) == ["landed"]


async def test_what_an_approved_command_printed_can_be_read(stage: Stage, habits: Habits) -> None:
    line = "touch made.txt; printf '\\033[31mred\\033[0m ```\\n'"
    editor = await stage.start(habits, settings=command(stage, line), options=STANDARD)
    with expect_error(REQUEST_FAILED, "No command has finished"):
        await editor.request("output.show")
    turn, (question,) = await asked(editor)
    await editor.request("approval.answer", approval=question["id"], choice="allow")
    await editor.request("turn.wait", turn=turn)
    found = await editor.request("output.show", call=question["call"])
    assert line in found["text"]
    assert "Exit code 0." in found["text"]
    assert "\x1b" not in found["text"]
    with expect_error(REQUEST_FAILED, "no output"):
        await editor.request("output.show", call="c9-9")


# ---- What answers leave behind --------------------------------------------------------------------


@vscode
async def test_rules_are_listed_in_words_and_removed(stage: Stage, habits: Habits) -> None:
    stage.put(".env", "KEY=one\n")
    edit = call("patch", path=".env", old_string="one", new_string="two")
    calls = (call("terminal", command="touch made.txt"), edit)
    settings = stage.script(*(each for _ in range(3) for each in (answer("", *calls), answer("Done."))))
    editor = await stage.start(habits, settings=settings, options=OWN)
    editor.answers = ["always", "session"]
    first = await editor.turn("Do it.")
    assert editor.questions[0]["rules"] == [
        f"terminal may run exactly this in {stage.root} (without a sandbox): touch made.txt"
    ]
    lasting, of_session = await editor.request("rules.list")
    assert (lasting["scope"], lasting["text"]) == ("workspace", editor.questions[0]["rules"][0])
    assert (of_session["scope"], of_session["session"]) == ("session", first["session"])
    assert of_session["text"] == f"patch may be used on {stage.root}/.env"
    await editor.request("rules.remove", rule=lasting["id"])
    assert await editor.request("rules.list") == [of_session]
    editor.answers = ["deny"]
    await editor.turn("Again.", session=first["session"])
    assert [each["subject"] for each in editor.questions[2:]] == ["touch made.txt"]
    await editor.request("rules.remove", rule=of_session["id"])
    with expect_error(REQUEST_FAILED, "does not exist"):
        await editor.request("rules.remove", rule=of_session["id"])
    other = await stage.start(habits, settings=settings, options=OWN)
    assert await other.request("rules.list") == []


# ---- Ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["killed", "left", "vanished"])
@neovim
async def test_the_end_of_a_server_is_no_yes(stage: Stage, habits: Habits, end: str) -> None:
    """What it left behind is no button of the next one, which asks anew."""
    settings = command(stage, "touch made.txt")
    editor = await stage.start(habits, settings=settings, options=STANDARD)
    _, (question,) = await asked(editor)
    uri, _ = await shown(editor, question["id"])
    if end == "killed":
        stage.running[-1].kill()
        editor.has_left = True
    elif end == "left":
        await editor.leave()
    else:
        editor.vanish()
    await editor.wait_closed_quietly()
    after = await stage.start(habits, settings=settings, options=STANDARD)
    assert await after.request("approval.list") == []
    with expect_error(REQUEST_FAILED, "is not open"):
        await after.request("approval.answer", approval=question["id"], choice="allow")
    if uri not in after.desk.documents and Path(uri.removeprefix("file://")).exists():
        after.desk.open(uri)
        assert await after.quick_fixes(uri, NOWHERE) == []
    turn, (again,) = await asked(after)
    assert again["id"] != question["id"]
    assert not (stage.root / "made.txt").exists()
    await after.request("turn.cancel", turn=turn)


@pytest.mark.parametrize("habits", [EMACS], ids=["emacs"])
async def test_a_client_that_cannot_ask_at_all(stage: Stage, habits: Habits) -> None:
    def unknown(params: object) -> None:
        editor.questions.append({"asked": True})
        raise RefusedError(message="what is that?", code=-32601)

    editor = await stage.start(habits, settings=command(stage, "touch made.txt"), options=opt_in())
    editor.handle("window/showMessageRequest", unknown)
    turn, (question,) = await asked(editor)
    await editor.until(
        lambda: any(
            each.message.startswith(
                "handrail: a question is waiting for you. To see it, choose the code action"
            )
            for each in editor.messages
        )
    )
    uri, _ = await shown(editor, question["id"])
    await editor.choose(await editor.choice_in(uri, "allow"))
    await editor.request("turn.wait", turn=turn)
    assert (stage.root / "made.txt").exists()
    editor.errors.clear()


@vscode
async def test_a_question_of_one_client_is_none_of_another(stage: Stage, habits: Habits) -> None:
    settings = command(stage, "touch made.txt")
    one = await stage.start(habits, settings=settings, options=OWN)
    two = await stage.start(habits, settings=settings, options=OWN)
    turn, (question,) = await asked(one)
    assert await two.request("approval.list") == []
    with pytest.raises(JsonRpcException):
        await two.request("approval.answer", approval=question["id"], choice="allow")
    _, (other,) = await asked(two)
    first, _ = await shown(one, question["id"])
    second, _ = await shown(two, other["id"])
    assert Path(first.removeprefix("file://")).parent == stage.root / ".handrail"
    assert not second.startswith(stage.root.as_uri()), "one server writes there"
    await one.request("turn.cancel", turn=turn)


@neovim
async def test_the_agent_cannot_use_the_folder_of_its_questions(stage: Stage, habits: Habits) -> None:
    paths = (".handrail/x.md", "./.HANDRAIL/x.md", ".handrail/../.handrail/x.md")
    calls = [call("write_file", path=path, content="x") for path in paths]
    calls.append(call("read_file", path=".handrail/.owner"))
    settings = stage.script(
        answer("", call("terminal", command="touch made.txt")), answer("", *calls), answer("")
    )
    editor = await stage.start(habits, settings=settings, options=STANDARD)
    turn, (question,) = await asked(editor)
    await shown(editor, question["id"])
    folder = stage.root / ".handrail"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / ".gitignore").read_text() == (folder / ".ignore").read_text() == "*\n"
    await editor.request("approval.answer", approval=question["id"], choice="deny")
    report = await editor.request("turn.wait", turn=turn)
    assert statuses(report) == ["blocked"] * 3
    assert not list(folder.glob("x.md"))


@neovim
async def test_a_pasted_reply_is_asked_about_like_any_other(stage: Stage, habits: Habits) -> None:
    stage.put(".env", "KEY=one\n")
    editor = await stage.start(habits)
    report = await stage.turn(editor, block(".env", "KEY=one", "KEY=two"), UNKNOWN)
    assert statuses(report) == ["denied"]
