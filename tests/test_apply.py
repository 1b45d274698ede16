"""`handrail apply` as a process: a pasted reply on the real disk, with checkpoints, without an editor."""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.servers import run_handrail


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Desk:
    root: Path
    home: Path

    def run(self, *arguments: str, stdin: bytes = b"") -> Ended:
        environment = {**os.environ, "XDG_STATE_HOME": str(self.home), "NO_COLOR": "1"}
        command = [*arguments, "--workspace", str(self.root)]
        done = run_handrail(command, environment=environment, given=stdin)
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def apply(self, reply: str, *arguments: str) -> Ended:
        return self.run("apply", "-", *arguments, stdin=reply.encode())

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.root / f"{name}.txt").write_text(text, encoding="utf-8")

    def files(self) -> dict[str, str]:
        return {
            path.relative_to(self.root).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "work").mkdir()
    made = Desk(tmp_path / "work", tmp_path / "state")
    made.write(a="one\ntwo\nthree\n", b="four\nfive\n")
    return made


def block(path: str, old: str, new: str) -> str:
    return f"{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


BEFORE = {"a.txt": "one\ntwo\nthree\n", "b.txt": "four\nfive\n"}
GOOD = block("a.txt", "two", "zwei")
BAD = block("b.txt", "nothing of the kind", "sechs")


def test_a_reply_lands_and_is_taken_back(desk: Desk) -> None:
    ended = desk.apply(f"Two edits:\n\n{GOOD}\n{block('b.txt', 'five', 'fünf')}")
    assert (ended.code, ended.err) == (0, "")
    assert desk.files() == {"a.txt": "one\nzwei\nthree\n", "b.txt": "four\nfünf\n"}
    for part in ("Two edits:", "a.txt: landed", "-two", "+zwei", "finished: 2 landed"):
        assert part in ended.out
    command = ended.out[ended.out.index("handrail checkpoint restore") :].split()
    assert desk.run(*command[1:4]).code == 0
    assert desk.files() == BEFORE


def test_without_a_checkpoint_the_user_is_advised_and_no_setting_named_that_is_not_read(desk: Desk) -> None:
    assert desk.apply(GOOD).code == 0
    (checkpoints,) = desk.home.glob("handrail/*/checkpoints.git")
    shutil.rmtree(checkpoints.parent)
    checkpoints.parent.write_text("No folder.")  # as if it must not be written, which root always may
    ended = desk.apply(block("b.txt", "five", "fünf"))
    assert ended.code == 1
    assert "Nothing was changed." in ended.out
    assert "handrail.checkpoints" not in ended.out + ended.err
    told = " ".join(ended.out.split())
    assert "You can set XDG_STATE_HOME to another folder" in told
    assert "Keep it set for later commands, such as `handrail checkpoint restore`." in told
    assert "apply the reply again" not in told, "a full store is still full then"
    assert "model" not in told


def test_a_diff_of_git_does_all_that_it_says(desk: Desk) -> None:
    desk.write(e="")
    renamed = "diff --git a/b.txt b/d/c.txt\nsimilarity index 100%\nrename from b.txt\nrename to d/c.txt\n"
    edited = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+zwei\n"
    deleted = "diff --git a/e.txt b/e.txt\ndeleted file mode 100644\nindex e69de29..0000000\n"
    mode = "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n"
    refused = desk.apply(f"```diff\n{edited}{renamed}{mode}```\n")
    assert (refused.code, desk.files()) == (1, {**BEFORE, "e.txt": ""})
    assert "changes no modes of files" in refused.out
    ended = desk.apply(f"```diff\n{edited}{renamed}{deleted}```\n")
    assert (ended.code, "3 landed" in ended.out) == (0, True)
    assert desk.files() == {"a.txt": "one\nzwei\nthree\n", "d/c.txt": BEFORE["b.txt"]}


def test_a_diff_that_is_cut_short_is_refused(desk: Desk) -> None:
    rows = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+zwei\n"
    ended = desk.apply(f"```diff\n{rows}")
    assert (ended.code, desk.files()) == (1, BEFORE)
    assert "the end of the fence" in ended.out
    assert desk.apply(f"```diff\n{rows}+drei\n").code == 0
    assert desk.files()["a.txt"] == "one\nzwei\ndrei\n"


def test_a_reply_in_a_file(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "reply.md").write_text("\ufeff" + GOOD, encoding="utf-8")
    assert desk.run("apply", str(tmp_path / "reply.md")).code == 0
    assert desk.files()["a.txt"] == "one\nzwei\nthree\n"
    two = desk.apply(block("b.txt", "four", "vier") + "\n" + block("b.txt", "five", "fünf"))
    assert "The reply has no text besides its edits." in two.out, "however many these are"


