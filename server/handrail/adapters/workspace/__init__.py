"""The workspace folders: what a path means in them, and what is found there."""
