"""``kafka-trial judge``: judge stored evidence again with the current checks."""

from __future__ import annotations

import typer

from harness import exports
from harness.cli.examples import examples
from harness.cli.options import DEFAULT_OUT, AsJson, JUnit, RunFolder, Strict, Summary
from harness.cli.results import exit_code_of, nothing_finished, publish
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
    run: RunFolder = DEFAULT_OUT,
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
        raise nothing_finished(store)
    publish(store, verdicts, junit=junit, summary=summary, as_json=as_json)
    return exit_code_of(store, verdicts, strict=strict)
