"""The results of a run for other programs: JSON lines, JUnit for CI, Markdown for a pull request, findings by cause,
outcomes.

All of them contain the same results in different formats. They are made from the verdicts alone, quickly, and can be
made again at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.exports import jsonl, junit, markdown, outcomes
from harness.files import must_be_file, write_named, write_whole
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


def must_be_files(*paths: Path | None) -> None:
    """Raise UsageError if one of the paths that the user gave cannot be a file."""
    for path in paths:
        if path is not None:
            must_be_file(path)


def copy(store: RunStore, junit: Path | None, summary: Path | None) -> None:
    """Also write the run's JUnit and summary to the files that the user named."""
    for path, name in ((junit, JUNIT), (summary, SUMMARY)):
        if path is not None:
            write_named(path, store.export(name))


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
