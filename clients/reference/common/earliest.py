"""The minimum of several times, each of which may be None."""

from __future__ import annotations


def earliest(*moments: int | None) -> int | None:
    """Return the smallest time. None means "never", and is the result if all of them are None."""
    first: int | None = None
    for moment in moments:
        if moment is not None and (first is None or moment < first):
            first = moment
    return first
