"""Checks of the client's own trace, for clients that write one."""
