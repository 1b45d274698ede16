"""The two commands of the README: what they take from the machine on which they run, and what they do not."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
VERSION = ".".join(map(str, sys.version_info[:2]))
SHOW = "import json, os, sys; sys.path.insert(0, sys.argv[1]); import environment, interpreters"
# `check.py --all`: its check of the other Python holds a pipe and never ends; its first step fails.
FAILING = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv.pop(1))
import check
never_ends = "exec 3> pipe; touch began; (sleep 20; echo goes on >&3) & wait"
check.environment.ensure = lambda *_, **__: Path(sys.executable)
check.environment.ROOT = Path.cwd()
check._on_other_pythons = lambda step: step("other", ("/bin/sh", "-c", never_ends))
check._steps = lambda *_: [("first", ("/bin/sh", "-c", "until [ -e began ]; do sleep 0.01; done; exit 7"))]
sys.argv = ["check.py", "--all"]
sys.exit(check.main())
"""
# `check.py --all`: its check of the other Python fails after the tests have begun; the tests pass after that.
FAILING_LATE = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv.pop(1))
import check
priority = f"{sys.executable} -c 'import os; print(os.getpriority(os.PRIO_PROCESS, 0))'"
late = f"until [ -e began ]; do sleep 0.01; done; {priority}; exit 5"
tests = "touch began; until grep -q FAILED said; do :; done"
check.environment.ensure = lambda *_, **__: Path(sys.executable)
check.environment.ROOT = Path.cwd()
check._on_other_pythons = lambda step: step("other", ("/bin/sh", "-c", late))
check._check = lambda *_: check._run(("/bin/sh", "-c", tests))
sys.argv = ["check.py", "--all"]
sys.exit(check.main())
"""
BESIDE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv.pop(1))
import check
check.environment.ROOT = Path.cwd()
meets = "touch {0}; until [ -e {1} ]; do sleep 0.01; done; echo {0} here"
one, two = meets.format("one", "two"), meets.format("two", "one")
rows = [
    {"first": one + "; touch done", "third": "[ -e done ] && exit 7", "fourth": "touch begun"},
    {"second": two + "; until grep -q FAILED said; do :; done", "fifth": "touch begun"},
]
sys.exit(check._side_by_side([(name, ("/bin/sh", "-c", line)) for name, line in row.items()] for row in rows))
"""
GROUPED = """
import pytest

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(4))
def test(number):
    pass
"""


def said(program: str, scripts: Path = SCRIPTS, **given: str) -> object:
    """What *program* prints as JSON, in exactly the environment that is given."""
    command = (sys.executable, "-I", "-c", f"{SHOW}; print(json.dumps({program}))", str(scripts))
    return json.loads(subprocess.run(command, env=given, stdout=subprocess.PIPE, check=True).stdout)


def script(name: str, *arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, str(SCRIPTS / name), *arguments)
    return subprocess.run(command, env=given, capture_output=True, text=True, check=False)


def test_only_what_tools_need_is_kept_of_the_environment() -> None:
    kept = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "HANDRAIL_KILLS": "3",
        "PIP_INDEX_URL": "file:///index",
        "npm_config_registry": "file:///registry",
        "SSL_CERT_FILE": "/certs",
    }
    others = {
        "PYTHONWARNINGS": "error",
        "PYTHONOPTIMIZE": "2",
        "PYTHONUNBUFFERED": "1",
        "VIRTUAL_ENV": "/venv",
        "LC_MESSAGES": "tr_TR",
        "LANG": "tr_TR",
        "GIT_DIR": "/git",
        "CI": "true",
        "PIP_TARGET": "/target",
        "OPENAI_API_KEY": "key",
        "HANDRAIL_FILE_MUTATION_VERIFIER": "0",
    }
    assert said("environment.clean(dict(os.environ))", **kept, **others) == {**kept, "PIP_USER": "0"}


def test_what_tells_tests_how_much_to_try_is_kept_of_the_environment() -> None:
    """Each variable that `tests/README.md` names or a test reads can be given to `check.py`."""
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\bHANDRAIL_[A-Z_]+", page))
    modules = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    read = {name for each in modules for name in re.findall(r'environ\.get\("(HANDRAIL_[A-Z_]+)"', each)}
    assert "HANDRAIL_ACTS" in named & read
    given = dict.fromkeys(named | read, "1")
    assert said("environment.clean(dict(os.environ))", **given) == {**given, "PIP_USER": "0"}


@pytest.mark.parametrize("name", ["http_proxy", "HTTPS_PROXY"])
def test_no_proxy_comes_between_the_tests_and_their_own_servers(name: str) -> None:
    found = said("environment.clean(dict(os.environ))", **{name: "proxy:1", "NO_PROXY": "intern"})
    assert isinstance(found, dict)
    assert found[name] == "proxy:1"
    assert found["no_proxy"] == found["NO_PROXY"] == "intern,localhost,127.0.0.1,::1"


