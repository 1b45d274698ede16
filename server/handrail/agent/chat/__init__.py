"""The conversation as a document: what was said and done in a session, and how it is shown."""
