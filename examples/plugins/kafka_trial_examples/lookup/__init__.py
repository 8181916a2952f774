"""The workload lookup: its commands, its counts and its table."""
