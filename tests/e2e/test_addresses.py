"""Which key is sent to which address, when the model is of another provider than the settings' own."""

from __future__ import annotations

import json

import pytest

from adapters.model_server import Raw, Say, model_server
from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in

pytestmark = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
OLD, NEW = "sk-of-the-gateway-0123456789", "sk-of-anthropic-0123456789"
LISTS = {"/v1/models": Raw(200, json.dumps({"data": [{"id": "m"}]}).encode())}


def keys(anthropic: str) -> dict[str, str]:
    return {"GATEWAY_KEY": OLD, "ANTHROPIC_API_KEY": NEW, "ANTHROPIC_BASE_URL": anthropic}


def gateway(base_url: str) -> dict[str, object]:
    return {"model": "openai:m", "baseUrl": base_url, "keyName": "GATEWAY_KEY"}


async def change(editor: Editor, **settings: object) -> None:
    editor.set_configuration(settings, section="handrail")
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    await editor.request("model.list", like="paste")  # answered when the settings are known


async def test_a_model_chosen_in_a_conversation_is_asked_at_its_own_providers_address(
    stage: Stage, habits: Habits
) -> None:
    async with (
        model_server(Say(text="Old."), Say(text="Old again.")) as old,
        model_server(Say(text="New.")) as new,
    ):
        editor = await stage.start(
            habits,
            settings=gateway(old.url("openai-chat")),
            environment=keys(new.url("anthropic")),
            options=opt_in("save", "chat"),
        )
        session = (await editor.turn("Hello?"))["session"]
        await editor.request("chat.choose", session=session, model="anthropic:m")
        answer = (await editor.turn("And now?", session=session))["answer"]
        await editor.request("chat.choose", session=session, model="openai-chat:m")
        again = (await editor.turn("And back?", session=session))["answer"]
    assert (answer, new.keys) == ("New.", [NEW])
    assert (again, old.keys) == ("Old again.", [OLD, OLD])


async def test_another_providers_models_are_listed_at_its_own_address(stage: Stage, habits: Habits) -> None:
    async with model_server() as old, model_server() as new:
        old.pages = new.pages = LISTS
        editor = await stage.start(
            habits, settings=gateway(old.url("openai-chat")), environment=keys(new.url("anthropic"))
        )
        listed = await editor.request("model.list", like="anthropic:any")
        await editor.request("model.list", like="openai-responses:any")
    assert [each["model"] for each in listed] == ["anthropic:m"]
    assert (new.looked_with, old.looked_with) == ([NEW], [OLD])


async def test_the_client_can_say_at_which_of_the_two_addresses_to_list(stage: Stage, habits: Habits) -> None:
    async with model_server() as old, model_server() as new:
        old.pages = new.pages = LISTS
        editor = await stage.start(
            habits,
            settings=gateway(old.url("openai-chat")),
            environment={
                **keys(new.url("anthropic")),
                "OPENAI_BASE_URL": new.url("openai-chat"),
                "OPENAI_API_KEY": NEW,
            },
        )
        await editor.request("model.list", like="openai:any", ownAddress=True)
        await editor.request("model.list", like="anthropic:any", ownAddress=False)
        await editor.request("model.list", like="openai:any", ownAddress=False)
    assert (new.looked_with, old.looked_with) == ([NEW], [NEW, OLD])


def warnings(editor: Editor) -> list[str]:
    """What the user is told of settings that are ignored, in messages with and without buttons."""
    told = [*(each.message for each in editor.messages), *(each["message"] for each in editor.questions)]
    return [message for message in told if "does not use" in message]


async def test_no_key_is_sent_to_the_address_that_was_set_for_another_provider(
    stage: Stage, habits: Habits
) -> None:
    """The provider is changed by hand, the address and the key's name stay; so after a restart."""
    async with (
        model_server(Say(text="Old."), Say(text="Old again.")) as old,
        model_server(Say(text="New."), Say(text="New again.")) as new,
    ):
        usual = gateway(old.url("openai-chat"))
        both = {"environment": keys(new.url("anthropic")), "options": opt_in("save", "chat")}
        editor = await stage.start(habits, settings=usual, **both)
        await editor.turn("Hello?")
        await change(editor, **{**usual, "model": "anthropic:m"})
        answer = (await editor.turn("And now?"))["answer"]
        await change(editor, **usual)
        back = (await editor.turn("And back?"))["answer"]
        other = await stage.start(habits, settings={**usual, "model": "anthropic:m"}, **both)
        again = (await other.turn("And after a restart?"))["answer"]
    assert (answer, back, again) == ("New.", "Old again.", "New again.")
    assert (old.keys, new.keys) == ([OLD, OLD], [NEW, NEW])
    wanted = (
        f"handrail: handrail.baseUrl ({usual['baseUrl']}) and handrail.keyName (GATEWAY_KEY) were set "
        "for openai, so handrail does not use them for anthropic. In this way, no key is sent to "
        "another provider."
    )
    assert [warnings(each) for each in (editor, other)] == [[wanted], [wanted]]


