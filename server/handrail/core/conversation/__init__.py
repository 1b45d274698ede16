"""What is said in a session, and what an answer of the model means for the next step."""
