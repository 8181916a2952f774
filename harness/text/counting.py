"""Numbers with their nouns."""

from __future__ import annotations


def some(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 trial``, ``2 trials``, ``1,000 trials``, ``2 batches``, ``2 entries``."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a regular noun, such as ``trial`` or ``known failure``."""
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
