"""Commands: run between two snapshots; what they wrote is recorded."""
