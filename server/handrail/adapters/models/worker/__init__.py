"""Talk to models in a separate process."""
