"""The page "what happens to my data" of each client: sentences, plots, and the outcomes of each scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.judging.availability import words as load_words
from harness.judging.fingerprint import Cause
from harness.model.rows import TrialVerdict
from harness.outcomes import words
from harness.outcomes.cells import Row, by_client, table
from harness.outcomes.metrics import Metric
from reports.pages import outcomes
from reports.pages.client_figures import Plot, Windows, plots
from reports.pages.file_names import page_of
from reports.pages.sentences import Story, story


@dataclass(frozen=True)
class ClientPage:
    """Everything that the template shows."""

    client: str
    file: str
    verdicts: Sequence[tuple[str, int]]
    stories: Sequence[Story]
    plots: Sequence[Plot]
    metrics: Mapping[str, Metric]
    cells: Sequence[Row]
    trials: Mapping[object, TrialVerdict]
    causes: Sequence[Cause]


def client_page(
    client: str,
    verdicts: Sequence[TrialVerdict],
    windows: Windows,
    loads_ns: Mapping[str, int | None],
    causes: Sequence[Cause],
) -> ClientPage:
    """Return the page of a client. ``verdicts``: all of its trials."""
    cells = table(verdicts)
    element, done = load_words({verdict.scenario for verdict in verdicts})
    return ClientPage(
        client=client,
        file=page_of(client),
        verdicts=outcomes.by_verdict(verdicts),
        stories=[story(row, _inside(row, cells)) for row in table(verdicts, by_client)],
        plots=plots(verdicts, windows, loads_ns, element, done),
        metrics=words.columns(cells),
        cells=cells,
        trials={
            (each.scenario, each.guarantee, each.variant, each.broker): each for each in reversed(verdicts)
        },
        causes=[cause for cause in causes if cause.client == client],
    )


def _inside(row: Row, cells: Sequence[Row]) -> list[Row]:
    return [
        cell
        for cell in cells
        if (cell.cell.guarantee, cell.cell.variant) == (row.cell.guarantee, row.cell.variant)
    ]
