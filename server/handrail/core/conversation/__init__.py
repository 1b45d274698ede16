"""The conversation of a session, and what an answer of the model means for the next step."""
