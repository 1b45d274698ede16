"""The tools that ask the language servers of the editor, or checks that report in their place."""
