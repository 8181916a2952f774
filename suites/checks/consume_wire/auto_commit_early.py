"""# auto-commit-early

## What it does

Looks for automatic commits (``enable.auto.commit``) that cover records which the application has not done with.

## Why it is bad

If the process ends now, its successor begins after these records. They are lost, although they were not processed.

## How it is judged per guarantee

- **at-least-once**: forbidden. A commit covers what earlier polls returned. By its next poll, an application has done
  with it.

A record counts as done with once the member has reported it, before it polls again or its handler returns. Only records
count that no process has done with before the commit passed the witness. The commits of the application itself are
``committed-early``.

## What it needs

The witness's frames and the members' histories.

## References

CSM-ACM-01 (``ConsumerCoordinator#maybeAutoCommitOffsetsAsync``, ``SubscriptionState#allConsumed``). librdkafka covers
what the application has taken, unless ``enable.auto.offset.store`` is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from harness.workloads.consume.accounting import Delivery
from suites.analysis.consuming.asked import unread_of_members
from suites.analysis.consuming.committing import Sent, automatic
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import AT_LEAST_ONCE

EARLY = Anomaly(
    "auto-commit-early", "{count:automatic commit} of records that the application had not done with"
)


class Early(NamedTuple):
    """A commit, and a record that it covers and its process did not have done with."""

    commit: Sent
    record: Delivery


@view
def _first_done(evidence: Evidence) -> dict[int, dict[int, Delivery]]:
    """Return partition -> offset -> the delivery by which a record was done with first."""
    found: dict[int, dict[int, Delivery]] = {}
    for each in accounting.deliveries(evidence):
        known = found.setdefault(each.partition, {})
        if each.offset not in known or each.processed_ns < known[each.offset].processed_ns:
            known[each.offset] = each
    return found


def early(evidence: Evidence) -> Iterator[Early]:
    """Yield each commit with the last such record that it covers."""
    done = _first_done(evidence)
    for commit in automatic(evidence):
        ahead = [
            got
            for partition, end in commit.offsets.items()
            for offset, got in done.get(partition, {}).items()
            if offset < end and got.member == commit.asked.process and got.processed_ns > commit.arrived_ns
        ]
        if ahead:
            yield Early(commit, max(ahead, key=lambda got: got.offset))


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts commits."""
    found = list(early(evidence))
    if not found:
        return []
    finding = EARLY.found(len(found), map(_sample, found))
    doubt_if_unreadable(finding, unread_of_members(evidence))
    return [finding]


def _sample(each: Early) -> Sample:
    return {
        "member": each.record.member,
        "partition": each.record.partition,
        "committed": each.commit.offsets[each.record.partition],
        "offset": each.record.offset,
        "at_ns": each.commit.arrived_ns,
        "polled_ns": each.record.polled_ns,
        "processed_ns": each.record.processed_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(automatic(evidence))


CHECK = Check(
    name="auto-commit-early",
    summary="Automatic commits of records that the application has not done with.",
    requirements=(Requirement("CSM-ACM-01", Level.MUST, arises=_arises),),
    guarantees=AT_LEAST_ONCE,
    requires=frozenset({"frames", "history"}),
    killed_mutant="commits_behind_the_applications_back",
    run=run,
    workloads=frozenset({"consume"}),
)
