"""``kafka-trial judge``: judge stored evidence again with the current checks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness import exports
from harness.cli import console
from harness.cli.examples import examples
from harness.cli.options import AsJson, JUnit, Strict, Summary
from harness.cli.outcome_table import tell_outcomes, tell_thresholds
from harness.cli.output import print_json, run_document
from harness.model.errors import NothingSelected
from harness.model.verdicts import Verdict, exit_code
from harness.outcomes import thresholds
from harness.outcomes.thresholds import parsed
from harness.running.trial_runner import rejudge
from harness.storage.run_store import RunStore

EXAMPLES = examples(
    "kafka-trial judge",
    "kafka-trial judge runs/latest --strict --junit junit.xml",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("judge", epilog=EXAMPLES)(judge)


def judge(
    run: Annotated[Path, typer.Argument(help="A run's folder, or a folder of runs (its latest).")] = Path(
        "runs"
    ),
    junit: JUnit = None,
    summary: Summary = None,
    as_json: AsJson = False,
    strict: Strict = False,
) -> int:
    """Judge the stored evidence of a run again, and replace its verdicts."""
    exports.must_be_files(junit, summary)
    store = RunStore.open(run)
    for text in store.record.thresholds:
        parsed(text)  # Before verdicts are replaced: a metric may belong to a package that is not installed.
    verdicts = rejudge(store)
    if not verdicts:
        raise NothingSelected("no-finished-trial", "{path} has no finished trial", path=store.folder)
    console.summary(verdicts, store.folder)
    tell_outcomes(verdicts)
    exports.write(store, verdicts)
    exports.copy(store, junit, summary)
    if as_json:
        print_json(run_document(store.folder, store.record, verdicts))
    missed = thresholds.exit_code(tell_thresholds(store.record.thresholds, verdicts))
    return exit_code((Verdict(verdict.verdict) for verdict in verdicts), (missed,), strict=strict)
