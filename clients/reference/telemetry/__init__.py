"""The client's metrics and its trace of decisions."""
