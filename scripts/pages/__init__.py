"""The pages below docs/ that come from tables, by topic."""
