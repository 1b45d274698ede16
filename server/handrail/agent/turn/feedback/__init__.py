"""Problems that the edits of a turn caused, as language servers or the user's checks report them."""
