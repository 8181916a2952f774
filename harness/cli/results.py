"""What every command does with the verdicts of a run: show them, export them, and make an exit code of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness import exports
from harness.cli.console import summary as tell_summary
from harness.cli.outcome_table import tell_outcomes, tell_thresholds
from harness.cli.output import print_json, run_document
from harness.model.errors import NothingSelected
from harness.model.rows import TrialVerdict
from harness.model.verdicts import Verdict, exit_code
from harness.outcomes import thresholds
from harness.storage.run_store import RunStore

#: From the verdicts of a run to what a command adds to its JSON document.
More = Callable[[Sequence[TrialVerdict]], dict[str, Any]]


def nothing_more(verdicts: Sequence[TrialVerdict]) -> dict[str, Any]:
    """Return the addition of a command that adds nothing."""
    return {}


def finished(store: RunStore) -> list[TrialVerdict]:
    """Return the verdicts of a run. Raise NothingSelected if it has none."""
    verdicts = list(store.verdicts())
    if not verdicts:
        raise nothing_finished(store)
    return verdicts


def nothing_finished(store: RunStore) -> NothingSelected:
    """Return the error about a run without a verdict."""
    return NothingSelected("no-finished-trial", "{path} has no finished trial", path=store.folder)


def publish(
    store: RunStore,
    verdicts: Sequence[TrialVerdict],
    *,
    junit: Path | None,
    summary: Path | None,
    as_json: bool,
    more: More = nothing_more,
) -> None:
    """Export the verdicts of a run, and report them even if that fails.

    ``more`` returns what a command adds to the JSON document.
    """
    try:
        exports.write(store, verdicts)
        exports.copy(store, junit, summary)
    finally:
        tell_summary(verdicts, store.folder)
        tell_outcomes(verdicts)
    added = more(verdicts)
    if as_json:
        print_json(run_document(store.folder, store.record, verdicts) | added)


def exit_code_of(store: RunStore, verdicts: Sequence[TrialVerdict], *, strict: bool, lacks: int = 0) -> int:
    """Report on the run's thresholds, and return the exit code of its verdicts, thresholds and what it lacks."""
    demanded = tell_thresholds(store.record.thresholds, verdicts)
    return exit_code(
        (Verdict(verdict.verdict) for verdict in verdicts),
        (lacks, thresholds.exit_code(demanded)),
        strict=strict,
    )