def test_unless_all_of_it_fits_nothing_is_changed(desk: Desk) -> None:
    ended = desk.apply(GOOD + BAD)
    assert (ended.code, desk.files()) == (1, BEFORE)
    assert "a.txt:1: warning[bad-patch] This edit fits, but another edit of the reply does not" in ended.out
    assert "To make the edits that fit, give --partial." in ended.out
    assert "b.txt:1: warning[no-match]" in ended.out
    assert "copy the failures to the chat" in ended.out, "a person reads what is meant for a model"
    assert "Correct that one, then apply the reply again" in ended.out
    assert "finished: 2 did not land" in ended.out
    assert not desk.home.exists()


def test_an_edit_that_was_not_allowed_is_not_said_to_need_a_correction(desk: Desk) -> None:
    (desk.root / ".env").write_text("KEY=1\n", encoding="utf-8")
    reply = GOOD + block(".env", "KEY=1", "KEY=2")
    ended = desk.apply(reply)
    assert (ended.code, desk.files()["a.txt"]) == (1, BEFORE["a.txt"])
    told = (
        "a.txt:1: warning[denied] This edit fits, but another edit of the reply was not allowed. Nothing was "
        "changed. Apply the reply again and allow that edit, or give --yes or --partial."
    )
    assert told in ended.out
    assert "copy the failures" not in ended.out, "another reply would not help"
    assert "To make the edits that fit, give --partial." in ended.out
    assert "copy the failures" in desk.apply(BAD + reply).out


def test_partial_makes_what_fits(desk: Desk) -> None:
    ended = desk.apply(GOOD + BAD, "--partial")
    assert (ended.code, desk.files()["a.txt"]) == (1, "one\nzwei\nthree\n")
    assert "finished: 1 landed, 1 did not land" in ended.out
    assert "handrail checkpoint restore" in ended.out


def test_partial_makes_the_hunks_that_fit(desk: Desk) -> None:
    reply = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+eins\n@@\n-ten\n+zehn\n*** End Patch\n"
    assert desk.apply(reply).code == 1
    assert desk.files() == BEFORE
    assert desk.apply(reply, "--partial").code == 1
    assert desk.files()["a.txt"] == "eins\ntwo\nthree\n"


def test_a_later_edit_builds_on_an_earlier_one(desk: Desk) -> None:
    added = "*** Begin Patch\n*** Add File: new/c.txt\n+first\n*** Delete File: b.txt\n*** End Patch\n"
    assert desk.apply(added + "\n" + block("new/c.txt", "first", "second")).code == 0
    assert desk.files() == {"a.txt": BEFORE["a.txt"], "new/c.txt": "second\n"}
    assert desk.apply(block("new/c.txt", "second", "third") + block("b.txt", "four", "4")).code == 1
    assert desk.files()["new/c.txt"] == "second\n"


def test_what_the_disk_refuses_takes_the_rest_back(desk: Desk) -> None:
    (desk.root / "b.txt").chmod(0o444)
    ended = desk.apply(GOOD + block("b.txt", "five", "fünf"))
    assert (ended.code, desk.files()) == (1, BEFORE)
    assert "restored   a.txt" in ended.out
    assert "so this one was reverted. Remove the cause, then apply the reply again" in ended.out
    assert "copy the failures" not in ended.out, "another reply would not help"
    assert "finished: 2 did not land" in ended.out
    told = ended.out[ended.out.index("finished: 2 did not land") :]
    assert "checkpoint" not in told, "it has been undone"
    taken_back = json.loads(desk.apply(GOOD + block("b.txt", "five", "fünf"), "--json").out)
    assert "checkpoint" not in taken_back or taken_back["checkpoint"] is None


def test_one_json_value_and_nothing_else_on_stdout(desk: Desk) -> None:
    report = json.loads(desk.apply(GOOD, "--json").out)
    (outcome,) = report["outcomes"]
    assert (report["state"], outcome["status"], outcome["tier"]) == ("finished", "landed", "safe")
    assert report["checkpoint"] == report["turn"]
    held_back = json.loads(desk.apply(block("a.txt", "zwei", "deux") + BAD, "--json").out)
    assert [outcome["status"] for outcome in held_back["outcomes"]] == ["failed", "failed"]
    assert "checkpoint" not in held_back or held_back["checkpoint"] is None


