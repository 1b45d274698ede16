"""The headless client and the real server, through the command line, with the workspace as current folder."""

import codecs
import json
import os
from pathlib import Path
from typing import Any

import pytest

from e2e.servers import run_handrail
from stand_in import Ended

pytestmark = pytest.mark.usefixtures("both_ways")

FILES = {
    "crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "bom.txt": codecs.BOM_UTF8 + b"one\ntwo\n",
    "mixed.txt": b"one\r\ntwo\nthree",
    "strange.txt": "a\fb\u2028c\U0001f642\none\n\ttwo\n".encode(),
    "latin.txt": b"caf\xe9\none\n",
    "run.sh": b"#!/bin/sh\necho one\n",
    "old.py": b"x = 1\n",
}

V4A = """\
*** Begin Patch
*** Update File: crlf.txt
@@
 one
-two
+zwei
*** Add File: new/made.txt
+made
*** End Patch
"""
SEARCH_REPLACE = """\
bom.txt
<<<<<<< SEARCH
two
=======
zwei 🙂
>>>>>>> REPLACE
strange.txt
<<<<<<< SEARCH
one
=======
eins
>>>>>>> REPLACE
mixed.txt
<<<<<<< SEARCH
two
=======
zwei
>>>>>>> REPLACE
"""
UNIFIED = """\
--- a/run.sh
+++ b/run.sh
@@ -1,2 +1,2 @@
 #!/bin/sh
-echo one
+echo eins
"""
FENCE = """\
old.py
```python
x = 2
y = 3
```
"""
FITS_NOWHERE = """\
crlf.txt
<<<<<<< SEARCH
thre
=======
drei
>>>>>>> REPLACE
"""

AFTER = {
    "crlf.txt": b"one\r\nzwei\r\nthree\r\n",
    "bom.txt": codecs.BOM_UTF8 + "one\nzwei 🙂\n".encode(),
    "mixed.txt": b"one\r\nzwei\nthree",
    "strange.txt": "a\fb\u2028c\U0001f642\neins\n\ttwo\n".encode(),
    "run.sh": b"#!/bin/sh\necho eins\n",
    "old.py": b"x = 2\ny = 3\n",
    "new/made.txt": b"made\n",
}


