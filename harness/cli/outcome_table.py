"""The outcome table and the thresholds in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Column, Table

from harness.cli.console import cell, console, say
from harness.model.rows import TrialVerdict
from harness.outcomes import words
from harness.outcomes.cells import Row, by_client, table
from harness.outcomes.thresholds import Evaluation, Met, evaluated

#: A run with at most this many rows is shown cell by cell; a larger one by client.
MAX_CELLS = 12


def drawn(rows: Sequence[Row]) -> Table:
    """Return the rows as a table."""
    names = words.headings(rows)
    first = names.index("trials")
    columns = (
        Column(name, justify="left" if at < first else "right", overflow="fold")
        for at, name in enumerate(names)
    )
    found = Table(*columns, box=None, pad_edge=False)
    for row in words.lines(rows):
        found.add_row(*map(cell, row))
    return found


def tell_outcomes(verdicts: Sequence[TrialVerdict]) -> None:
    """Print the outcomes of a run: of each cell if there are few, otherwise of each client."""
    rows = table(verdicts)
    if len(rows) > MAX_CELLS:
        rows = table(verdicts, by_client)
    if any(row.trials for row in rows):
        console.print(drawn(rows))


def tell_thresholds(thresholds: Iterable[str], verdicts: Sequence[TrialVerdict]) -> list[Evaluation]:
    """Print each threshold that was missed or not evaluated, and how many were met. Return all evaluations."""
    found = evaluated(thresholds, verdicts)
    for each in found:
        if each.result is not Met.MET:
            say(each.sentence)
    if found:
        met = sum(each.result is Met.MET for each in found)
        say(f"thresholds: {met} of {len(found)} met")
    return found
