"""Text from other sources for display: escaped, bounded, without secrets. Pure."""
