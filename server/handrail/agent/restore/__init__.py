"""Going back: documents as a checkpoint has them, and a conversation before a turn."""