async def test_an_address_that_is_set_again_counts_for_the_provider_that_is_chosen_then(
    stage: Stage, habits: Habits
) -> None:
    async with model_server(Say(text="There.")) as there:
        base_url = there.url("anthropic")
        editor = await stage.start(
            habits,
            settings=gateway(base_url),
            environment=keys("http://127.0.0.1:9"),
            options=opt_in("save"),
        )
        await editor.request("model.list", like="paste")  # answered when the settings are known
        await change(editor, model="anthropic:m", baseUrl=base_url)
        await change(editor, model="anthropic:m", baseUrl="")
        await change(editor, model="anthropic:m", baseUrl=base_url)
        answer = (await editor.turn("Hello?"))["answer"]
    assert (answer, there.keys) == ("There.", [NEW])
    assert len(warnings(editor)) == 1


async def test_a_client_that_sets_no_models_is_told_how_an_address_is_set_again(
    stage: Stage, habits: Habits
) -> None:
    usual = gateway("http://127.0.0.1:9")
    editor = await stage.start(habits, settings=usual, options=opt_in())
    await editor.request("model.list", like="paste")  # answered when the settings are known
    await change(editor, **{**usual, "model": "anthropic:m"})
    (warning,) = warnings(editor)
    assert warning.endswith(
        "no key is sent to another provider. Clear them if you do not need them. To use them for anthropic "
        "too, clear them, then set them again."
    )
    assert editor.questions == []


@pytest.mark.parametrize("answer", [None, "Leave it as it is"])
async def test_an_address_of_another_provider_is_used_once_the_user_clicks_that(
    stage: Stage, habits: Habits, answer: str | None
) -> None:
    async with model_server() as refused, model_server() as wanted:
        refused.pages = wanted.pages = LISTS
        usual = {"model": "openai:m", "baseUrl": refused.url("openai-chat")}
        both = {"environment": keys("http://127.0.0.1:9"), "options": opt_in("save", "chat")}
        editor = await stage.start(habits, settings=usual, **both)
        await editor.request("model.list", like="paste")  # answered when the settings are known
        editor.answers = [answer, "Use it for anthropic"]
        await change(editor, **{**usual, "model": "anthropic:m"})
        await editor.until(lambda: len(editor.answers) == 1)
        usual["baseUrl"] = wanted.url("openai-chat")
        await change(editor, **usual)
        await change(editor, **{**usual, "model": "anthropic:m"})
        await editor.until(lambda: not editor.answers)
        await editor.request("model.list", like="anthropic:any")
        other = await stage.start(habits, settings={**usual, "model": "anthropic:m"}, **both)
        await other.request("model.list", like="anthropic:any")
    assert (refused.looked_with, wanted.looked_with) == ([], [NEW, NEW])
    titles = [[way["title"] for way in each["actions"]] for each in editor.questions]
    assert titles == [["Leave it as it is", "Use it for anthropic"]] * 2
    assert other.questions == []


async def test_a_password_in_an_address_is_not_shown(stage: Stage, habits: Habits) -> None:
    usual = {"model": "openai:m", "baseUrl": "http://user:hush-hush@127.0.0.1:9/v1"}
    editor = await stage.start(habits, settings=usual)
    await editor.request("model.list", like="paste")  # answered when the settings are known
    await change(editor, **{**usual, "model": "anthropic:m"})
    (warning,) = warnings(editor)
    assert "handrail.baseUrl (http://127.0.0.1:9/v1) was set for openai" in warning


async def test_where_settings_are_written_in_a_file_what_stands_there_at_the_start_counts(
    stage: Stage, habits: Habits
) -> None:
    """A command line, or an editor without lists of models: it could not be set again."""
    async with model_server(Say(text="Old.")) as there:
        options = {"environment": {"GATEWAY_KEY": OLD}, "options": opt_in()}
        usual = gateway(there.url("openai-chat"))
        first = await stage.start(habits, settings=usual, **options)
        await first.turn("Hello?")
        await first.leave()
        there.pages = LISTS
        told = []
        for _ in range(2):
            other = await stage.start(habits, settings={**usual, "model": "anthropic:m"}, **options)
            await other.request("model.list", like="anthropic:any")
            told += [each.message for each in other.messages if " before. " in each.message]
    assert set(there.looked_with) == {OLD}
    assert told == [
        f"handrail: handrail.baseUrl ({usual['baseUrl']}) and handrail.keyName (GATEWAY_KEY) were set for "
        "openai before. handrail now uses them for anthropic. Clear them if you do not want that."
    ]
