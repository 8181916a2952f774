"""Simulated mode: a trial in virtual time whose spec determines every byte.

Pure: no clock, no socket, no randomness.
"""
