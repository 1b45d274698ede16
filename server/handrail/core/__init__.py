"""Values in, values out: all of handrail's decisions, without any effects."""
