"""The results of a run for other programs: JSON lines, JUnit for CI, Markdown for a pull request, findings by cause,
outcomes.

All of them contain the same results in different formats. They are made from the verdicts alone, quickly, and can be
made again at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.exports import jsonl, junit, markdown, outcomes
from harness.files import write_whole
from harness.model.errors import UsageError
from harness.model.rows import TrialVerdict
from harness.storage.run_store import RunStore

RESULTS, JUNIT, SUMMARY, FINDINGS = "results.jsonl", "junit.xml", "summary.md", "findings.json"
OUTCOMES = "outcomes.json"


def write(
    store: RunStore, verdicts: Sequence[TrialVerdict], folder: Path | None = None, agreement: str = ""
) -> None:
    """Write all of them into ``folder`` (default: the run's). ``agreement`` is a sentence about the second judgement.

    Raise EnvironmentProblem if they cannot be written.
    """
    into, record = folder or store.folder, store.record
    write_whole(into / RESULTS, jsonl.results(verdicts))
    write_whole(into / FINDINGS, jsonl.findings(record, verdicts, store.folder))
    write_whole(into / OUTCOMES, outcomes.encoded(record, verdicts))
    write_whole(into / JUNIT, junit.junit(record, verdicts, store.folder, _seconds(store, verdicts)))
    write_whole(into / SUMMARY, markdown.summary(record, verdicts, store.folder, agreement).encode())


def _seconds(store: RunStore, verdicts: Sequence[TrialVerdict]) -> dict[str, float]:
    """Return how long each trial took from the beginning of load. A trial without load is left out."""
    took = {}
    for verdict in verdicts:
        try:
            phases = store.trial_record(verdict.trial).phases
        except UsageError:  # The verdict reports it.
            continue
        if phases.load_ns is not None and phases.end_ns is not None:
            took[verdict.trial] = (phases.end_ns - phases.load_ns) / 1e9
    return took
