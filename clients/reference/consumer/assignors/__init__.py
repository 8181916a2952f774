"""The assignors that a consumer can name in ``partition.assignment.strategy``."""
