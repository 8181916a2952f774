"""Reduce combinations so that every two values that meet in any combination still meet in one that is left. Pure.

Most defects need two values: one client with one setting, or one version with one fault. The number of all combinations
is the product of all axes; the number of rows for all pairs grows much more slowly.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any, TypeVar

Row = TypeVar("Row", bound=tuple[Any, ...])
#: Two values of one row, each with the number of its axis.
Pair = tuple[tuple[int, Hashable], tuple[int, Hashable]]


def pairs(row: tuple[Any, ...]) -> set[Pair]:
    """Return every two values that meet in a row. A value's position is the number of its axis."""
    return set(combinations(enumerate(row), 2))


def met(rows: Sequence[tuple[Any, ...]]) -> set[Pair]:
    """Return every two values that meet in some row."""
    return {pair for row in rows for pair in pairs(row)}


def pairwise(rows: Sequence[Row]) -> list[Row]:
    """Return some of ``rows``, in their order, in which every pair of ``rows`` occurs.

    They are few, though not the fewest.

    Pairs that the fewest rows have come first. Each is covered by the row that has most of the pairs still missing.
    """
    having: dict[Pair, list[int]] = {}
    for number, row in enumerate(rows):
        for pair in pairs(row):
            having.setdefault(pair, []).append(number)
    missing, chosen = set(having), set()
    for pair in sorted(having, key=lambda pair: (len(having[pair]), having[pair])):
        if pair in missing:
            best = max(having[pair], key=lambda number: len(missing & pairs(rows[number])))
            chosen.add(best)
            missing -= pairs(rows[best])
    return [row for number, row in enumerate(rows) if number in chosen]
