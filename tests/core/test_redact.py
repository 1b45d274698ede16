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
from handrail.core.results import key_names, redact

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
    assert key_names.secrets({name: "0123456789abc"}) == ("0123456789abc",)


@pytest.mark.parametrize(
    "name", ["PWD", "OLDPWD", "COMPASS", "PATH", "AUTHOR", "PATTERN", "COOKIECUTTER_CONFIG"]
)
def test_names_of_no_keys(name: str) -> None:
    assert key_names.secrets({name: "0123456789abc"}) == ()


def test_the_password_in_a_url_is_a_key() -> None:
    assert key_names.secrets({"DATABASE_URL": "postgres://me:hunter2hunter2@db:5432/x"}) == (
        "hunter2hunter2",
    )
    assert key_names.secrets({"HOMEPAGE": "https://example.com:8080/a@b"}) == ()


def test_what_we_and_the_user_say_reaches_a_model_without_keys() -> None:
    key = "sk-0123456789"
    excerpt = Excerpt(path="a.py", first_line=1, text=f"key = '{key}'")
    sent = without_keys(
        [SystemMessage(text=f"Instructions: {key}"), UserMessage(text=f"Use {key}.", context=(excerpt,))],
        [key],
    )
    assert key not in repr(sent)
    assert repr(sent).count(redact.REDACTED) == 3


ROWS = tuple(base64.b64encode(bytes([number] * 47 + [7])).decode() for number in range(3, 7))
PEM = "\n".join(("-----BEGIN PRIVATE KEY-----", *ROWS, "Q2hlY2tz", "-----END PRIVATE KEY-----"))
ACCOUNT = json.dumps(
    {
        "type": "service_account",
        "project_id": "my-project-123456",
        "private_key_id": "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
        "private_key": PEM,
        "auth_uri": "https://accounts.google.com/o/oauth2/auth",
    },
    indent=2,
)


@pytest.mark.parametrize(
    "prefix",
    ["{}|", "{:6}\t", "{}:", "+", "file.pem-{}-", "  ", "> ", "+{}|"],
    ids=repr,
)
@pytest.mark.parametrize("key", [PEM, PEM.replace("\n", "\\n"), PEM.replace("\n", "\r\n"), ACCOUNT])
def test_a_key_of_several_lines_is_found_line_by_line(key: str, prefix: str) -> None:
    rows = PEM.split("\n")
    listed = "\n".join(f"{prefix.format(number)}{row}" for number, row in enumerate(rows, 1))
    read = redact.redact(listed, [key])
    assert not any(row in read for row in rows[1:-1])
    assert read.count(redact.REDACTED) == len(rows) - 2
    assert read.count("PRIVATE KEY") == 2


def test_some_lines_of_a_key_are_found_alone_and_escaped() -> None:
    for text in (ROWS[1], json.dumps(f"  {ROWS[1]}\n"), quote(ROWS[1], safe=""), ROWS[1].encode().hex()):
        assert redact.REDACTED in redact.redact(f"4: {text}", [PEM])


