"""Which key is sent to which address, when the model is of another provider than the settings' own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.model_server import Raw, Say, model_server
from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opting_in

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
            options=opting_in("save", "chat"),
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


async def test_an_address_that_stays_when_the_provider_changes_is_pointed_out(
    stage: Stage, habits: Habits
) -> None:
    """Before the first turn: an address that was for one provider gets no other's key unseen."""
    base_url = "http://127.0.0.1:9/v1"
    editor = await stage.start(habits, settings=gateway(base_url))
    await editor.request("model.list", like="paste")

    def warnings() -> list[Any]:
        return [each.message for each in editor.messages if "baseUrl is still" in each.message]

    await change(editor, model="openai:other", baseUrl=base_url)
    await change(editor, model="anthropic:m", baseUrl=base_url)
    assert warnings() == [
        f"handrail: The model's provider is now anthropic, but handrail.baseUrl is still {base_url}, so the "
        "key of anthropic will be sent there. Clear handrail.baseUrl if that address belongs to openai."
    ]
    await change(editor, model="openai:m", baseUrl="")
    assert len(warnings()) == 1
