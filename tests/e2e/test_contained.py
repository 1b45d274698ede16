"""Contained commands in whole turns: what runs unasked, what is asked about, and what becomes of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from adapters.namespaces import allowed
from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import VSCODE
from e2e.test_terminal import opted, outputs, results
from handrail.testing import answer, call
from handrail.testing.texts import Json

AUTO = {"HANDRAIL_SANDBOX": "auto"}
pytestmark = pytest.mark.skipif(
    not allowed(), reason="the kernel of this machine allows no namespaces of one's own"
)


async def turn(stage: Stage, *lines: str, says: tuple[str, ...] = (), **more: object) -> tuple[Editor, Json]:
    """A turn in which the model runs these lines one after another, and the user answers."""
    steps = [answer("", call("terminal", command=line, **more)) for line in lines]
    settings = stage.script(*steps, answer("Done."))
    editor = await stage.start(
        VSCODE, settings=settings, environment=AUTO, options=opted(VSCODE, approvals=True)
    )
    editor.answers = list(says)
    return editor, await editor.turn("Run it.")


def repository(stage: Stage) -> None:
    """Make the workspace one of git's."""
    subprocess.run(["git", "init", "-q", stage.root], check=True)


async def test_a_command_that_writes_runs_unasked_and_is_taken_back(stage: Stage) -> None:
    stage.put("a.txt", "one\n")
    editor, report = await turn(stage, "echo two > a.txt; mkdir new; echo made > new/b.txt")
    assert (results(editor), editor.questions) == (["Exit code 0."], [])
    assert (stage.root / "new/b.txt").read_text() == "made\n"
    restored = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert restored["conflicts"] == []
    assert (stage.root / "a.txt").read_text() == "one\n"
    assert not (stage.root / "new").exists()


@pytest.mark.parametrize("more", [None, {}, {"background": True}], ids=["no command", "one", "background"])
async def test_a_turn_without_a_sandbox_tries_none(stage: Stage, more: Json | None) -> None:
    calls = [] if more is None else [call("terminal", command="echo one > made", **more)]
    settings = stage.script(answer("One.", *calls), *([answer("Done.")] if calls else []))
    editor = await stage.start(VSCODE, settings=settings, options=opted(VSCODE, approvals=True))
    editor.answers = ["allow"]
    await editor.turn("Say one.")
    assert (stage.root / "made").exists() is bool(calls)
    assert list(stage.state.glob("handrail/contained/*")) == []


async def test_what_git_ignores_is_changed_only_in_a_layer_that_later_commands_see(stage: Stage) -> None:
    repository(stage)
    stage.put(".gitignore", "data/\n")
    stage.put("data/kept.txt", "kept\n")
    editor, _ = await turn(
        stage, "echo changed > data/kept.txt; echo more > data/new.txt", "cat data/*.txt > seen.txt"
    )
    assert editor.questions == []
    assert (stage.root / "seen.txt").read_text() == "changed\nmore\n"
    assert (stage.root / "data/kept.txt").read_text() == "kept\n"
    assert not (stage.root / "data/new.txt").exists()


async def test_what_a_command_makes_is_its_own_though_git_ignores_it(stage: Stage) -> None:
    repository(stage)
    stage.put(".gitignore", "out/\n__pycache__/\n")
    stage.put("__pycache__/old", "")
    await turn(stage, "mkdir out; echo one > out/a", "echo two > out/a; echo new > __pycache__/new")
    assert (stage.root / "out/a").read_text() == "two\n"
    assert (stage.root / "__pycache__/new").read_text() == "new\n"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("git commit -qm x", "change the repository"),
        ("curl -s http://127.0.0.1:9/ || true", "network access"),
        ("python3 -m pip install nothing", "network access"),
        ("docker ps", "all your permissions"),
        ("cat .env > copy", ".env"),
        ("echo x > AGENTS.md", "AGENTS.md"),
    ],
)
async def test_what_containment_would_deny_is_asked_about(stage: Stage, line: str, says: str) -> None:
    stage.put(".env", "KEY=1\n")
    editor, report = await turn(stage, line, says=("deny",))
    (asked,) = editor.questions
    assert asked["subject"] == line
    assert says in asked["detail"]
    assert results(editor)[0].startswith("denied")
    assert report["checkpoint"] is None


