"""
Everything that the agent can reach outside itself, and the errors that end a turn.

Every port is a Protocol; adapters implement them, `handrail.cli` joins them. A path given to a port comes
with its root, or is a URI. Failures that the model or the user can correct are returned; an error that ends a
turn is raised as a `HandrailError` and caught once, at the outermost layer.

The names of the modules are here too. A module is imported when one of its names is used: a process that only
talks to models would otherwise spend half of its start on the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handrail.ports.bundle import Document as Document
    from handrail.ports.bundle import Editor as Editor
    from handrail.ports.bundle import Grants as Grants
    from handrail.ports.bundle import Ports as Ports
    from handrail.ports.bundle import Process as Process
    from handrail.ports.bundle import Repository as Repository
    from handrail.ports.bundle import Stamp as Stamp
    from handrail.ports.bundle import Watch as Watch
    from handrail.ports.bundle import Workspace as Workspace
    from handrail.ports.checkpoints import Checkpoints as Checkpoints
    from handrail.ports.errors import CheckpointError as CheckpointError
    from handrail.ports.errors import EditorGone as EditorGone
    from handrail.ports.errors import HandrailError as HandrailError
    from handrail.ports.errors import LostCheckpointError as LostCheckpointError
    from handrail.ports.errors import ProviderDown as ProviderDown
    from handrail.ports.errors import ProviderError as ProviderError
    from handrail.ports.models import KnownModel as KnownModel
    from handrail.ports.models import ModelChoice as ModelChoice
    from handrail.ports.models import Prepared as Prepared
    from handrail.ports.models import Provider as Provider
    from handrail.ports.models import Providers as Providers
    from handrail.ports.models import Reasoning as Reasoning
    from handrail.ports.models import provider_of as provider_of
    from handrail.ports.questions import ALLOW as ALLOW
    from handrail.ports.questions import ALWAYS as ALWAYS
    from handrail.ports.questions import DENY as DENY
    from handrail.ports.questions import FOR_SESSION as FOR_SESSION
    from handrail.ports.questions import LEAVE as LEAVE
    from handrail.ports.questions import Approver as Approver
    from handrail.ports.questions import Clock as Clock
    from handrail.ports.questions import Kind as Kind
    from handrail.ports.questions import MonotonicClock as MonotonicClock
    from handrail.ports.questions import Question as Question
    from handrail.ports.review import NoReview as NoReview
    from handrail.ports.review import Review as Review
    from handrail.ports.spills import Spills as Spills
    from handrail.ports.terms import Terms as Terms
else:
    MODULES = ("errors", "models", "questions", "terms", "checkpoints", "review", "spills", "bundle")

    def __getattr__(name: str) -> object:
        for each in MODULES:
            module = import_module(f"handrail.ports.{each}")
            if name in vars(module):
                return vars(module)[name]
        raise AttributeError(f"module 'handrail.ports' has no attribute {name!r}")
