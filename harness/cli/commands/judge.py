"""``kafka-trial judge``: judge stored evidence again with the current checks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness import exports
from harness.cli.console import summary
from harness.cli.options import Strict
from harness.cli.outcome_table import tell_outcomes, tell_thresholds
from harness.cli.output import print_json, run_document
from harness.model.errors import NothingSelected
from harness.model.verdicts import Verdict, exit_code
from harness.outcomes import thresholds
from harness.outcomes.thresholds import parsed
from harness.running.trial_runner import rejudge
from harness.storage.run_store import RunStore


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("judge")(judge)


def judge(
    run: Annotated[Path, typer.Argument(help="A run's folder, or a folder of runs (its latest).")] = Path(
        "runs"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    strict: Strict = False,
) -> int:
    """Judge the stored evidence of a run again, and replace its verdicts."""
    store = RunStore.open(run)
    for text in store.record.thresholds:
        parsed(text)  # Before verdicts are replaced: a metric may belong to a package that is not installed.
    verdicts = rejudge(store)
    if not verdicts:
        raise NothingSelected("no-finished-trial", "{path} has no finished trial", path=store.folder)
    summary(verdicts, store.folder)
    tell_outcomes(verdicts)
    exports.write(store, verdicts)
    if as_json:
        print_json(run_document(store.folder, store.record, verdicts))
    missed = thresholds.exit_code(tell_thresholds(store.record.thresholds, verdicts))
    return exit_code((Verdict(verdict.verdict) for verdict in verdicts), (missed,), strict=strict)