async def test_a_commit_after_a_yes(stage: Stage) -> None:
    repository(stage)
    stage.put("a.txt", "one\n")
    line = "git add a.txt && git -c user.name=u -c user.email=e commit -qm first"
    editor, _ = await turn(stage, line, says=("allow",))
    assert results(editor) == ["Exit code 0."]
    assert (stage.root / ".git/logs/HEAD").read_text().endswith("first\n")


async def test_the_model_asks_for_more_and_the_user_sees_for_what(stage: Stage) -> None:
    outside = stage.folder / "beside"
    outside.mkdir()
    editor, _ = await turn(
        stage,
        f"echo made > {outside}/made",
        says=("allow",),
        needs=[str(outside)],
        why="The results belong there.",
    )
    (asked,) = editor.questions
    assert str(outside) in asked["detail"]
    assert "The results belong there." in asked["detail"]
    assert (outside / "made").read_text() == "made\n"


async def test_a_command_is_told_what_was_denied(stage: Stage) -> None:
    editor, _ = await turn(
        stage, "python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1:9\")'"
    )
    assert editor.questions == []
    (shown,) = [each["event"] for each in editor.updates if each["event"]["kind"] == "toolResult"]
    assert "Exit code 1." in shown["summary"]


@pytest.mark.parametrize("says", ["deny", "allow"])
async def test_what_runs_later_and_appears_is_not_there_until_the_user_has_answered(
    stage: Stage, says: str
) -> None:
    name = "AGENTS" + ".md"
    seen: list[bool] = []
    steps = [answer("", call("terminal", command="n=AGENTS; printf obey > $n.md"))]
    editor = await stage.start(
        VSCODE,
        settings=stage.script(*steps, answer("Done.")),
        environment=AUTO,
        options=opted(VSCODE, approvals=True),
    )
    started = await editor.start_turn("Run it.")
    await editor.until(lambda: editor.questions)
    seen.append((stage.root / name).exists())
    (asked,) = editor.questions
    assert name in asked["subject"]
    await editor.request("approval.answer", approval=asked["id"], choice=says)
    await editor.request("turn.wait", turn=started["turn"])
    assert seen == [False]
    assert (stage.root / name).exists() == (says == "allow")


async def test_what_the_user_has_allowed_to_be_written_is_not_asked_about_again(stage: Stage) -> None:
    editor, _ = await turn(stage, "echo x > AGENTS.md", says=("allow", "deny"))
    (asked,) = editor.questions
    assert asked["kind"] == "command"
    assert (stage.root / "AGENTS.md").read_text() == "x\n"


@pytest.mark.damage
@pytest.mark.parametrize("says", ["deny", "allow"])
async def test_what_appears_is_asked_about_where_no_checkpoint_can_be_taken(stage: Stage, says: str) -> None:
    steps = [
        answer("", call("terminal", command=line)) for line in ("true > a", "n=AGENTS; echo obey > $n.md")
    ]
    settings = stage.script(steps[0], answer("Done."), steps[1], answer("Done."))
    options = opted(VSCODE, approvals=True, settings={"checkpoints.required": False})
    editor = await stage.start(VSCODE, settings=settings, environment=AUTO, options=options)
    report = await editor.turn("Run it.")
    (repository,) = stage.state.glob("handrail/*/checkpoints.git")
    shutil.rmtree(repository)
    repository.write_text("a file where the checkpoints should be")
    editor.answers = [says]
    await editor.turn("Run the next.", session=report["session"])
    (asked,) = editor.questions
    assert (asked["kind"], asked["subject"]) == ("appeared", "AGENTS.md")
    assert (stage.root / "AGENTS.md").exists() == (says == "allow")


