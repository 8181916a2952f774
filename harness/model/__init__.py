"""The plain data that every package shares: trials, rows of evidence, verdicts. Pure."""
