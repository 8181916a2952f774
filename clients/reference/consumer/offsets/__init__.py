"""Offsets of the log: looked up by time, and positions compared with the leader's log."""
