"""The outcome table and the thresholds in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Column, Table

from harness.cli.console import cell, console, say
from harness.model.rows import TrialVerdict
from harness.outcomes import words
from harness.outcomes.cells import Row, by_client, in_order, table
from harness.outcomes.thresholds import Evaluation, evaluated, sentences

#: A run with at most this many rows is shown cell by cell; a larger one by client.
MAX_CELLS = 12
MAX_WIDTH = 24


def drawn(rows: Sequence[Row]) -> Group:
    """Return the rows as tables with the same columns, one for each scenario, guarantee, configuration and broker."""
    shown = words.columns(rows)
    texts = [
        [f"  {row.cell.client}", words.trials(row)]
        + [words.summary(metric, row.outcomes.get(name)) for name, metric in shown.items()]
        for row in rows
    ]
    names = ["", "trials", *(metric.heading for metric in shown.values())]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    parts: dict[tuple[str, ...], Table] = {}
    for row, line in sorted(zip(rows, texts, strict=True), key=lambda each: _order(each[0])):
        part = parts.setdefault(_place(row), _empty(names, widths))
        part.add_row(*map(cell, line))
    lines: list[RenderableType] = []
    for place, part in parts.items():
        lines += [cell(" ".join(filter(None, place))), part]
    return Group(*lines)


def _empty(names: Sequence[str], widths: Sequence[int]) -> Table:
    columns = (
        Column(name, justify="right" if at else "left", min_width=min(width, MAX_WIDTH), overflow="fold")
        for at, (name, width) in enumerate(zip(names, widths, strict=True))
    )
    return Table(*columns, box=None, pad_edge=False)


def _order(row: Row) -> tuple[object, ...]:
    return _place(row), in_order(row.cell)


def _place(row: Row) -> tuple[str, ...]:
    of = row.cell
    return of.scenario, of.guarantee, of.variant, of.broker


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
    for sentence in sentences(found):
        say(sentence)
    return found
