"""Identified anomalies of a trial, as rows that two judgements can compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from harness.model.evidence import Evidence

#: The kind of the rows in which the online judgement stores the duplicated records that nothing explains.
UNEXPLAINED = "unexplained-duplicate"


class AnomalyRow(NamedTuple):
    """One identity, in the columns of the table ``anomalies``."""

    kind: str
    n: int | None = None
    partition: int | None = None
    offset: int | None = None
    detail: str | None = None


#: Finds the anomalies of a kind that no view covers; returns None if it cannot judge this trial.
Finder = Callable[[Evidence], Iterable[AnomalyRow] | None]
