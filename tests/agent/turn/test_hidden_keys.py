"""A model writes back a text in which keys were hidden from it: the keys stay, or nothing is written."""

from __future__ import annotations

import pytest

from bench import Bench
from handrail.testing import answer, call, lay_out

KEY, OTHER = "sk-testkey-1234567890", "ghp_0123456789abcdef"
HIDDEN = "[key removed by handrail]"
FILE = f'API = "{KEY}"\nTIMEOUT = 10\nTOKEN = "{OTHER}"\n'
SHOWN = FILE.replace(KEY, HIDDEN).replace(OTHER, HIDDEN)


@pytest.fixture(autouse=True)
def _keys(bench: Bench) -> None:
    bench.secrets = (KEY, OTHER)
    lay_out(bench.root, {"config.py": FILE.encode()})


@pytest.mark.parametrize(
    "edit",
    [
        call("write_file", path="config.py", content=SHOWN.replace("10", "30")),
        call("patch", path="config.py", old_string=SHOWN, new_string=SHOWN.replace("10", "30")),
        call(
            "patch",
            mode="v4a",
            patch=f'*** Begin Patch\n*** Update File: config.py\n@@\n API = "{HIDDEN}"\n-TIMEOUT = 10\n'
            f'+TIMEOUT = 30\n TOKEN = "{HIDDEN}"\n*** End Patch\n',
        ),
    ],
)
async def test_an_edit_of_other_lines_keeps_the_keys(bench: Bench, edit: dict[str, object]) -> None:
    bench.says(answer("", call("read_file", path="config.py")), answer("", edit), answer("Done."))
    await bench.turn()
    assert (bench.root / "config.py").read_text() == FILE.replace("10", "30")
    assert bench.results()[1][1] == ""
    assert not any(key in text for text in bench.texts() for key in (KEY, OTHER))


@pytest.mark.parametrize(
    "edit",
    [
        call("write_file", path="new.py", content=SHOWN),
        call("write_file", path="config.py", content=SHOWN + f'MORE = "{HIDDEN}"\n'),
        call("patch", path="config.py", old_string="TIMEOUT = 10", new_string=f'KEY = "{HIDDEN}"'),
        call("terminal", command=f"echo 'KEY={HIDDEN}' > .env.sample"),
    ],
)
async def test_the_placeholder_is_never_written(bench: Bench, edit: dict[str, object]) -> None:
    bench.says(answer("", call("read_file", path="config.py")), answer("", edit), answer("Done."))
    await bench.turn()
    assert [each.name for each in bench.root.iterdir()] == ["config.py"]
    assert (bench.root / "config.py").read_text() == FILE
    assert HIDDEN in bench.texts()[1]
    assert bench.results()[1][1] in ("omission", "bad-arguments")


async def test_a_whole_file_keeps_a_key_that_the_user_has_changed_since(bench: Bench) -> None:
    file = bench.root / "config.py"
    bench.says(
        answer("", call("read_file", path="config.py")),
        answer("", call("write_file", path="config.py", content=SHOWN.replace("10", "30"))),
        answer("Done."),
        acts={1: lambda: file.write_text(FILE.replace(OTHER, "new-value-of-the-user"))},
    )
    await bench.turn()
    assert file.read_text() == FILE.replace("10", "30").replace(OTHER, "new-value-of-the-user")


async def test_the_label_of_a_checkpoint_has_no_key(bench: Bench) -> None:
    bench.says(answer("", call("patch", path="config.py", old_string="10", new_string="30")), answer("Done."))
    await bench.host.wait(bench.host.start(f"Use {KEY} now.", None).id)
    (checkpoint,) = await bench.repo.list(None)
    assert checkpoint.label == f"Use {HIDDEN} now."
