"""The workspace folders: resolving paths in them, listing and searching."""
