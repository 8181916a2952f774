"""What third parties can add, and the table of what is there."""
