"""One server and one editor of each kind, in which many scenes are played."""

from __future__ import annotations

import os
import tempfile
from itertools import count
from pathlib import Path

from e2e.client import Editor
from e2e.habits import Habits, opt_in
from e2e.scenarios import Play
from e2e.scenes import Scene
from e2e.servers import shared_servers

TIME_LIMIT_S = 0.3  # for an answer; half of it for a change to show


class Theatre:
    """The editors; every play has documents of its own."""

    def __init__(self) -> None:
        self.temporary = tempfile.TemporaryDirectory(prefix="handrail-scenes-")
        self.base = Path(self.temporary.name)
        self.numbers = count(1)
        self._editors: dict[str, Editor] = {}

    async def editor(self, habits: Habits) -> Editor:
        """The editor with these habits."""
        if habits.name not in self._editors:
            root, state = self.base / habits.name / "work", self.base / habits.name / "state"
            root.mkdir(parents=True)
            environment = {**os.environ, "XDG_STATE_HOME": str(state), "HANDRAIL_SANDBOX": "off"}
            argv = ["serve", f"--answer-timeout={TIME_LIMIT_S}", "--command-timeout=10"]
            server = shared_servers().start(argv, environment, self.base / habits.name / "log")
            editor = Editor(habits, root)
            own = {"model": f"scripted:{self.base / habits.name / 'script.json'}"}
            await editor.connect(server)
            await editor.greet(options=opt_in(settings={**own, "edits.closedDocuments": "disk"}))
            self._editors[habits.name] = editor
        return self._editors[habits.name]

    async def play(self, scene: Scene) -> list[str]:
        """What was untrue or damaged; nothing if all was well."""
        editor = await self.editor(scene.habits)
        played = Play(scene, editor, f"s{next(self.numbers)}", self.base / scene.habits.name / "script.json")
        try:
            found = await played.run()
        except (TimeoutError, AssertionError) as error:
            found = [f"{type(error).__name__}: {error}"]
        errors, editor.errors = editor.errors, []
        await played.clear()
        return [*found, *map(repr, errors)]

    async def close(self) -> None:
        """Let all editors leave."""
        for editor in self._editors.values():
            await editor.leave()
            editor.hang_up()
        self.temporary.cleanup()
