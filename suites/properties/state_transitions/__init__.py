"""Suite *state transitions*: each component against a model written from the catalogue, not from the code."""