async def test_a_search_through_a_folder_does_not_see_what_is_protected(stage: Stage) -> None:
    stage.put(".env", "needle\n")
    stage.put("a.txt", "needle\n")
    editor, report = await turn(stage, "grep -r needle .")
    assert (editor.questions, report["checkpoint"]) == ([], None)
    shown = "".join(
        each["event"].get("text", "") for each in editor.updates if each["event"]["kind"] == "toolOutput"
    )
    assert "a.txt:needle" in shown
    assert shown.count("needle") == 1


async def test_in_the_home_folder_what_writes_is_asked_about(stage: Stage) -> None:
    settings = stage.script(answer("", call("terminal", command="echo x > a.txt")), answer("Done."))
    editor = await stage.start(
        VSCODE,
        settings=settings,
        environment={**AUTO, "HOME": str(stage.root)},
        options=opted(VSCODE, approvals=True),
    )
    editor.answers = ["deny"]
    await editor.turn("Run it.")
    assert len(editor.questions) == 1
    assert not (stage.root / "a.txt").exists()


@pytest.mark.parametrize("ignored", [False, True])
async def test_a_repository_that_a_command_makes_by_hand_is_taken_away(stage: Stage, ignored: bool) -> None:
    """Its settings would run a program as soon as an editor, or a prompt, asks git for its state."""
    repository(stage)
    stage.put(".gitignore", "sub/\n" if ignored else "")
    line = "g=.g v=.vs; mkdir -p sub/${g}it ${v}code; touch sub/${g}it/config ${v}code/settings.json sub/a"
    editor, _ = await turn(stage, line, says=("deny",))
    (asked,) = editor.questions
    assert (asked["kind"], asked["subject"]) == ("appeared", ".vscode/, sub/.git/")
    assert not (stage.root / ".vscode").exists()
    assert sorted(path.name for path in (stage.root / "sub").iterdir()) == ["a"]


@pytest.mark.parametrize("asks_of", ["what-appeared", "saving"])
async def test_a_stopped_turn_waits_for_no_answer(stage: Stage, asks_of: str) -> None:
    line = "n=AGENTS; printf obey > $n.md"
    settings = stage.script(answer("", call("terminal", command=line)), answer("Done."))
    editor = await stage.start(
        VSCODE, settings=settings, environment=AUTO, options=opted(VSCODE, approvals=True)
    )
    if asks_of == "saving":
        uri = editor.desk.open(stage.put("a.txt", "one\n"))
        editor.desk.type(uri, "typed ", before="one")
        editor.desk.tell()
    started = await editor.start_turn("Run it.")
    await editor.until(lambda: editor.questions)
    await editor.request("turn.cancel", turn=started["turn"])
    report = await editor.request("turn.wait", turn=started["turn"])
    assert report["state"] == "cancelled"
    assert await editor.request("approval.list") == []
    assert not (stage.root / "AGENTS.md").exists()


async def running(stage: Stage, line: str, says: str = "deny") -> tuple[Editor, Json]:
    """A turn with a command that waits, when it has begun, for a file `go`, and then runs *line*."""
    waits = f"echo began; while [ ! -e go ]; do sleep 0.02; done; {line}"
    settings = stage.script(answer("", call("terminal", command=waits)), answer("Done."))
    editor = await stage.start(
        VSCODE, settings=settings, environment=AUTO, options=opted(VSCODE, approvals=True)
    )
    editor.answers = [says]
    started = await editor.start_turn("Run it.")
    await editor.until(lambda: outputs(editor))
    return editor, started


async def test_what_the_user_saves_meanwhile_stays_unasked(stage: Stage) -> None:
    editor, started = await running(stage, "true")
    uri = editor.desk.open(stage.put(".env", "KEY=1\n"))
    editor.desk.type(uri, "MORE=2\n", before="KEY")
    editor.desk.tell()
    editor.desk.save(uri)
    stage.put("go", "")
    report = await editor.request("turn.wait", turn=started["turn"])
    assert editor.questions == []
    assert [each["uri"] for each in report["outcomes"]] == [(stage.root / "go").as_uri()]
    assert (stage.root / ".env").read_text() == "MORE=2\nKEY=1\n"


