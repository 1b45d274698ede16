"""The shadow repository: the contents of documents before and after a turn."""
