"""One file a capability; each handler converts in, calls, converts out and answers."""
