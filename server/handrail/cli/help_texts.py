"""What `--help` says in several places, or at length."""

from __future__ import annotations

YES = "allow everything that handrail asks permission for"
YES_OF_TURNS = f"{YES}; the model can still ask you questions"
WORKSPACE = (
    "the folder to work on (default: the repository around the current folder, or else the current folder)"
)
EXIT_CODES = """\
exit codes:
  0  every edit was made or was there already, or there were no edits
  1  an edit failed, was denied, or could not be saved; the output names it
  2  no edit failed, but the turn could not start or did not finish
An edit that failed does not count if a later step of the turn corrected it.
"""
EXIT_CODES_OF_APPLY = """\
exit codes:
  0  every edit was made or was there already
  1  an edit failed or was denied; the output names it
  2  the reply has no edits or cannot be read, or the run could not start or did not finish
"""
CHECKPOINTS = (
    "A turn is a prompt and all that follows from it; a step is one answer of the model in it. handrail "
    "takes a checkpoint before a turn changes files, and gives it the id of the turn. To restore a "
    "checkpoint is to undo its turn."
)
FOLLOWING = (
    "also undo everything that was done in the workspace since: later turns of all sessions, quick fixes, "
    "restores and undos"
)
LAYERS = (
    "Some folders are in no checkpoint, such as ignored ones. What a command in the sandbox writes there is "
    "in a separate copy, a layer, which only later commands see. Exceptions are build caches, folders that "
    "commands created, and, for commands with network access, folders of installed packages, such as "
    "node_modules: commands change these directly."
)
CONTINUE = "continue the session with this id, which `handrail {}` printed at its end"
