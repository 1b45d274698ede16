"""A language server that hosts a coding agent: it edits documents, and checks what landed."""

__version__ = "0.1.0"
