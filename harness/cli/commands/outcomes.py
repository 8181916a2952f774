"""``kafka-trial outcomes``: what happened to the data in a run, in numbers, and whether it meets thresholds."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from harness.cli.console import answer
from harness.cli.examples import examples
from harness.cli.options import DEFAULT_OUT, AsJson, Form, InForm, RunFolder, Threshold
from harness.cli.outcome_table import drawn, tell_thresholds
from harness.cli.output import print_json
from harness.cli.results import finished
from harness.exports import markdown
from harness.exports import outcomes as exported
from harness.outcomes.cells import by_client, cell_of, table
from harness.outcomes.thresholds import exit_code, parsed
from harness.storage.run_store import RunStore


class By(StrEnum):
    """What a row of the table is."""

    CELL = "cell"
    CLIENT = "client"


EXAMPLES = examples(
    "kafka-trial outcomes",
    "kafka-trial outcomes runs/latest --by client --threshold 'given_up < 0.1%'",
    "kafka-trial outcomes runs/latest --format md",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("outcomes", epilog=EXAMPLES)(outcomes)


def outcomes(
    run: RunFolder = DEFAULT_OUT,
    by: Annotated[
        By, typer.Option(help="A row per scenario and guarantee of each client, or per client.")
    ] = By.CELL,
    threshold: Threshold = None,
    form: InForm = Form.TEXT,
    as_json: AsJson = False,
) -> int:
    """Show what happened to the data in a run; exit 1 if a threshold is missed."""
    store = RunStore.open(run)
    verdicts = finished(store)
    demanded = (*store.record.thresholds, *(parsed(text).text for text in threshold or ()))
    rows = table(verdicts, by_client if by is By.CLIENT else cell_of)
    if as_json or form is Form.JSON:
        print_json(exported.document(store.record, verdicts, demanded))
    elif form is Form.MD:
        for line in markdown.outcomes(rows):
            answer(line)
    else:
        answer(drawn(rows))
    return exit_code(tell_thresholds(demanded, verdicts))
