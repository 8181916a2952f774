"""# lost-commit

## What it does

Compares the commits that members reported as successful with the offset that the coordinator has after the trial.

## Why it is bad

The application believes that its work is recorded. After the next restart the group begins further back, or from the
start, and repeats everything since.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. A success means that the coordinator has stored the offset.

A commit of a smaller offset that may have been stored later is an excuse: then the coordinator has what it was told
last.

## What it needs

The members' histories, and the offsets that the coordinator stores after the trial.

## References

CSM-OFC-06 (``ConsumerCoordinator.OffsetCommitResponseHandler``): only an answer without an error is a success, for each
partition.
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.commits import finally_stored, stored_at_least, vouched
from suites.analysis.promises import BY_COMMITS
from suites.analysis.recreated import recreations

LOST = Anomaly("lost-commit", "{count:partition} whose successful commits the coordinator does not have")


@view
def expected(evidence: Evidence) -> dict[int, int]:
    """Return partition -> the least offset that the coordinator must have after the trial, if it was asked."""
    if finally_stored(evidence) is None or recreations(evidence):
        return {}
    end_ns = max(event.mono_ns for event in evidence.history) + 1
    least = {partition: stored_at_least(made, end_ns) for partition, made in vouched(evidence).items()}
    return {partition: offset for partition, offset in least.items() if offset}


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the partitions."""
    stored = finally_stored(evidence) or {}
    lost: list[Sample] = [
        {"partition": partition, "committed": offset, "stored": stored.get(partition, -1)}
        for partition, offset in sorted(expected(evidence).items())
        if stored.get(partition, -1) < offset
    ]
    return [LOST.found(len(lost), lost)] if lost else []


def _arises(evidence: Evidence) -> int:
    return len(expected(evidence))


CHECK = Check(
    name="lost-commit",
    summary="Commits reported as successful that the coordinator does not have.",
    requirements=(Requirement("CSM-OFC-06", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history"}),
    killed_mutant="spares_commits",
    run=run,
    workloads=frozenset({"consume"}),
)
