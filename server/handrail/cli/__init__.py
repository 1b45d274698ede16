"""The command line, and where everything is joined: argv to adapters to a server or a headless run."""

from handrail.cli.commands import main

__all__ = ["main"]
