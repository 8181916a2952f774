"""Checks that judge any client by its frames, log and results. They need no trace."""
