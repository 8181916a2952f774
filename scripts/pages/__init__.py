"""The pages below docs/reference/ that come from tables, by topic."""
