"""
The errors of the headless client.

A `HeadlessError` ends the run: its text says what happened and what to do next, and `run` shows it once.
An `EditRefusedError` ends one workspace edit: its text is the reason that the server gets.
"""

REQUEST_FAILED = -32803  # LSP's code for what cannot be done, for a reason that people understand


class HeadlessError(Exception):
    """The run cannot go on; the text is for the person at the terminal."""


class ServerGoneError(HeadlessError):
    """The server process ended, or wrote something that is not a message."""


class ServerSilentError(HeadlessError):
    """The server did not answer in time."""


class ServerGarbledError(HeadlessError):
    """The server answered with something other than what the protocol promises."""


class InterruptedByUserError(HeadlessError):
    """The person at the terminal pressed Ctrl-C, or the process was told to end."""


class RequestRefusedError(HeadlessError):
    """
    The server answered a request with an error.

    `code` is the JSON-RPC error code, `reason` the server's own words.
    """

    def __init__(self, method: str, code: int, reason: str) -> None:
        name = method.removeprefix("handrail/").replace("/", ".")
        said = reason.removeprefix(f"{name}: ")  # what was wrong with it, for people
        is_for_people = said != reason or code == REQUEST_FAILED
        super().__init__(
            said[:1].upper() + said[1:] if is_for_people else f"The server refused `{method}`: {reason}"
        )
        self.code = code
        self.reason = reason


class EditRefusedError(Exception):
    """
    A workspace edit cannot be applied as it is.

    `change` is the index of the offending change in `documentChanges`, None when no single one is to blame.
    """

    def __init__(self, reason: str, change: int | None = None) -> None:
        super().__init__(reason)
        self.change = change
