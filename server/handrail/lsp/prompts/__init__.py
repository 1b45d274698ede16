"""Prompts in code: whose they are, and what the model reads of them."""
