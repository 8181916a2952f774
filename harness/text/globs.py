"""Patterns of names, as in shells."""

from __future__ import annotations

from fnmatch import fnmatchcase

#: Matching takes time proportional to the square of the pattern's length. No valid name is half as long.
LONGEST = 200


def matches(name: str, pattern: str) -> bool:
    """Return whether ``name`` matches ``pattern``. A pattern of more than LONGEST characters matches nothing."""
    return len(pattern) <= LONGEST and fnmatchcase(name, pattern)
