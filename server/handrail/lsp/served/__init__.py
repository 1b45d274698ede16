"""Documents that we and the user write together."""
