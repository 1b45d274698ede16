"""What the user stages or commits with git is kept; what the agent's own commands do with git is not."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from agent.review.test_reviews import BOTH, EDITED, FIVE, PATCH, edited, patch, told
from bench import Bench
from git_user import WHO, git
from handrail.adapters.git.recorded import GitRecords
from handrail.agent.review.selection import HunkSelection
from handrail.agent.review.undoing import undo
from handrail.core.policy.rules import Decision, Rule
from handrail.ports import Terms
from handrail.testing import answer, call, lay_out


@pytest.fixture
def repository(bench: Bench) -> Bench:
    """A repository with one commit."""
    lay_out(bench.root, {"a": FIVE, "b": b"b\n"})
    git(bench.root, "init", "--quiet")
    git(bench.root, "add", "a", "b")
    git(bench.root, "commit", "--quiet", "-m", "first")
    bench.host.reviews.records = GitRecords()
    return bench


def stage(bench: Bench) -> None:
    git(bench.root, "add", "a")


def commit(bench: Bench) -> None:
    git(bench.root, "commit", "--quiet", "-am", "second")


@pytest.mark.parametrize("act", [stage, commit])
async def test_what_is_staged_or_committed_is_kept(repository: Bench, act: Callable[[Bench], None]) -> None:
    await edited(repository)
    assert await told(repository) == BOTH
    act(repository)
    assert await told(repository) == []
    assert (repository.root / "a").read_bytes() == EDITED


async def test_of_a_change_that_is_staged_in_part_the_rest_is_pending(repository: Bench) -> None:
    await edited(repository, PATCH.replace("-two\n+TWO\n@@\n-four\n+FOUR", "-two\n-three\n+TWO\n+THREE"))
    staged = FIVE.replace(b"two", b"TWO").decode()
    blob = git(repository.root, "hash-object", "-w", "--stdin", given=staged).strip()
    git(repository.root, "update-index", "--cacheinfo", f"100644,{blob},a")
    assert await told(repository) == [("a", "changed", "three\n", "THREE\n")]
    await undo(repository.host.reviews, HunkSelection())
    assert (repository.root / "a").read_text() == staged


def put_on_record(bench: Bench, text: str) -> None:
    """Stages another text than the file has."""
    blob = git(bench.root, "hash-object", "-w", "--stdin", given=text).strip()
    git(bench.root, "update-index", "--cacheinfo", f"100644,{blob},a")


IF_A = "if a:\n    x()\n\nreturn 1\n"
IF_B = "if b:\n    y()\nreturn 0\n"


@pytest.mark.parametrize("how", ["reset", "staged"])
@pytest.mark.parametrize(
    ("other", "before", "now"),
    [
        ("old\n}\n", "b\nc\n", "x\n}\ny\n"),
        ("}\n", "b\n", "x\n}\ny\n"),
        ("}\n", "", "x\n}\ny\n"),
        ("\n", "b\nc\n", "x\n\ny\n"),
        ("old\n\n", "b\n", "b\n\ny\n"),
        ("old\nx\n", "b\nc\n", "x\n}\ny\n"),
        ("old\ny\n", "b\nc\n", "x\ny\n"),
        ("return 0\n", IF_A, IF_B),
    ],
)
async def test_a_row_that_another_commit_shares_with_a_change_is_not_staged(
    bench: Bench, how: str, other: str, before: str, now: str
) -> None:
    root = bench.root
    git(root, "init", "--quiet")
    for text in (other, before):
        (root / "a").write_text(f"top\n{text}end\n")
        git(root, "add", "a")
        git(root, "commit", "--quiet", "-m", "next")
    bench.host.reviews.records = GitRecords()
    rows = [*(f"-{row}\n" for row in before.splitlines()), *(f"+{row}\n" for row in now.splitlines())]
    await edited(
        bench, f"*** Begin Patch\n*** Update File: a\n@@\n top\n{''.join(rows)} end\n*** End Patch\n"
    )
    pending = await told(bench)
    if how == "staged":
        put_on_record(bench, f"top\n{other}end\n")
    else:
        git(root, "reset", "--quiet", "HEAD~1")
    assert await told(bench) == pending
    await undo(bench.host.reviews, HunkSelection())
    assert (root / "a").read_text() == f"top\n{before}end\n"


@pytest.mark.parametrize("how", ["reset", "reset --soft"])
async def test_a_commit_with_one_of_the_new_rows_in_place_of_the_old_one_is_not_staged(
    bench: Bench, how: str
) -> None:
    root = bench.root
    git(root, "init", "--quiet")
    for text in ("return 0\n", "return 1\n"):
        (root / "a").write_text(text)
        git(root, "add", "a")
        git(root, "commit", "--quiet", "-m", "next")
    bench.host.reviews.records = GitRecords()
    new = "".join(f"+{row}\n" for row in IF_B.splitlines())
    await edited(bench, f"*** Begin Patch\n*** Update File: a\n@@\n-return 1\n{new}*** End Patch\n")
    git(root, *how.split(), "--quiet", "HEAD~1")
    assert await told(bench) == [("a", "changed", "return 1\n", IF_B)]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("new", "staged", "rest", "is_committed"),
    [
        ("TWO\nTHREE\n", "TWO\nthree\n", [("three\n", "THREE\n")], False),
        ("TWO\nTHREE\n", "two\nTHREE\n", [("two\n", "TWO\n")], True),
        ("TWO\nTHREE\n", "three\nTWO\n", [("three\n", ""), ("", "THREE\n")], False),
        ("TWO\n}\nTHREE\n", "TWO\nthree\n", [("three\n", "}\nTHREE\n")], False),
        ("TWO\n}\nTHREE\n", "two\nthree\nTWO\n}\n", [("two\nthree\n", ""), ("", "THREE\n")], False),
        ("two\nA\nB\nC\nthree\n", "two\nB\nthree\n", [("", "A\n"), ("", "C\n")], False),
        ("TWO\nthree\n\nnew\n", "two\nthree\n\nnew\n", [("two\n", "TWO\n")], True),
    ],
)
async def test_rows_that_are_staged_are_kept(  # noqa: PLR0917  # fixtures and the case
    repository: Bench, ends: str, new: str, staged: str, rest: list[tuple[str, str]], is_committed: bool
) -> None:
    path, text = repository.root / "a", FIVE.decode().replace("\n", ends)
    path.write_bytes(text.encode())
    rows = "".join(f"+{row}\n" for row in new.splitlines())
    await edited(repository, f"*** Begin Patch\n*** Update File: a\n@@\n-two\n-three\n{rows}*** End Patch\n")
    put_on_record(repository, FIVE.decode().replace("two\nthree\n", staged))
    if is_committed:
        git(repository.root, "commit", "--quiet", "-m", "in part")
    wanted = [("a", "changed", *(each.replace("\n", ends) for each in pair)) for pair in rest]
    assert await told(repository) == wanted
    await undo(repository.host.reviews, HunkSelection())
    assert path.read_bytes().decode() == text.replace(f"two{ends}three{ends}", staged.replace("\n", ends))


async def test_of_two_changes_one_is_staged(repository: Bench) -> None:
    await edited(repository)
    staged = FIVE.replace(b"four", b"FOUR").decode()
    blob = git(repository.root, "hash-object", "-w", "--stdin", given=staged).strip()
    git(repository.root, "update-index", "--cacheinfo", f"100644,{blob},a")
    assert await told(repository) == BOTH[:1]


async def test_a_file_that_is_recorded_as_it_is_is_kept_as_a_whole(repository: Bench) -> None:
    """The row that the agent has removed was never on record, so nothing of that change is in the commit."""
    (repository.root / "a").write_bytes(FIVE.replace(b"three", b"typed\nthree"))
    await edited(repository, PATCH.replace("-two\n+TWO", " two\n-typed"))
    assert await told(repository) == [("a", "changed", "typed\n", ""), BOTH[1]]
    commit(repository)
    assert await told(repository) == []


async def test_what_was_staged_before_and_other_files_are_no_matter(repository: Bench) -> None:
    (repository.root / "a").write_bytes(b"zero\n" + FIVE)
    git(repository.root, "add", "a")
    await edited(repository)
    (repository.root / "b").write_text("B\n")
    git(repository.root, "add", "b")
    git(repository.root, "commit", "--quiet", "-m", "what was staged")
    assert await told(repository) == BOTH


async def test_line_ends_are_no_difference(repository: Bench) -> None:
    git(repository.root, "config", "core.autocrlf", "true")
    (repository.root / "a").write_bytes(FIVE.replace(b"\n", b"\r\n"))
    await edited(repository)
    assert len(await told(repository)) == 2
    git(repository.root, "add", "a")
    assert await told(repository) == []


async def test_documents_that_were_made_or_removed_are_kept_once_they_are_staged(repository: Bench) -> None:
    await edited(repository, "*** Begin Patch\n*** Add File: new\n+made\n*** Delete File: b\n*** End Patch\n")
    assert [each[:2] for each in await told(repository)] == [("b", "deleted"), ("new", "created")]
    git(repository.root, "add", "new")
    assert [each[:2] for each in await told(repository)] == [("b", "deleted")]
    git(repository.root, "rm", "--quiet", "--cached", "b")
    assert await told(repository) == []


async def test_what_the_agents_own_command_commits_stays_pending(repository: Bench) -> None:
    repository.terms = Terms(rules=(Rule(tool="terminal", match="*", decision=Decision.ALLOW),))
    line = f"git {' '.join(WHO)} commit --quiet -am agent"
    repository.says(answer("", patch(PATCH)), answer("", call("terminal", command=line)), answer("Done."))
    await repository.turn()
    assert git(repository.root, "log", "--oneline").count("\n") == 2
    assert await told(repository) == BOTH
    (repository.root / "b").write_text("B\n")
    git(repository.root, "add", "b")
    assert await told(repository) == BOTH


async def test_a_branch_with_another_text_keeps_nothing(repository: Bench) -> None:
    git(repository.root, "checkout", "--quiet", "-b", "other")
    (repository.root / "b").write_text("B\n")
    git(repository.root, "commit", "--quiet", "-am", "other")
    await edited(repository)
    git(repository.root, "checkout", "--quiet", "-")
    assert await told(repository) == BOTH


@pytest.mark.parametrize(
    "wrong", ["split index", "sparse index", "a damaged blob", "a damaged commit", "SHA-256"]
)
async def test_a_repository_that_cannot_be_read_keeps_nothing_and_disturbs_nobody(
    bench: Bench, wrong: str
) -> None:
    root = bench.root
    lay_out(root, {"a": FIVE, "folder/b": b"b\n"})
    git(root, "init", "--quiet", *(["--object-format=sha256"] if wrong == "SHA-256" else []))
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "first")
    bench.host.reviews.records, said = GitRecords(), list[str]()
    bench.host.reviews.records.unreadable = said.append
    await edited(bench)
    if wrong == "split index":
        git(root, "update-index", "--split-index")
    elif wrong == "sparse index":
        git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "other")
    else:
        git(root, "add", "a")
    if wrong.startswith("a damaged"):
        name = git(root, "rev-parse", ":a" if wrong == "a damaged blob" else "HEAD").strip()
        damaged = root / ".git" / "objects" / name[:2] / name[2:]
        damaged.chmod(0o600)
        damaged.write_bytes(b"damaged")
    assert await told(bench) == BOTH
    assert await told(bench) == BOTH
    assert [str(root) in each for each in said] == ([True] if wrong != "a damaged blob" else [])
    done = await undo(bench.host.reviews, HunkSelection())
    assert done.conflicts == []


@pytest.mark.parametrize("wrong", ["no commit", "damaged index", "pipe", "work tree"])
async def test_repositories_of_all_sorts(repository: Bench, wrong: str) -> None:
    root = repository.root
    if wrong == "work tree":
        git(root, "worktree", "add", "--quiet", str(root / "tree"))
        await edited(repository, PATCH.replace("File: a", "File: tree/a"))
        assert len(await told(repository)) == 2
        git(root / "tree", "add", "a")
        assert await told(repository) == []
        return
    if wrong == "no commit":
        git(root, "update-ref", "-d", "HEAD")
    await edited(repository)
    index = root / ".git" / "index"
    if wrong == "damaged index":
        index.write_bytes(index.read_bytes()[:40])
    elif wrong == "pipe":
        index.unlink()
        os.mkfifo(index)
    assert await told(repository) == BOTH
    if wrong == "no commit":
        git(root, "add", "a")
        assert await told(repository) == []


BELOW = ["a file", "a link", "a submodule", "a submodule in a folder"]


@pytest.mark.parametrize("was", BELOW)
async def test_a_folder_where_the_last_commit_has_something_else_loses_no_change(
    repository: Bench, was: str
) -> None:
    root, path = repository.root, "folder/odd" if was.endswith("in a folder") else "odd"
    (root / path).parent.mkdir(exist_ok=True)
    if was == "a file":
        (root / path).write_text("a file\n")
        git(root, "add", path)
    elif was == "a link":
        (root / path).symlink_to("b")
        git(root, "add", path)
    else:
        head = git(root, "rev-parse", "HEAD").strip()
        git(root, "update-index", "--add", "--cacheinfo", f"160000,{head},{path}")
    git(root, "commit", "--quiet", "-m", "second")
    (root / path).unlink(missing_ok=True)
    lay_out(root, {f"{path}/below/c": b"old\n"})
    await edited(repository)
    edit = f"*** Begin Patch\n*** Update File: {path}/below/c\n@@\n-old\n+new\n*** End Patch\n"
    await edited(repository, edit)
    new = (f"{path}/below/c", "changed", "old\n", "new\n")
    assert await told(repository) == [*BOTH, new]
    commit(repository)
    assert (await told(repository))[-1] == new


async def test_a_command_that_replaces_a_file_by_a_folder_has_its_result_and_its_changes_are_pending(
    repository: Bench,
) -> None:
    repository.terms = Terms(rules=(Rule(tool="terminal", match="*", decision=Decision.ALLOW),))
    line = "rm a; mkdir a; echo q > a/q; rm b; ln -s a b"
    repository.says(answer("", call("terminal", command=line)), answer("Done."))
    report = await repository.turn()
    assert report.state.value == "finished", report.reason
    assert {path for path, *_ in await told(repository)} >= {"a", "a/q"}
