"""Questions to the user, on every surface that a client has."""
