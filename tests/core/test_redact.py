"""No key passes, in whatever usual encoding and in however many pieces it comes."""

from __future__ import annotations

import base64
import binascii
import json
import textwrap
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.conversation.keyless import without_keys
from handrail.core.conversation.message import Excerpt, SystemMessage, UserMessage
from handrail.core.results import redact

CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
KEYS = st.text(CHARACTERS, min_size=8, max_size=60).map(str.strip).filter(lambda key: len(key) >= 8)
PLAIN = st.text('abcdefXYZ0123456789 \n%\\-_=+/"é', max_size=30)


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _url_safe(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


ENCODINGS: tuple[Callable[[bytes], str], ...] = (
    lambda raw: raw.decode(),
    _base64,
    _url_safe,
    lambda raw: "\n".join(textwrap.wrap(_base64(raw), 16)),
    lambda raw: json.dumps({"value": _base64(raw)}),
    lambda raw: quote(_base64(raw), safe=""),
    lambda raw: raw.hex(),
    lambda raw: raw.hex().upper(),
    lambda raw: raw.hex(" "),
    lambda raw: raw.hex(":"),
    lambda raw: "".join(f"\\x{each:02x}" for each in raw),
    lambda raw: ", ".join(f"0x{each:02X}" for each in raw),
    lambda raw: "".join(f"%{each:02X}" for each in raw),
    lambda raw: quote(raw, safe=""),
    quote_plus,
    lambda raw: quote(quote(raw, safe=""), safe=""),
    lambda raw: json.dumps(raw.decode()),
    lambda raw: json.dumps(raw.decode(), ensure_ascii=False),
    lambda raw: json.dumps(json.dumps(raw.decode())),
    lambda raw: binascii.b2a_hex(raw, "-", 4).decode(),
)
KEYS |= st.text("\\0a%x", min_size=8, max_size=20)  # what looks like escapes
AROUND = st.binary(max_size=5)


@given(KEYS, st.sampled_from(ENCODINGS), st.tuples(AROUND, AROUND), st.tuples(PLAIN, PLAIN))
def test_no_encoding_of_a_key_is_left(
    key: str, encode: Callable[[bytes], str], within: tuple[bytes, bytes], around: tuple[str, str]
) -> None:
    before, after = (each.decode("latin-1") for each in within)
    held = encode(f"{before}{key}{after}".encode())
    read = redact.redact(f"{around[0]} {held} {around[1]}", [key])
    assert redact.REDACTED in read
    assert held not in read


@given(
    st.lists(KEYS, min_size=1, max_size=3),
    st.data(),
)
def test_a_key_that_comes_in_pieces_is_found_as_if_it_came_at_once(
    keys: list[str], data: st.DataObject
) -> None:
    encode = data.draw(st.sampled_from(ENCODINGS))
    key = data.draw(st.sampled_from(keys))
    text = data.draw(PLAIN) + " " + encode(key.encode()) + " " + data.draw(PLAIN)
    told, held, at = "", "", 0
    while at < len(text):
        size = data.draw(st.integers(1, 20))
        now, held = redact.settle_tail(held + text[at : at + size], keys)
        told, at = told + now, at + size
    told += redact.redact(held, keys)
    assert redact.REDACTED in told


@pytest.mark.parametrize("text", ["%", "\\", "%25", "0x", " \n", "a", "00", "key", "\\u00"])
def test_no_text_takes_long(text: str) -> None:
    """What is matched is matched in linear time: a square of these would not end."""
    text *= 100_000
    keys = [f"a{number}key-{number * 7919}" for number in range(30)]
    assert redact.redact(text, keys) == text
    told, held = redact.settle_tail(text, keys)
    assert told + held == text


@pytest.mark.parametrize(
    "name",
    [
        "JWT",
        "COOKIE",
        "SESSION_COOKIE",
        "MYSQL_PWD",
        "SSHPASS",
        "DB_PASS",
        "GOOGLE_CREDENTIALS",
        "SENTRY_DSN",
        "SLACK_WEBHOOK_URL",
        "DISCORD_WEBHOOK",
        "RESTIC_PASSWORD",
    ],
)
def test_names_of_keys(name: str) -> None:
    assert redact.secrets({name: "0123456789abc"}) == ("0123456789abc",)


@pytest.mark.parametrize(
    "name", ["PWD", "OLDPWD", "COMPASS", "PATH", "AUTHOR", "PATTERN", "COOKIECUTTER_CONFIG"]
)
def test_names_of_no_keys(name: str) -> None:
    assert redact.secrets({name: "0123456789abc"}) == ()


def test_the_password_in_a_url_is_a_key() -> None:
    assert redact.secrets({"DATABASE_URL": "postgres://me:hunter2hunter2@db:5432/x"}) == ("hunter2hunter2",)
    assert redact.secrets({"HOMEPAGE": "https://example.com:8080/a@b"}) == ()


def test_what_we_and_the_user_say_reaches_a_model_without_keys() -> None:
    key = "sk-0123456789"
    excerpt = Excerpt(path="a.py", first_line=1, text=f"key = '{key}'")
    sent = without_keys(
        [SystemMessage(text=f"Instructions: {key}"), UserMessage(text=f"Use {key}.", context=(excerpt,))],
        [key],
    )
    assert key not in repr(sent)
    assert repr(sent).count(redact.REDACTED) == 3
