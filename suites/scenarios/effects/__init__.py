"""Evidence that the faults of a scenario had an effect."""
