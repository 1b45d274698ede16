"""One request to the edit engine, as values and as a line of JSON."""
