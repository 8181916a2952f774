"""The produce workload: records are sent, and read back from the log."""
