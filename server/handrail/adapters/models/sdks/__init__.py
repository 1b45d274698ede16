"""Model SDKs, and a format of our own where there is no SDK; each is imported when a model needs it."""
