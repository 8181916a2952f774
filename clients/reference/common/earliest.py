"""The first of several moments, some of which may never come."""

from __future__ import annotations


def earliest(*moments: int | None) -> int | None:
    """The smallest; None stands for "never", and is the answer where all of them are."""
    first: int | None = None
    for moment in moments:
        if moment is not None and (first is None or moment < first):
            first = moment
    return first