async def test_what_another_program_makes_meanwhile_is_never_lost(stage: Stage) -> None:
    editor, started = await running(stage, "true")
    stage.put(".vscode/settings.json", "{}\n")
    stage.put("go", "")
    await editor.request("turn.wait", turn=started["turn"])
    (asked,) = editor.questions
    assert asked["diff"] == "--- /dev/null\n+++ b/.vscode/settings.json\n@@ -0,0 +1,1 @@\n+{}\n"
    assert not (stage.root / ".vscode").exists()
    notices = [each["event"]["text"] for each in editor.updates if each["event"]["kind"] == "notice"]
    (told,) = [each for each in notices if each.startswith(".vscode")]
    lies_in = Path(told.partition("30 days: ")[2])
    await editor.leave()
    await editor.wait_closed_quietly()
    assert (lies_in / "settings.json").read_text() == "{}\n"


async def test_documents_of_ours_that_are_written_meanwhile_stay(stage: Stage) -> None:
    editor, started = await running(stage, "true")
    stage.put(".handrail/questions/q-1.md", "Whether?\n")
    stage.put("go", "")
    await editor.request("turn.wait", turn=started["turn"])
    assert editor.questions == []
    assert (stage.root / ".handrail/questions/q-1.md").exists()


async def test_hooks_that_appear_in_an_open_repository_are_taken_away(stage: Stage) -> None:
    repository(stage)
    shutil.rmtree(stage.root / ".git/hooks")
    line = "git init -q new; h=.g; h=${h}it/hooks; mkdir $h; echo exit 1 > $h/pre-commit"
    editor, _ = await turn(stage, line, says=("allow", "deny"))
    assert editor.questions[1]["subject"] == ".git/hooks/"
    assert "exit 1" in editor.questions[1]["diff"]
    assert not (stage.root / ".git/hooks").exists()
    assert (stage.root / "new/.git/HEAD").exists(), "to make a repository was allowed"


async def test_what_is_changed_in_a_layer_is_told(stage: Stage) -> None:
    repository(stage)
    stage.put(".gitignore", "data/\n")
    stage.put("data/kept.txt", "kept\n")
    editor, _ = await turn(stage, "echo changed > data/kept.txt")
    notices = [each["event"]["text"] for each in editor.updates if each["event"]["kind"] == "notice"]
    (notice,) = [each for each in notices if "layer" in each]
    assert notice.startswith("The command did not change data, ")


async def test_what_is_changed_in_a_layer_of_the_whole_workspace_is_told(stage: Stage) -> None:
    """Without git, a large workspace is in no snapshot."""
    stage.put("large.txt", "x" * 6_000_000)
    programs = stage.folder / "programs"
    programs.mkdir()
    for name in ("sh", "bash"):
        (programs / name).symlink_to(shutil.which(name) or "")
    settings = stage.script(answer("", call("terminal", command="echo new > a.txt")), answer("Done."))
    editor = await stage.start(VSCODE, settings=settings, environment={**AUTO, "PATH": str(programs)})
    await editor.turn("Run it.")
    notices = [each["event"]["text"] for each in editor.updates if each["event"]["kind"] == "notice"]
    (notice,) = [each for each in notices if "layer" in each]
    assert notice.startswith("The command did not change the workspace folder, ")
    assert not (stage.root / "a.txt").exists()


@pytest.mark.parametrize("saved", ["one\r\n", ""], ids=["a-line", "empty"])
async def test_a_command_that_only_reads_sees_what_the_editor_holds(stage: Stage, saved: str) -> None:
    settings = stage.script(answer("", call("terminal", command="cat a.txt; wc -c a.txt")), answer("Done."))
    editor = await stage.start(
        VSCODE, settings=settings, environment=AUTO, options=opted(VSCODE, approvals=True)
    )
    uri = editor.desk.open(stage.put("a.txt", saved))
    editor.desk.type(uri, "typed ", before=saved.strip())
    editor.desk.tell()
    await editor.turn("Look.")
    assert (editor.saves, editor.questions) == ([], [])
    held = f"typed {saved}"
    shown = f"{held}{len(held)} a.txt\n".replace("\r", "")
    assert "".join(each["text"] for each in outputs(editor)) == shown
    assert (stage.root / "a.txt").read_bytes() == saved.encode()
