"""Parts of reading back: a client made only some edits, or some twice, or a formatter changed them."""
