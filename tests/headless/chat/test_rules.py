"""Messages that name files which the user's rules keep from the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.model_server import Say, model_server
from git_user import git
from handrail.cli.folder import readable_files
from handrail.testing import lay_out
from headless.chat.talk import Place
from headless.chat.test_context import sent

FILES = {
    "src/private.py": b"old\n",
    ".agents/commands/fix.md": b"See @src/private.py.\n",
    ".agents/commands/show.md": b"hush\n",
}
RULES = [{"tool": "read", "match": each, "verdict": "block"} for each in ("src/private.py", "show.md")]
KEPT = "is blocked or asked about by handrail.approvals"


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("/show now", f"show.md {KEPT}"),
        ("/fix now", f"src/private.py is not shown to the model: it {KEPT}"),
        ("@src/private.py now", f"src/private.py is not shown to the model: it {KEPT}"),
        ("@diff now", "Seen."),
    ],
)
async def test_no_text_of_them_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompt: str, says: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = Place(tmp_path)
    lay_out(place.root, FILES)
    git(place.root, "init", "-q")
    git(place.root, "add", ".")
    git(place.root, "commit", "-qm", "x")
    (place.root / "src/private.py").write_text("hush\n")
    async with model_server(Say(text="Seen."), Say(text="Seen.")) as server:
        settings = {"model": "openai:m", "baseUrl": server.url("openai-chat"), "approvals": RULES}
        async with place.chat(settings=settings, columns=200, files=readable_files(place.root)) as talk:
            await talk.say(prompt, says)
            await talk.say("And now?", "Seen.")
        assert "hush" not in sent(server)
