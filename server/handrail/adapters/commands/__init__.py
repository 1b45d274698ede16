"""Commands: parsing, running and stopping them."""
