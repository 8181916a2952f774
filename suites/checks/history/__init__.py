"""Checks of what the client told, held against the log: they judge any client."""
