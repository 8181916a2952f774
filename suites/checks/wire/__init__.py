"""Checks that judge any client by what it leaves: frames, log and results; no trace."""
