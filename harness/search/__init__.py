"""Shrinking and bisecting: find smaller plans, and the first version, that still fail."""
