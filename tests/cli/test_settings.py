"""The settings of a terminal command: names, values, keys, and which of several sources counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.adapters.state.config_file import ConfigError
from handrail.cli import settings
from handrail.lsp.settings import SETTINGS

ALLOW = {"tool": "terminal", "match": "make", "verdict": "allow"}
KEY = "sk-" + "ant-api03-" + "4f9aB2" * 4


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "handrail" / "config.toml"


def written(file: Path, text: str | bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_the_command_line_counts_over_the_file_over_the_defaults(file: Path) -> None:
    assert settings.in_force(file, ()) == {}
    written(file, 'model = "ollama:a"\nhandrail.mode = "ask"\n[context]\nwindow = 1000\nreserve = 10\n')
    given = (("model", "ollama:b"), ("handrail.context.window", "2000"), ("context.window", "3000"))
    assert settings.in_force(file, given) == {
        "model": "ollama:b",
        "mode": "ask",
        "context.window": 3000,
        "context.reserve": 10,
    }


def test_the_address_and_the_key_in_the_file_are_not_used_for_another_provider(file: Path) -> None:
    written(file, 'model = "openai-chat:a"\nbaseUrl = "http://near.test/v1"\nkeyName = "NEAR_KEY"\n')
    near = {"baseUrl": "http://near.test/v1", "keyName": "NEAR_KEY"}
    assert settings.in_force(file, (("model", "openai:b"),)) == {"model": "openai:b", **near}
    assert settings.in_force(file, (("model", "anthropic:b"),)) == {"model": "anthropic:b"}
    stated = (("model", "anthropic:b"), ("baseUrl", "http://far.test"))
    for given in (stated, stated[::-1]):
        assert settings.in_force(file, given) == {"model": "anthropic:b", "baseUrl": "http://far.test"}
    recorded = "record:/tmp/a.json:openai:b"
    assert settings.in_force(file, (("model", recorded),)) == {"model": recorded, **near}


def test_approved_rules_come_after_those_of_the_file(file: Path) -> None:
    written(file, '[[approvals]]\ntool = "terminal"\nmatch = "make"\nverdict = "allow"\n')
    assert settings.in_force(file, (), ("edit:docs/**", "search"))["approvals"] == [
        ALLOW,
        {"tool": "edit", "match": "docs/**", "verdict": "allow"},
        {"tool": "search", "match": "*", "verdict": "allow"},
    ]
    chosen = settings.in_force(file, (("approvals", "[]"),), ("terminal:a:b",))
    assert chosen["approvals"] == [{"tool": "terminal", "match": "a:b", "verdict": "allow"}]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.name)
def test_every_setting_can_be_given(setting: settings.Setting, file: Path) -> None:
    default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    text = default if isinstance(default, str) else json.dumps(default)
    value = settings.in_force(file, ((setting.name, text),))[setting.name]
    assert value == default


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("model", "123", "123"),
        ("model", '"quoted"', "quoted"),
        ("model", "true", "true"),
        ("checkpoints.required", "false", False),
        ("terminal.environment", '["MY_TOOL_*"]', ["MY_TOOL_*"]),
    ],
)
def test_a_value_is_json_or_else_text(name: str, value: str, found: object) -> None:
    assert settings.value_of(name, value) == found


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("context.window", "many", '`context.window` must be a whole number, not "many"'),
        ("context.window", "1e4", "must be a whole number, not 10000.0"),
        ("context.window", "true", "must be a whole number, not true"),
        ("context.window", "-1", "must be 0 to 10000000, not -1"),
        ("context.window", "null", "must be a whole number, not null"),
        ("context.window", "[" * 5000, "must be a whole number"),
        ("mode", "edti", 'must be one of edit, ask, plan, not "edti"'),
        ("checkpoints.required", "no", 'must be true or false, not "no"'),
        ("approvals", "npm test", "`approvals`: it must be a list of rules"),
        (
            "approvals",
            json.dumps([ALLOW, {**ALLOW, "tool": "terminl"}]),
            "rule 2 has no effect, because no tool is named `terminl`. Did you mean `terminal`. "
            "Tools are: .*list_files, .*terminal",
        ),
        ("windoww", "1", "has no setting `windoww`.* Did you mean `context.window`"),
        ("handrail.sandbx", "1", "Did you mean `sandbox`"),
        ("maxTokens", "1", "Did you mean `output.maxTokens`"),
        ("", "1", "has no setting ``"),
        ("unheard-of", "1", "a newer handrail may have more"),
        ("context", "1", "Did you mean `context"),
    ],
)
def test_what_cannot_be_is_said(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        settings.value_of(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("apiKey", KEY),
        ("openai.api_key", "x"),
        ("OPENAI_API_KEY", KEY),
        ("token", "x"),
        ("keyName", KEY),
        ("model", f"openai:{KEY}"),
        ("baseUrl", "https://me:secret@example.org/v1"),
        ("terminal.environment", f'["{KEY}"]'),
        ("approvals", f'[{{"tool": "terminal", "match": "curl -H {KEY}", "verdict": "allow"}}]'),
    ],
)
def test_a_key_is_refused_with_what_to_do_and_not_repeated(name: str, value: str, file: Path) -> None:
    with pytest.raises(ConfigError, match=r"environment variable .* keyring") as refused:
        settings.value_of(name, value)
    assert value not in str(refused.value)
    written(file, f"{name} = '''{value}'''\n")
    with pytest.raises(ConfigError, match="environment variable") as refused:
        settings.of_file(file)
    assert value not in str(refused.value)


@pytest.mark.parametrize("value", ["OPENAI_API_KEY", "MY_KEY_2", "me@example.org", ""])
def test_the_name_of_a_key_is_none(value: str) -> None:
    assert settings.value_of("keyName", value) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('model = "a"\nmodel = "b"\nmode = "ask"', "is not valid TOML: .*line 2"),
        ('model = "a"\nhandrail.model = "b"', "sets `model` twice"),
        ('"context.window" = 1\n[context]\nwindow = 2', "sets `context.window` twice"),
        ("model = ", "at its end: a value was expected"),
        ("model = paste", "line 1, column 9: a value was expected; text needs quotation marks"),
        ('model = "a" b', "line 1, column 13: nothing may follow the value on its line"),
        ('model = "paste', "line 1, column 15|at its end: .*closing quotation mark"),
        ('checks = ["a"', "at its end: `]` was expected"),
        ('model = "C:\\d"', "a backslash must be written as"),
        ("a = " + "[" * 100_000, "is not valid TOML"),
        (b"model = '\xff'", "is not UTF-8"),
        ("context.window = 2026-11-22", "must be a whole number"),
        ("context.window = 1e4", "must be a whole number"),
        ("context.window = nan", "must be a whole number"),
        ("context = 3", "has no setting `context`"),
        ("[model]\nname = 'a'", "has no setting `model.name`"),
        (
            "future.setting = 1\nsandbox = 'strict'",
            "has no setting `future.setting`[^$]*`sandbox` must be",
        ),
        ("#" * 1_000_001, "more than 1,000,000 bytes"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_a_file_that_cannot_be_used_is_an_error(text: str | bytes, said: str, file: Path) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        settings.of_file(written(file, text))
    assert str(file) in str(refused.value)


def test_a_file_may_be_a_link_with_a_byte_order_mark_or_not_be_there(file: Path, tmp_path: Path) -> None:
    assert settings.of_file(file) == {}
    real = written(tmp_path / "dotfiles" / "h.toml", b"\xef\xbb\xbfmode = 'ask'\r\n")
    file.parent.mkdir()
    file.symlink_to(real)
    assert settings.of_file(file) == {"mode": "ask"}
    real.unlink()
    assert settings.of_file(file) == {}
    file.unlink()
    file.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        settings.of_file(file)


@pytest.mark.parametrize("rule", ["npm test", "", ":x", "terminl:x", "Terminal:x"])
def test_a_rule_that_names_no_tool_is_said(rule: str) -> None:
    with pytest.raises(ConfigError, match="does not name a tool"):
        settings.rule_of(rule)


def test_the_options_can_be_given_again() -> None:
    given = (("model", "ollama:a"), ("context.window", "9"))
    assert settings.options_of(given, ("edit",)) == (
        *("--model", "ollama:a", "--set", "context.window=9", "--approve", "edit"),
    )


def test_no_setting_has_the_name_of_a_group_of_others() -> None:
    """An editor that writes settings as an object could hold only one of them."""
    names = [each.name for each in SETTINGS]
    assert [(one, other) for one in names for other in names if other.startswith(f"{one}.")] == []