def test_what_was_adapted_is_shown_and_told(desk: Desk) -> None:
    (desk.root / "a.txt").write_text("    one\n    two\n", encoding="utf-8")
    reply, note = block("a.txt", "one", "eins"), "The indentation was adapted to the document."
    ended = desk.apply(reply)
    assert f"a.txt: landed (the search text differed slightly)\n    {note}\n" in ended.out
    (outcome,) = json.loads(desk.apply(block("a.txt", "two", "zwei"), "--json").out)["outcomes"]
    assert (outcome["tier"], outcome["notes"]) == ("normalised", [note])
    assert desk.files()["a.txt"] == "    eins\n    zwei\n"
    (outcome,) = json.loads(desk.apply(block("b.txt", "five", "fünf"), "--json").out)["outcomes"]
    assert (outcome["tier"], "notes" in outcome) == ("safe", False)


def test_a_file_name_with_a_blank(desk: Desk) -> None:
    (desk.root / "my notes.txt").write_text("one\n", encoding="utf-8")
    assert desk.apply(block("**my notes.txt**", "one", "eins")).code == 0
    assert desk.files()["my notes.txt"] == "eins\n"


def test_a_block_without_a_file_is_told_in_the_words_of_the_reply(desk: Desk) -> None:
    ended = desk.apply(block("", "two", "zwei"))
    assert ended.code == 1
    assert "This edit block does not say which file it is for." in ended.out
    assert "Write the file's path on the line above the block." in ended.out
    assert "argument" not in ended.out + ended.err
    assert desk.files() == BEFORE


def test_a_protected_file_is_asked_about_and_nobody_there_is_a_no(desk: Desk) -> None:
    (desk.root / ".env").write_text("KEY=1\n", encoding="utf-8")
    reply = block(".env", "KEY=1", "KEY=2")
    ended = desk.apply(reply)
    assert (ended.code, desk.files()[".env"]) == (1, "KEY=1\n")
    assert ended.err.count("handrail cannot ask: standard input or standard error is not a terminal.") == 1
    assert "handrail: Allow patch: .env?" in ended.err, "the diff is not shown as a message of its own"
    assert "denied: No user was available to allow this: .env." in ended.out, "nobody said no"
    assert "copy the failures" not in ended.out, "another reply would not help"
    assert desk.apply(reply, "--yes").code == 0
    assert desk.files()[".env"] == "KEY=2\n"


def test_a_reply_without_edits_says_what_can_be_read(desk: Desk) -> None:
    ended = desk.apply("Just use more threads.")
    assert (ended.code, desk.files()) == (2, BEFORE)
    assert "The reply has no edit block. It can have:\n" in ended.out
    assert "handrail.model" not in ended.out, "apply reads no setting of a model"
    assert "`handrail run --model MODEL`" in ended.out, "apply has no such option"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff\xfe", "is not UTF-8 (byte 1). Save it in UTF-8."),
        (b" \n", "is empty"),
    ],
)
def test_a_reply_that_cannot_be_read(desk: Desk, tmp_path: Path, reply: bytes | None, said: str) -> None:
    if reply is not None:
        (tmp_path / "reply.md").write_bytes(reply)
    ended = desk.run("apply", str(tmp_path / "reply.md"))
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_an_empty_reply_is_not_called_a_prompt(desk: Desk) -> None:
    assert desk.apply("").err == "handrail: error: The reply is empty.\n"


def test_a_workspace_that_is_none(tmp_path: Path) -> None:
    ended = Desk(tmp_path / "nowhere", tmp_path / "state").apply(GOOD)
    assert ended.code == 2
    assert "cannot be used" in ended.err


def test_lines_whose_keys_the_chat_was_not_shown_keep_them(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, hidden = "sk-testkey-1234567890", "[key removed by handrail]"
    monkeypatch.setenv("SOME_API_KEY", key)
    desk.write(a=f"key = {key}\ntwo\n")
    ended = desk.apply(block("a.txt", f"key = {hidden}\ntwo", f"key = {hidden}\n2"))
    assert (ended.code, desk.files()["a.txt"]) == (0, f"key = {key}\n2\n")
    ended = desk.apply(block("b.txt", "five", f"key = {hidden}"))
    assert (ended.code, desk.files()["b.txt"]) == (1, "four\nfive\n")
    assert "handrail shows in place of the value of a key" in ended.out + ended.err


def test_failures_and_diffs_are_printed_without_keys(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-testkey-1234567890"
    monkeypatch.setenv("SOME_API_KEY", key)
    desk.write(a=f"one\nkey = {key}\ntwo\n")
    failed = desk.apply(block("a.txt", "one\nkey = WRONG\ntwo", "x"))
    landed = desk.apply(block("a.txt", "two", "2"))
    assert (failed.code, landed.code) == (1, 0)
    assert "key = [key removed by handrail]" in landed.out
    assert not [each for each in (failed.out, failed.err, landed.out, landed.err) if key in each]
