"""Documents that the server writes for people, in a folder of its own in the workspace or elsewhere."""
