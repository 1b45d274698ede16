"""`handrail config`, which changes one value and leaves all else as people wrote it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from handrail.adapters import doctor
from handrail.adapters.commands import shell_parser
from handrail.adapters.state.config_file import ConfigError, change, read
from handrail.cli import main, settings
from handrail.core.policy.containment import Available
from handrail.headless import client

MINE = """\
# what I like
model = "paste"  # for now

[context]  # small
window = 1000

[[approvals]]
tool = "terminal"
match = "make *"
verdict = "allow"
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "config" / "handrail" / "config.toml"


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())


def test_a_default_is_that_of_a_terminal(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "list", "--json"]) == 0
    listed = {row["name"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    for name, value in client.SETTINGS.items():
        assert listed[name] == value
        assert main(["config", "get", "--json", name]) == 0
        assert json.loads(capsys.readouterr().out) == value
        assert "In a terminal" in settings.setting_named(name).does
    main(["doctor"])
    assert 'edits.closedDocuments = "disk"  (default)' in capsys.readouterr().out


def test_a_value_is_set_listed_and_told(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "path"]) == 0
    assert main(["config", "get", "context.window"]) == 0
    assert main(["config", "set", "handrail.context.window", "32000"]) == 0
    assert main(["config", "set", "model", "ollama:qwen3"]) == 0
    assert main(["config", "get", "context.window"]) == 0
    assert main(["config", "get", "model"]) == 0
    assert main(["config", "get", "--json", "model"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(file), "0", "32000", "ollama:qwen3", '"ollama:qwen3"']
    assert file.read_text() == 'model = "ollama:qwen3"\n\n[context]\nwindow = 32000\n'
    assert file.stat().st_mode & 0o777 == 0o600
    assert main(["config", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0] == 'model = "ollama:qwen3"'
    assert 'mode = "edit"  (default)' in listed
    assert main(["config", "list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["context.window"] == {"name": "context.window", "value": 32000, "isDefault": False}


@pytest.mark.parametrize("model", ["editor", "editor:gpt", "record:a.json:editor"])
def test_a_terminal_takes_no_model_of_an_editor(
    file: Path, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    assert main(["config", "set", "model", model]) == 2
    said = capsys.readouterr().err
    assert "means an editor's own model: it works only in an editor that has models" in said
    assert "Or write" not in said, "what was rejected is not recommended"
    assert not file.exists()


@pytest.mark.parametrize(
    ("name", "value", "before", "after"),
    [
        ("model", "b", MINE, MINE.replace('"paste"', '"b"')),
        ("context.window", 2, MINE, MINE.replace("1000", "2")),
        ("context.reserve", 2, MINE, MINE.replace("1000\n", "1000\nreserve = 2\n")),
        ("mode", "ask", MINE, MINE.replace("for now\n", 'for now\nmode = "ask"\n')),
        ("model", "b", "handrail.model = 'a'\n", 'handrail.model = "b"\n'),
        ("context.window", 2, "[handrail.context]\nwindow = 1\n", "[handrail.context]\nwindow = 2\n"),
        ("context.window", 2, '"context.window" = 1 # x\n', '"context.window" = 2 # x\n'),
        ("context.window", 2, "context.reserve = 1\n", None),
        ("output.limit", 5000, MINE, None),
        ("model", 'ü"\\\n\x1b', "", None),
        ("terminal.environment", ["A_TOOL_*"], MINE, None),
        ("approvals", [], MINE, None),
        ("mode", "ask", "sandbx = 1\nmode = 'plan'\n", 'sandbx = 1\nmode = "ask"\n'),
        ("mode", "ask", "# only this", None),
        ("mode", "ask", "context = {window = 1}\r\n", None),
    ],
)
def test_only_what_is_set_changes(
    name: str, value: object, before: str, after: str | None, file: Path
) -> None:
    put(file, before)
    known = read(file)
    change(file, name, value)
    assert read(file) == {**known, name: value}
    text = file.read_bytes().decode()
    assert after is None or [line for line in text.splitlines() if line] == [
        line for line in after.splitlines() if line
    ]
    assert all(line.partition("#")[2] in text for line in before.splitlines()), "comments stay"


LISTS = """\
[[approvals]]  # mine
# why make
tool = "terminal"
match = '''
[[checks]]'''
verdict = "allow"
# after make

[[approvals]]
tool = "edit"
verdict = "ask"

# my checks

[[checks]]
name = "ruff"  # fast
[checks.environment]
A = "b"

# the end
"""
SEARCH = {"tool": "search", "verdict": "ask"}
MAKE = {"tool": "terminal", "match": "[[checks]]", "verdict": "allow"}
NEW = '[[approvals]]\ntool = "search"\nverdict = "ask"\n'
SPLIT = """\
[[approvals]]
tool = "a"
# b
[context]
window = 1

# c
[[approvals]]
tool = "b"
# z
"""


@pytest.mark.parametrize(
    ("name", "value", "before", "after"),
    [
        (
            "approvals",
            [SEARCH],
            LISTS,
            NEW + "# after make\n\n\n" + LISTS[LISTS.index("# my checks") :],
        ),
        (
            "approvals",
            [MAKE, SEARCH],
            LISTS,
            LISTS[: LISTS.index("[[approvals]]\n")] + NEW + "\n" + LISTS[LISTS.index("# my checks") :],
        ),
        (
            "approvals",
            [],
            LISTS,
            "# after make\n\napprovals = []\n\n" + LISTS[LISTS.index("# my checks") :],
        ),
        (
            "checks",
            [{"name": "a", "environment": {"A": "b"}}],
            LISTS,
            LISTS[: LISTS.index("[[checks]]\nname")]
            + '[[checks]]\nname = "a"\nenvironment = {A = "b"}\n\n# the end\n',
        ),
        (
            "checks",
            [{"name": "ruff", "environment": {"A": "b"}}, {"name": "a"}],
            LISTS,
            LISTS.replace('A = "b"\n', 'A = "b"\n\n[[checks]]\nname = "a"\n'),
        ),
        ("context.window", 2, SPLIT, SPLIT.replace("1", "2")),
        ("approvals", [SEARCH], SPLIT, NEW + "# b\n[context]\nwindow = 1\n\n# c\n# z\n"),
        (
            "approvals",
            [SEARCH],
            "[[handrail.approvals]]\ntool = 'a'\r\n\r\n# x\r\n[context]\r\n",
            '[[handrail.approvals]]\r\ntool = "search"\r\nverdict = "ask"\r\n\r\n# x\r\n[context]\r\n',
        ),
        (
            "approvals",
            [SEARCH],
            "approvals = [\n  {tool = 'a'},\n] # mine\nmode = 'ask'\n\n# c\n[context]\n",
            'approvals = [{tool = "search", verdict = "ask"}] # mine\nmode = \'ask\'\n\n# c\n[context]\n',
        ),
        (
            "context.reserve",
            2,
            "[context]\nwindow = 1\n\n# about output\n\n[output]\nlimit = 2\n",
            "[context]\nwindow = 1\nreserve = 2\n\n# about output\n\n[output]\nlimit = 2\n",
        ),
        ("mode", "ask", "# mine\n\n# c\n[context]\n", '# mine\n\nmode = "ask"\n\n# c\n[context]\n'),
        ("mode", "ask", "# c\n[context]\n", 'mode = "ask"\n\n# c\n[context]\n'),
        (
            "context.reserve",
            2,
            "context = {window = 1} # c\n# d\n[output]\n",
            "context = {window = 1,reserve = 2} # c\n# d\n[output]\n",
        ),
        (
            "context.reserve",
            2,
            "[handrail.context]\n# c\n",
            "[handrail.context]\nreserve = 2\n# c\n",
        ),
    ],
)
def test_all_other_text_stays_where_it_is(
    name: str, value: object, before: str, after: str, file: Path
) -> None:
    put(file, before)
    change(file, name, value)
    assert file.read_bytes().decode() == after


@pytest.mark.parametrize(
    "text", ["mode = ", "[context]\nwindow = 1\n[context]\n", "model = 'a'\nmodel.b = 1"]
)
def test_a_file_that_is_not_understood_is_not_written(text: str, file: Path) -> None:
    put(file, text)
    with pytest.raises(ConfigError, match=r"TOML|by hand"):
        change(file, "mode", "ask")
    assert file.read_text() == text


def test_a_file_that_is_a_link_stays_one(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "handrail.toml"
    put(real, MINE)
    os.chmod(real, 0o644)
    file.parent.mkdir(parents=True)
    file.symlink_to(real)
    change(file, "context.window", 2)
    assert file.is_symlink()
    assert real.read_text() == MINE.replace("1000", "2")
    assert real.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    "argv",
    [["set", "apiKey", "sk-1"], ["set", "windoww", "1"], ["set", "model", "gpt-5"], ["get", "nothing"]],
)
def test_a_wrong_name_ends_with_2_and_writes_nothing(
    argv: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", *argv]) == 2
    assert capsys.readouterr().err.startswith("handrail: error: ")
    assert not file.exists()


def test_a_list_says_what_is_wrong_and_shows_no_key(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-" + "proj-" + "1a2b3c4d" * 3
    put(file, f"keyName = '{key}'\nmode = 'edti'\nwindoww = 1\ncontext.window = 7\n")
    assert main(["config", "list"]) == 1
    told = capsys.readouterr()
    assert "context.window = 7" in told.out
    assert key not in told.out + told.err
    assert [word in told.err for word in ("`keyName`", "`mode`", "`windoww`")] == [True] * 3
    assert main(["run", "x", "--workspace", str(file.parent)]) == 2
    assert "cannot be used" in capsys.readouterr().err


def test_the_doctor_says_when_the_sandbox_is_off(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HANDRAIL_SANDBOX", raising=False)
    main(["config", "set", "sandbox", "off"])
    main(["doctor"])
    assert "\n-  commands are not contained: the setting `sandbox` is off; " in capsys.readouterr().out
    monkeypatch.setenv("HANDRAIL_SANDBOX", "auto")
    main(["doctor"])
    assert "`sandbox` is off" not in capsys.readouterr().out
    main(["config", "set", "sandbox", "auto"])
    monkeypatch.setenv("HANDRAIL_SANDBOX", "off")
    main(["doctor"])
    assert "\n-  commands are not contained: HANDRAIL_SANDBOX is off; " in capsys.readouterr().out
    for has_commands, more in ((True, " that it does not know to be read-only"), (False, "")):
        monkeypatch.setattr(shell_parser, "HAS_COMMANDS", has_commands)
        main(["doctor"])
        said = f"HANDRAIL_SANDBOX is off; handrail asks before every command{more}\n"
        assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("available", "line"),
    [
        (Available(by="bubblewrap 0.11.0", works=True), "ok commands are contained by bubblewrap 0.11.0"),
        (
            Available(by="Landlock (version 4)", works=True, is_weak=True),
            "ok commands are contained by Landlock (version 4); handrail asks before every command that it "
            "does not know to be read-only",
        ),
        (
            Available(by="bubblewrap 0.11.0", why_not="HOME is not set"),
            "-  only commands that are known to be read-only are contained here (by bubblewrap 0.11.0): HOME "
            "is not set; handrail asks before all others, and runs them without a sandbox",
        ),
    ],
)
def test_the_doctor_says_what_is_asked_about(tmp_path: Path, available: Available, line: str) -> None:
    lines, _ = doctor.report(lambda: tmp_path, (), {}, available)
    assert line in lines


def test_the_doctor_tells_a_program_that_fails_from_one_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "git"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    lines, _ = doctor.report(lambda: tmp_path, (), {}, Available())
    assert [line for line in lines if "Without it" in line] == [
        f"-  git ({broken}) is installed, but `git --version` fails. Without it, no checkpoint covers what "
        "commands change in a workspace with more than 2,000 files or 5 MB.",
        "-  rg is missing. Without it, search in large workspaces is slower.",
    ]


def test_the_doctor_shows_what_is_configured(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "set", "model", "ollama:qwen3"])
    assert main(["doctor"]) == 0
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert 'model = "ollama:qwen3"' in shown
    assert 'mode = "edit"  (default)' in shown
    put(file, 'mode = "maybe"\n')
    assert main(["doctor"]) == 1
    assert '!! `mode` must be one of edit, ask, plan, not "maybe".' in capsys.readouterr().out
    put(file, "mode = ")
    assert main(["doctor"]) == 1
    assert "is not valid TOML" in capsys.readouterr().out


def test_the_doctor_tries_whether_the_state_folder_can_be_written(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even the administrator, whom the system permits everything, cannot make a file in /proc."""
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/state")
    assert main(["doctor"]) == 1
    said = (
        "state folder: /proc/state/handrail (not writable, so handrail takes no checkpoints, and refuses "
        "edits and most commands unless handrail.checkpoints.required is false; make it writable, or set "
    )
    assert said in capsys.readouterr().out
