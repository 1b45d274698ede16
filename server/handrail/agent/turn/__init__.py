"""One turn: the loop, the single code path of every call, and the results of a turn."""
