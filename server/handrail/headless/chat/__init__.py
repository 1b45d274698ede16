"""
`handrail chat`: a session on a terminal, turn after turn.

`conversation` says what happens, `console` is the screen and the keys. Only `cli` imports this package, when
a chat is asked for: prompt_toolkit takes long to import, and nothing else needs it.
"""
