"""Text that may show what others wrote: escaped, bounded, without secrets. Pure."""
