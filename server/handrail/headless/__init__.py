"""
The headless client: an editor without a screen, for terminals, scripts and tests.

It starts a server, in a process of its own or as it is told, holds the documents that the server edits, and
tells in a terminal what became of them. It is a second, independent implementation of the protocol and shares
no code with the server, even where both are in one process.
"""
