"""Values in, values out: everything handrail decides, and nothing it does."""
