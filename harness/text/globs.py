"""Patterns of names, as shells have them."""

from __future__ import annotations

from fnmatch import fnmatchcase

#: Reading a pattern takes the square of its length. No name of ours has half as many characters.
LONGEST = 200


def matches(name: str, pattern: str) -> bool:
    """Whether ``pattern`` stands for ``name``; one of more than LONGEST characters stands for none."""
    return len(pattern) <= LONGEST and fnmatchcase(name, pattern)
