"""What the edits of a turn broke, as the editor's language servers or the user's checks report it."""
