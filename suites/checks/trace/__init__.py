"""Checks of the client's own trace, where it writes one."""
