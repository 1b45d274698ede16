"""Talk to models in a process of its own."""
