"""The state of a chat that changes with its session."""

from handrail.values import dataclass, field


@dataclass(kw_only=True)
class ChatState:
    """
    The session and the settings of a chat.

    Attributes:
        session: The session that it continues; None if it has none yet.
        mode: What its turns may do.
        mode_of_session: What they may do when the session is continued without `--mode`.
        model: The model that they ask.
        used: What the session has used; None if no turn of it has ended.
        unstored: The sessions of the chat of which nothing could be stored.
    """

    session: str | None
    mode: str
    mode_of_session: str
    model: str
    used: str | None = None
    unstored: set[str] = field(default_factory=set)
