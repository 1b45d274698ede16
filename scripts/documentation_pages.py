"""
Adds pages and files of the repository that are not in `docs` to the site that MkDocs builds.

In the repository, their links lead from folder to folder; on the site, all pages are in one folder. `PAGES`
names each file and its page. A link to any other file of the repository becomes plain text, and a picture
that is not in the table is a warning, which stops the build.
"""

from __future__ import annotations

import posixpath
import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from environment import ROOT

PAGES = {
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "server/ARCHITECTURE.md": "ARCHITECTURE.md",
    "tests/README.md": "tests.md",
    "client-vscode/README.md": "vscode.md",
    "editors/handrail.lua": "handrail.lua",
    "editors/handrail.el": "handrail.el",
    "client-vscode/media/review.png": "vscode-review.png",
    "client-vscode/media/chat.png": "vscode-chat.png",
    "client-vscode/media/participant.png": "vscode-participant.png",
    "README.md": "index.md",
}
LINK = re.compile(r"(?P<picture>!?)(?P<text>\[[^\]\n]*\])\((?P<path>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"(^ *(`{3,}).*?^ *\2`*\s*?$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the pages and files of the table."""
    for path, name in PAGES.items():
        if name != "index.md":
            files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Has the links of a page lead to pages of the site."""
    name = page.file.src_uri
    folder = posixpath.dirname(next((path for path, known in PAGES.items() if known == name), f"docs/{name}"))
    parts = FENCE.split(markdown)
    for at in range(0, len(parts), 3):  # between them a fence, and its first characters
        parts[at] = LINK.sub(lambda link: _link(link, folder, files), parts[at])
    return "".join(part for at, part in enumerate(parts) if at % 3 != 2)


def _link(link: re.Match[str], folder: str, files: Files) -> str:
    path = posixpath.normpath(posixpath.join(folder, link["path"]))
    target = PAGES.get(path, path.removeprefix("docs/"))
    is_known = files.get_file_from_path(target) is not None
    if not (ROOT / path).exists() or (link["picture"] and not is_known):
        return link[0]  # MkDocs says that it leads nowhere
    return f"{link['picture']}{link['text']}({target}{link['anchor'] or ''})" if is_known else f"`{path}`"
