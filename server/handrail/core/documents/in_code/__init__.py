"""Prompts that the user writes into code, as comments."""
