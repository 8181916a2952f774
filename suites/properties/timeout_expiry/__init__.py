"""Suite *timeout expiry*: no deadline early, none later than its stated slack, and each send ends exactly once."""
