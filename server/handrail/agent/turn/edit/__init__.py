"""The edits of calls: planned, made, read back, taken back with half a call, corrected if they show late."""
