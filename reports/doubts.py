"""The disagreements of the two judgements, per trial and in words: counts, identities, reasons for duplicates.

A trial's verdict is withdrawn if counts or identities differ. Different reasons are shown, but withdraw nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.spark.analysis import Analysis, Row


#: The maximum number of disagreements in a sentence.
IN_A_SENTENCE = 3


@dataclass(frozen=True)
class Doubt:
    """A difference: its count according to the online checks and to PySpark. None means that the row is missing."""

    what: str
    judged: int | None
    recomputed: int | None


def doubts(analysis: Analysis) -> dict[str, list[Doubt]]:
    """Return trial -> the disagreements that withdraw its verdict, counts first."""
    found: dict[str, list[Doubt]] = {}
    for row in analysis.rows("disagreements"):
        found.setdefault(row["trial"], []).append(Doubt(row["count"], row["judged"], row["recomputed"]))
    for row in analysis.rows("identities"):
        if row["differing"]:
            found.setdefault(row["trial"], []).extend(_of_kind(row))
    return found


def told(found: Sequence[Doubt]) -> str:
    """Return one trial's disagreements as a sentence."""
    named = [f"{doubt.what} {doubt.judged} but {doubt.recomputed}" for doubt in found[:IN_A_SENTENCE]]
    more = f" and {len(found) - IN_A_SENTENCE} more" if len(found) > IN_A_SENTENCE else ""
    return f"the online checks and PySpark disagree: {', '.join(named)}{more}"


def strays(analysis: Analysis) -> list[Row]:
    """Return the identities that only one judgement found, as flat rows: the first of each trial and kind.

    ``differing`` is their number for the kind in the trial.
    """
    return [
        {"trial": row["trial"], "kind": row["kind"], **stray, "differing": row["differing"]}
        for row in analysis.rows("identities")
        for stray in row["named"]
    ]


def contested(analysis: Analysis) -> list[Row]:
    """Return the duplicated records that only one judgement explains, as flat rows: the first of each trial."""
    return [
        {"trial": row["trial"], **record, "differing": row["differing"]}
        for row in analysis.rows("explanations")
        for record in row["named"]
    ]


def _of_kind(row: Row) -> list[Doubt]:
    kind, named = row["kind"], row["named"]
    found = [Doubt(f"{kind} {identity(stray)}", stray["judged"], stray["recomputed"]) for stray in named]
    if (more := row["differing"] - len(named)) > 0:
        found.append(Doubt(f"{kind}: {more:,} further identities that only one side has", None, None))
    return found


def identity(row: Row) -> str:
    """Return an anomaly's identity in words: ``record 7 at 2/31 (DAMAGED)``."""
    parts = [] if row["n"] is None else [f"record {row['n']}"]
    if row["partition"] is not None:
        place = row["partition"] if row["offset"] is None else f"{row['partition']}/{row['offset']}"
        parts.append(f"at {place}")
    if row["detail"] is not None:
        parts.append(f"({row['detail']})")
    return " ".join(parts)
