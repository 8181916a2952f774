"""``kafka-trial simulate``: thousands of drawn trials in virtual time."""
