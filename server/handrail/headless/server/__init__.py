"""A running server as a connection needs it: a process of its own, or threads of this one."""