class Folder:
    """A workspace folder, and the command line run in it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "workspace"
        self.root.mkdir()
        self._state = folder / "state"
        for name, content in FILES.items():
            (self.root / name).write_bytes(content)
        (self.root / "run.sh").chmod(0o750)

    def handrail(self, *argv: str, prompt: str = "") -> Ended:
        """Run a command on the folder; a hang is a failure."""
        environment = {**os.environ, "XDG_STATE_HOME": str(self._state), "NO_COLOR": "1"}
        return Ended(
            run_handrail(
                [*argv, "--workspace", str(self.root)],
                environment=environment,
                folder=self.root,
                given=prompt.encode(),
            )
        )

    def script(self, *messages: Any) -> str:
        """Write a script for the model; give the name of the model."""
        (self.root.parent / "script.json").write_text(json.dumps(messages))
        return "scripted:../script.json"

    @property
    def files(self) -> dict[str, tuple[bytes, int]]:
        paths = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): (path.read_bytes(), path.stat().st_mode) for path in paths}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_every_notation_lands_on_disk_and_is_taken_back(folder: Folder) -> None:
    before = folder.files

    ended = folder.handrail("run", "-", "--json", prompt=V4A + SEARCH_REPLACE + UNIFIED + FENCE)

    assert ended.code == 0, ended.err
    report = json.loads(ended.out)
    assert {outcome["status"] for outcome in report["outcomes"]} == {"landed"}
    assert (report["state"], len(report["outcomes"])) == ("finished", 7)
    after = folder.files
    assert {name: after[name][0] for name in after} == {**FILES, **AFTER}
    assert after["run.sh"][1] & 0o777 == 0o750

    listed = json.loads(folder.handrail("checkpoint", "list", "--json").out)
    assert [checkpoint["id"] for checkpoint in listed] == [report["checkpoint"]]
    assert len(listed[0]["paths"]) == 7
    restored = folder.handrail("checkpoint", "restore", report["checkpoint"])
    assert restored.code == 0, restored.err
    assert "restored   crlf.txt" in restored.out
    assert folder.files == before
    assert not (folder.root / "new").exists()


def test_an_edit_that_fits_nowhere_ends_with_1_and_the_others_land(folder: Folder) -> None:
    ended = folder.handrail("run", "-", prompt=FITS_NOWHERE + UNIFIED)
    assert ended.code == 1
    assert "crlf.txt:3: warning[no-match] " in ended.out
    assert "similar: line 3 (" in ended.out
    assert "+echo eins" in ended.out
    assert "handrail checkpoint restore t-" in ended.out
    assert (folder.root / "run.sh").read_bytes() == AFTER["run.sh"]
    assert (folder.root / "crlf.txt").read_bytes() == FILES["crlf.txt"]


def test_what_is_not_utf_8_is_left_alone(folder: Folder) -> None:
    ended = folder.handrail("run", "-", prompt=FITS_NOWHERE.replace("crlf", "latin").replace("thre", "one"))
    assert ended.code == 1
    assert "latin.txt:1: warning[bad-encoding] " in ended.out
    assert (folder.root / "latin.txt").read_bytes() == FILES["latin.txt"]


def test_a_prompt_without_edit_blocks_explains_itself(folder: Folder) -> None:
    ended = folder.handrail("run", "Please tidy up.")
    assert ended.code == 2
    for part in ("Begin Patch", "SEARCH", "unified diff", "handrail.model"):
        assert part in ended.out


def test_a_terminal_without_a_model_of_its_own_names_what_can_choose_another(folder: Folder) -> None:
    ended = folder.handrail("run", "Please tidy up.", "--model", "editor")
    assert ended.code == 2
    assert "Choose another model with `--model` or, in `handrail chat`, with `/model`." in ended.out
    assert "handrail.model" not in ended.out


def test_a_failure_that_the_model_makes_good_is_no_failure(folder: Folder) -> None:
    def patch(old: str, new: str) -> dict[str, Any]:
        arguments = {"path": "run.sh", "mode": "replace", "old_string": old, "new_string": new}
        return {"name": "patch", "arguments": arguments}

    wrong, right = patch("ecko one", "echo uno"), patch("echo one", "echo eins")
    model = folder.script({"calls": [wrong]}, {"calls": [right]}, {"text": "Now."})
    ended = folder.handrail("run", "do it", "--model", model)
    assert "warning[" in ended.out
    assert "fixes an earlier failure" in ended.out
    assert "Now." in ended.out
    assert ended.code == 0
    assert (folder.root / "run.sh").read_bytes() == AFTER["run.sh"]


def test_a_model_that_is_not_there_ends_with_2(folder: Folder) -> None:
    ended = folder.handrail("run", "do it", "--model", "scripted:none.json")
    assert ended.code == 2
    assert "none.json" in ended.out + ended.err


@pytest.mark.parametrize(("yes", "code"), [([], 1), (["--yes"], 0)])
def test_a_protected_file_needs_a_yes(folder: Folder, yes: list[str], code: int) -> None:
    (folder.root / ".env").write_bytes(b"one\n")
    ended = folder.handrail(
        "run", "-", *yes, prompt=FITS_NOWHERE.replace("crlf.txt", ".env").replace("thre", "one")
    )
    assert ended.code == code
    assert (folder.root / ".env").read_bytes() == (b"drei\n" if yes else b"one\n")


def test_a_yes_lifts_no_block(folder: Folder) -> None:
    (folder.root / ".git").mkdir()
    (folder.root / ".git" / "config").write_bytes(b"one\n")
    prompt = FITS_NOWHERE.replace("crlf.txt", ".git/config").replace("thre", "one")
    ended = folder.handrail("run", "-", "--yes", prompt=prompt)
    assert ended.code == 1
    assert "warning[blocked]" in ended.out
    assert (folder.root / ".git" / "config").read_bytes() == b"one\n"


def test_modules_in_the_workspace_are_not_run(folder: Folder) -> None:
    for name in ("json.py", "asyncio.py", "handrail.py", "pygls.py"):
        (folder.root / name).write_text("import os\nos._exit(99)\n")
    assert folder.handrail("run", "-", prompt=UNIFIED).code == 0


def test_an_unknown_checkpoint_is_answered_with_those_that_exist(folder: Folder) -> None:
    assert (
        "This workspace has no checkpoint t-9. It has no checkpoints yet."
        in folder.handrail("checkpoint", "restore", "t-9").err
    )
    folder.handrail("run", "-", prompt=UNIFIED)
    ended = folder.handrail("checkpoint", "restore", "t-9")
    assert ended.code == 2
    assert "This workspace has no checkpoint t-9. It has t-" in ended.err


def test_input_that_no_file_can_hold_is_refused_by_a_real_server(folder: Folder) -> None:
    """Half surrogate pairs, NUL and far too many hunks go through the wire, the report and the terminal."""
    before = folder.files

    def patch(body: str) -> dict[str, Any]:
        text = f"*** Begin Patch\n*** Update File: {body}*** End Patch"
        return {"name": "patch", "arguments": {"mode": "v4a", "patch": text}}

    bodies = ["run.sh\n-echo one\n+\ud800\n", "\udfff.sh\n-a\n+b\n", "run.sh\n-echo one\n+\0\n"]
    calls = [patch(body) for body in (*bodies, "run.sh\n" + "@@\n-echo one\n+echo two\n" * 10_000)]
    model = folder.script({"text": "Half: \ud800", "calls": calls}, {"text": "Done.", "calls": []})
    ended = folder.handrail("run", "Do it.", "--model", model, "--json")
    assert ended.code == 1, ended.err
    codes = [outcome["failure"]["code"] for outcome in json.loads(ended.out)["outcomes"]]
    assert codes == ["bad-encoding"] * 3 + ["too-large"]
    assert folder.files == before


def test_what_nobody_allows_is_listed_as_denied_and_ends_with_1(folder: Folder) -> None:
    """A denied edit is no failure, and the turn has not done all that it wanted."""
    (folder.root / ".env").write_text("KEY=one\n")
    reply = ".env\n<<<<<<< SEARCH\nKEY=one\n=======\nKEY=two\n>>>>>>> REPLACE\n"
    ended = folder.handrail("run", "-", prompt=SEARCH_REPLACE + reply)
    assert ended.code == 1
    assert "  .env: denied: No user was available to allow this: .env." in ended.out
    assert "finished: 3 landed, 1 denied" in ended.out
    assert "warning[" not in ended.out
    assert (folder.root / ".env").read_text() == "KEY=one\n"
    ended = folder.handrail("run", "--json", "-", prompt=reply)
    statuses = [outcome["status"] for outcome in json.loads(ended.out)["outcomes"]]
    assert (ended.code, statuses) == (1, ["denied"])
