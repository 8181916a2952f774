"""``kafka-trial simulate``: drawn trials in virtual time, by the thousand."""
