"""The shadow repository: what documents held before a turn, and after."""
