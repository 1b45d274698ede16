"""
`handrail chat`: a session on a terminal, turn after turn.

`conversation` says what happens, `console` is the screen and the keys. Nothing else of handrail imports this
package or prompt_toolkit, which takes long to import.
"""
