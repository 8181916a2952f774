"""What every part speaks of, as plain data: trials, rows of evidence, verdicts. Pure."""
