"""Milliseconds from nanoseconds."""

from __future__ import annotations

import polars as pl

NS_PER_MS = 1_000_000


def in_ms(ns: pl.Expr) -> pl.Expr:
    """Return nanoseconds as milliseconds, rounded once.

    Instead of dividing by a constant, polars multiplies by its reciprocal, which is rounded itself. So the divisor is
    a column.
    """
    return ns / (0 * ns + NS_PER_MS)
