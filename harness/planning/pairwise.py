"""Fewer combinations that still meet: any two values that meet in all of them meet in those that are left. Pure.

What goes wrong mostly takes two: this client with that setting, this version with that fault. All combinations of all
axes grow with each axis, all pairs hardly do.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any, TypeVar

Row = TypeVar("Row", bound=tuple[Any, ...])
#: Two values of one row, each with the number of its axis.
Pair = tuple[tuple[int, Hashable], tuple[int, Hashable]]


def pairs(row: tuple[Any, ...]) -> set[Pair]:
    """Every two values that meet in a row; its place says of which axis a value is."""
    return set(combinations(enumerate(row), 2))


def met(rows: Sequence[tuple[Any, ...]]) -> set[Pair]:
    """Every two values that meet in some row."""
    return {pair for row in rows for pair in pairs(row)}


def pairwise(rows: Sequence[Row]) -> list[Row]:
    """Some of ``rows``, in their order, in which every two values meet that meet in any: few, though not the fewest.

    The pairs that the fewest rows have come first, each by the row that brings most of what is still missing.
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
