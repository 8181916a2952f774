"""One thing that is wrong with a trial, by its identity, as a row that two judgements can compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from harness.model.evidence import Evidence

#: The kind of the rows that say which duplicated records nothing explains, where the online judgement stores them.
UNEXPLAINED = "unexplained-duplicate"


class AnomalyRow(NamedTuple):
    """One identity, in the columns of the table ``anomalies``."""

    kind: str
    n: int | None = None
    partition: int | None = None
    offset: int | None = None
    detail: str | None = None


#: Finds the anomalies of one kind that no view here knows; None if it cannot tell for this trial.
Finder = Callable[[Evidence], Iterable[AnomalyRow] | None]