@pytest.mark.parametrize(
    ("made", "works", "expected"),
    [
        (None, False, ".venv"),
        (f"version = {VERSION}.1", True, ".venv"),
        (f"version_info = {VERSION}.1.final.0", True, ".venv"),
        ("version = 3.1.4", True, f".cache/python-{VERSION}"),
        ("version = 3.1.4", False, ".venv"),
    ],
)
def test_each_version_of_python_has_a_folder_of_its_own(
    made: str | None, works: bool, expected: str, tmp_path: Path
) -> None:
    """One that is there stays as it is, unless its Python is gone."""
    shutil.copytree(SCRIPTS, tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    if made is not None:
        (tmp_path / ".venv" / "bin").mkdir(parents=True)
        (tmp_path / ".venv" / "pyvenv.cfg").write_text(f"home = /usr/bin\n{made}\n", encoding="utf-8")
        (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable if works else "/nowhere")
    assert said(f"str(environment._folder({VERSION!r}))", tmp_path / "scripts") == str(tmp_path / expected)


def test_a_python_is_what_answers_as_one(tmp_path: Path) -> None:
    """Not a name on the PATH: stand-ins fail, some cannot make environments, and some are no release yet."""
    answers = {
        "first/shims/python3.97": "echo 'pyenv: python3.97: command not found' >&2; exit 127",
        "first/versions/3.97.0/bin/python3": "echo 3 97 0 final",
        "second/python3": "echo 3 10 0 final",
        "second/python3.96": "echo \"No module named 'ensurepip'\" >&2; exit 1",
        "second/python3.98": "echo 3 98 0 candidate",
        "second/python3.95": "echo 3 95 0 final",
        "third/python3.95": "echo 3 95 0 final",
        "third/python3.94-config": "echo 3 94 0 final",
        "home/.local/share/uv/python/cpython-3.96/bin/python3": "echo 3 96 0 final",
    }
    for name, answer in answers.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    folders = [str(tmp_path / name) for name in ("nowhere", "first/shims", "second", "third")]
    found = said(
        "[[*version, str(path)] for version, path in interpreters.interpreters().items()]",
        PATH=os.pathsep.join(folders),
        HOME=str(tmp_path / "home"),
    )
    assert isinstance(found, list)
    assert found[0][:2] == list(sys.version_info[:2])
    assert found[1:] == [
        [3, 95, str(tmp_path / "second" / "python3.95")],
        [3, 96, str(tmp_path / "home/.local/share/uv/python/cpython-3.96/bin/python3")],
        [3, 97, str(tmp_path / "first/versions/3.97.0/bin/python3")],
    ]


@pytest.mark.parametrize("name", ["demo.py", "check.py"])
def test_help_tells_and_does_nothing(name: str) -> None:
    done = script(name, "--help", PYTHONSAFEPATH="1", PYTHONWARNINGS="error")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {name} [-h]")


def test_the_demonstration_refuses_arguments_that_it_does_not_know() -> None:
    done = script("demo.py", "--fast")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unrecognized arguments: --fast" in done.stderr


def test_tests_of_one_group_run_one_after_another(tmp_path: Path) -> None:
    """Those of large editors pack the extension in one folder, and need the machine for themselves."""
    for name in ("a", "b"):
        (tmp_path / f"test_{name}.py").write_text(GROUPED, encoding="utf-8")
    command = (sys.executable, "-m", "pytest", "-v", "-n2", "--dist=loadgroup", "-c", os.devnull, ".")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if "PASSED" in line]
    assert len(lines) == 8, done.stdout
    assert len({line.split()[0] for line in lines}) == 1, (
        "each line begins with the process that ran the test"
    )


def test_a_failed_step_ends_the_preparation_of_other_pythons(tmp_path: Path) -> None:
    """With all that it has started: no installation goes on after the gate has said that it failed."""
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(reading, "rb") as pipe:
        command = (sys.executable, "-c", FAILING, str(SCRIPTS))
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        os.set_blocking(reading, True)
        assert pipe.read() == b"", "it ended only by itself"
    assert (done.returncode, done.stderr) == (7, "")


def test_another_python_is_checked_beside_the_tests_and_counts(tmp_path: Path) -> None:
    program = [sys.executable, "-c", FAILING_LATE, str(SCRIPTS)]
    with (tmp_path / "said").open("w") as output:
        code = subprocess.run(program, cwd=tmp_path, stdout=output, check=False, timeout=60).returncode
    nicer = str(os.getpriority(os.PRIO_PROCESS, 0) + 5)
    rows = [row.partition(" (")[0] for row in (tmp_path / "said").read_text().splitlines()]
    assert (code, rows) == (5, [nicer, "FAILED  other"])


def test_rows_of_steps_run_side_by_side_and_none_begins_after_one_has_failed(tmp_path: Path) -> None:
    program = [sys.executable, "-c", BESIDE, str(SCRIPTS)]
    with (tmp_path / "said").open("w") as output:
        code = subprocess.run(program, cwd=tmp_path, stdout=output, check=False, timeout=60).returncode
    rows = [row.partition(" (")[0] for row in (tmp_path / "said").read_text().splitlines()]
    assert rows == ["one here", "ok  first", "FAILED  third", "two here", "ok  second"]
    assert (code, (tmp_path / "begun").exists()) == (7, False)


def test_the_extension_is_checked_after_its_tools_are_installed() -> None:
    program = (
        "import check; options = check._parser().parse_args(['--all']);"
        "names = [[name for name, _ in row] for row in check._long_steps(check.Path('python'), options)]"
    )
    command = (sys.executable, "-c", f"{program}; import json; print(json.dumps(names))")
    rows = json.loads(subprocess.run(command, cwd=SCRIPTS, stdout=subprocess.PIPE, check=True).stdout)
    assert ["editors", "extension: types and lint", "packages to replay"] in rows
