"""
The headless client: an editor without a screen, for terminals, scripts and tests.

It starts a server, in a process of its own or as configured, holds the documents that the server edits, and
reports the results in a terminal. It is a second, independent implementation of the protocol and shares no
code with the server, even where both are in one process.
"""
