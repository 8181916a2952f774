"""Smaller plans and older versions that still fail: shrinking and bisecting."""
