"""For which provider a value was set, as the state folder keeps it."""

import hashlib
from pathlib import Path

import pytest

from handrail.adapters.state.owner_file import NAME, OwnerFile

ONE = hashlib.sha256(b"http://one/v1").hexdigest()


def test_what_was_noted_is_known_to_the_next_process(tmp_path: Path) -> None:
    OwnerFile(tmp_path / "new").add("baseUrl", "http://one/v1", "openai")
    OwnerFile(tmp_path / "new").add("baseUrl", "http://one/v1", "anthropic")
    found = OwnerFile(tmp_path / "new")
    assert found.providers_of("baseUrl", "http://one/v1") == {"openai", "anthropic"}
    assert not found.providers_of("keyName", "http://one/v1")


def test_a_password_in_an_address_is_not_written_down(tmp_path: Path) -> None:
    address = "https://user:hush-hush@gateway/v1"
    OwnerFile(tmp_path).add("baseUrl", address, "openai")
    assert OwnerFile(tmp_path).providers_of("baseUrl", address) == {"openai"}
    assert "hush" not in (tmp_path / NAME).read_text()


@pytest.mark.parametrize("text", ["", "[]", "{", f'{{"baseUrl {ONE}": 3}}', "[" * 100_000])
def test_a_file_that_makes_no_sense_says_nothing_and_is_written_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    owners = OwnerFile(tmp_path)
    assert not owners.providers_of("baseUrl", "http://one/v1")
    owners.add("baseUrl", "http://one/v1", "openai")
    assert owners.providers_of("baseUrl", "http://one/v1") == {"openai"}
