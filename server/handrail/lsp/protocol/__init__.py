"""
The protocol between handrail and its clients, version 1, defined once.

`docs/protocol.md`, `docs/protocol.schema.json` and the extension's TypeScript types are made from this
package by `scripts/generate.py`. Field names are written in camelCase on the wire. Unknown fields are
ignored, fields with a default may be missing; `handrail.lsp.wire` reads and writes the values.
"""

from handrail.lsp.protocol.chat import *  # noqa: F403
from handrail.lsp.protocol.checkpoints import *  # noqa: F403
from handrail.lsp.protocol.comments import *  # noqa: F403
from handrail.lsp.protocol.conversation import *  # noqa: F403
from handrail.lsp.protocol.events import *  # noqa: F403
from handrail.lsp.protocol.failures import *  # noqa: F403
from handrail.lsp.protocol.languages import *  # noqa: F403
from handrail.lsp.protocol.questions import *  # noqa: F403
from handrail.lsp.protocol.request import *  # noqa: F403
from handrail.lsp.protocol.requests import *  # noqa: F403
from handrail.lsp.protocol.review import *  # noqa: F403
from handrail.lsp.protocol.services import *  # noqa: F403
from handrail.lsp.protocol.sessions import *  # noqa: F403
from handrail.lsp.protocol.turns import *  # noqa: F403
from handrail.lsp.protocol.values import *  # noqa: F403
from handrail.lsp.protocol.view import *  # noqa: F403  # the protocol is one vocabulary

VERSION = 1