def test_what_any_text_has_is_no_key_even_if_a_key_of_several_lines_has_it() -> None:
    text = (
        'The "type" is "service_account", the "auth_uri" https://accounts.google.com/o/oauth2/auth, and my '
        "-----BEGIN PRIVATE KEY----- is of my-project-123456 (AES-256-CBC)."
    )
    assert (
        redact.redact(text, [PEM, ACCOUNT, f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,\n{PEM}"]) == text
    )


def test_the_words_of_a_key_of_one_line_are_no_keys() -> None:
    assert redact.redact("a correct9horse 1", ["my correct9horse battery staple"]) == "a correct9horse 1"


LONG = "sk-Test/Key+0123456789abcdefXYZ.a_b" * 2


@pytest.mark.parametrize("size", range(8, len(LONG)))
@pytest.mark.parametrize(
    "encode", [str, lambda part: json.dumps(part)[1:-1], lambda part: quote(part, safe="")]
)
def test_a_part_of_a_key_is_a_key_where_something_was_left_out(
    size: int, encode: Callable[[str], str]
) -> None:
    head, tail = encode(LONG)[:size], encode(LONG)[-size:]
    texts = {
        f"x = {head}… y": head,
        f"line 3 is '{head}...' there": head,
        f"x = {head} (… 1,234 or more characters of this message are left out …) {tail}.": head,
        f"x …{tail} y": tail,
        f"x (… more, left out here …) {tail} y": tail,
        f"12|…{encode(LONG)[3 : size - 3]}…": encode(LONG)[3 : size - 3] if size >= 16 else "",
    }
    for text, part in texts.items():
        read = redact.redact(text, [LONG])
        assert not part or part not in read, text


@pytest.mark.parametrize(
    "text", ["sk-Test…", "sk-Test/Key and so on …", "… of sk-Test/Key", "wait … for … it"]
)
def test_what_begins_like_a_key_is_none(text: str) -> None:
    assert redact.redact(text, [LONG]) == text


def test_no_text_with_much_left_out_takes_long() -> None:
    keys = [PEM, *(f"a{number}key-{number * 7919}" for number in range(30))]
    for text in ("…", "…x", "…a1key-79", "...", "…" + "y" * 50, "a1key-79…"):
        read = redact.redact(text * 20_000, keys)
        assert "a1key-79…" not in read


# ---- Passwords that are ordinary words ---------------------------------------------------------------

WORDY = {
    "postgres": {"DATABASE_URL": "postgres://postgres:postgres@localhost/db"},
    "changeme": {"ADMIN_PASSWORD": "changeme"},
    "inventory": {"DB_URL": "mysql://inventory:inventory@db:3306/shop", "DB_PASSWORD": "inventory"},
    "shop-admin": {"DB_USER": "shop-admin", "DB_PASSWORD": "shop-admin"},
}


@pytest.mark.parametrize("word", WORDY)
def test_a_common_password_is_removed_only_where_it_is_one(word: str) -> None:
    keys = key_names.secrets(WORDY[word])
    for text in (
        f"use 17 of {word}",
        f"image: {word}:16",
        f"/home/{word}/a.py",
        f"{word}@host",
        f"user={word}",
    ):
        assert redact.redact(text, keys) == text
    for before, after in (
        ("x://me:", "@host"),
        ("POSTGRES_PASSWORD=", ""),
        ("  password: ", "\n"),
        ('"password": "', '"'),
        ("export ADMIN_PASSWORD='", "'"),
        ("password = '", "'"),
    ):
        text = f"{before}{word}{after} {word}"
        assert redact.redact(text, keys) == f"{before}{redact.REDACTED}{after} {word}"
        for at in range(len(text)):
            now, held = redact.settle_tail(text[:at], keys)
            later, rest = redact.settle_tail(held + text[at:], keys)
            assert now + later + redact.redact(rest, keys) == redact.redact(text, keys)
    encoded = base64.b64encode(f"me:{word}".encode()).decode()
    assert redact.REDACTED in redact.redact(f"Basic {encoded}", keys)


@pytest.mark.parametrize(
    "environment",
    [
        {"DB_URL": "mysql://shop:inventory@db/shop"},  # a word, but neither a usual default nor a name
        {"DB_URL": "https://x9f3k2m8q1:x9f3k2m8q1@db/shop"},  # a token as name and password
        {"DB_USER": "aVerySecretName99x", "DB_PASSWORD": "aVerySecretName99x"},
        {"MY_API_KEY": "postgres-1234"},
        {"SESSION_COOKIE": "dGhpc2lzYXNlY3JldA=postgres"},
    ],
)
def test_other_passwords_are_removed_everywhere(environment: dict[str, str]) -> None:
    value = next(
        each.partition("://")[2].partition("@")[0].partition(":")[2] or each
        for name, each in environment.items()
        if name != "DB_USER"
    )
    keys = key_names.secrets(environment)
    assert redact.redact(f"a {value} b", keys) == f"a {redact.REDACTED} b"


def test_the_key_that_the_user_has_named_is_removed_everywhere() -> None:
    keys = key_names.secrets({"MINE": "changeme"}, "MINE")
    assert redact.redact("a changeme b", keys) == f"a {redact.REDACTED} b"


@pytest.mark.parametrize("value", ["", "  ", "EMPTY", " EMPTY \n", "1234567"])
def test_a_short_value_of_the_key_that_the_user_has_named_is_no_secret(value: str) -> None:
    assert key_names.secrets({"MINE": value}, "MINE") == ()
