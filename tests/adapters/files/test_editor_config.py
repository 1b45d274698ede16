"""What `.editorconfig` files say of a document's encoding, and that no such file holds anything up."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from handrail.adapters.files.editor_config import named_encoding

LATIN = "latin-1"


@pytest.mark.parametrize(
    ("glob", "name", "takes"),
    [
        ("*", "a/b.txt", True),
        ("*.txt", "a/b.txt", True),
        ("*.txt", "a/b.py", False),
        ("a/*.txt", "a/b.txt", True),
        ("a/*.txt", "x/a/b.txt", False),
        ("/b.txt", "b.txt", True),
        ("/b.txt", "a/b.txt", False),
        ("a/**/b.txt", "a/b.txt", True),
        ("a/**/b.txt", "a/x/y/b.txt", True),
        ("a/**", "a/x/y/b.txt", True),
        ("**.txt", "a/x/y/b.txt", True),
        ("a*c", "a/c", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("*.{js,ts}", "a/b.ts", True),
        ("*.{js,ts}", "a/b.py", False),
        ("{*.js,{a,b}.py}", "x/b.py", True),
        ("{a,}.txt", ".txt", True),
        ("{a}.txt", "{a}.txt", True),
        ("{a}.txt", "a.txt", False),
        ("f{1..3}", "f2", True),
        ("f{1..3}", "f4", False),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "b.txt", False),
        ("[^ab].txt", "c.txt", True),
        ("a+b(c).txt", "a+b(c).txt", True),
        ("lib/**.js", "lib/a/b.js", True),
        ("*.TXT", "a.txt", False),
        ("Makefile", "sub/Makefile", True),
    ],
)
def test_globs(tmp_path: Path, glob: str, name: str, takes: bool) -> None:
    (tmp_path / ".editorconfig").write_text(f"root = true\n[{glob}]\nindent_size = 2\ncharset = latin1\n")
    assert named_encoding(tmp_path / name) == (LATIN if takes else None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[*]\ncharset = latin1\n[*.txt]\ncharset = utf-8\n", "utf-8"),
        ("[*.txt]\ncharset = utf-8\n[*]\ncharset = latin1\n", LATIN),
        ("; a comment\n[*] # of a section\nCharset : LATIN1 ; as it is\n", LATIN),
        ("charset = latin1\n", None),
        ("[*]\ncharset = unset\n", None),
        ("[*]\ncharset =\n", None),
        ("[*\ncharset = latin1\n", None),
        ("\ufeff[*]\r\ncharset = utf-16be\r\n", "utf-16-be"),
        ("", None),
    ],
)
def test_files(tmp_path: Path, text: str, found: str | None) -> None:
    (tmp_path / ".editorconfig").write_text(
        f"{text[:1] if text[:1] == chr(0xFEFF) else ''}root=true\n{text.lstrip(chr(0xFEFF))}"
    )
    assert named_encoding(tmp_path / "a.txt") == found


def test_the_innermost_file_wins_and_root_ends_the_search(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / ".editorconfig").write_text("root = true\n[*]\ncharset = latin1\n")
    assert named_encoding(tmp_path / "a" / "b" / "c.txt") == LATIN
    (tmp_path / "a" / ".editorconfig").write_text("[*.txt]\ncharset = utf-8\n")
    assert named_encoding(tmp_path / "a" / "b" / "c.txt") == "utf-8"
    assert named_encoding(tmp_path / "a" / "b" / "c.py") == LATIN
    (tmp_path / "a" / ".editorconfig").write_text("root = true\n[*.txt]\ncharset = utf-8\n")
    assert named_encoding(tmp_path / "a" / "b" / "c.py") is None


BOMBS = [
    "*a" * 200 + "b",
    "**a" * 200 + "b",
    "{*,**}" * 100 + "b",
    "{a,b}" * 100 + "c",
    "**/a/" * 150 + "b",
    "[a]*" * 200 + "b",
    "{1..999999999}" * 50,
    "{" * 900,
    "*" * 900 + "b",
]


@pytest.mark.parametrize("name", ["a" * 250, "a/" * 1_500 + "a", "/".join(["a" * 200] * 15)])
def test_no_glob_takes_long(tmp_path: Path, name: str) -> None:
    rows = "".join(f"[{bomb}]\ncharset = latin1\n" for bomb in BOMBS)
    (tmp_path / ".editorconfig").write_text(f"root = true\n{rows}")
    began = time.process_time()
    named_encoding(tmp_path / name)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "large", "link"])
def test_what_is_no_such_file_says_nothing(tmp_path: Path, kind: str) -> None:
    root, config = tmp_path / "work", tmp_path / "work" / ".editorconfig"
    root.mkdir()
    match kind:
        case "fifo":
            os.mkfifo(config)
        case "device":
            config.symlink_to("/dev/zero")
        case "folder":
            config.mkdir()
        case "large":
            config.write_bytes(b"root = true\n[*]\ncharset = latin1\n" * 100_000)
        case _:
            (tmp_path / "theirs").write_text("[*]\ncharset = latin1\n")
            config.symlink_to(tmp_path / "theirs")
    assert named_encoding(root / "a.txt") is None
