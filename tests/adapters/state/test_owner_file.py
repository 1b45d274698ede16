"""For which provider a value was set, as the state folder keeps it."""

from pathlib import Path

import pytest

from handrail.adapters.state.owner_file import NAME, OwnerFile


def test_what_was_noted_is_known_to_the_next_process(tmp_path: Path) -> None:
    OwnerFile(tmp_path / "new").add("baseUrl", "http://one/v1", "openai")
    OwnerFile(tmp_path / "new").add("baseUrl", "http://one/v1", "anthropic")
    found = OwnerFile(tmp_path / "new")
    assert found.providers_of("baseUrl", "http://one/v1") == {"openai", "anthropic"}
    assert not found.providers_of("keyName", "http://one/v1")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"baseUrl http://one/v1": 3}', "[" * 100_000])
def test_a_file_that_makes_no_sense_says_nothing_and_is_written_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    owners = OwnerFile(tmp_path)
    assert not owners.providers_of("baseUrl", "http://one/v1")
    owners.add("baseUrl", "http://one/v1", "openai")
    assert owners.providers_of("baseUrl", "http://one/v1") == {"openai"}
