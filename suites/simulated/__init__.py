"""Judgement in virtual time: generated trials by the thousand, and the laws of the reference client."""
