"""
The edits of calls: planned, made, read back, reverted if a call lands only in part, corrected if they show
late.
"""
