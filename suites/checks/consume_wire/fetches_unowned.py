"""# fetches-unowned

## What it does

Looks for Fetch requests of partitions that the process had given up: those that a request names, and those that it
leaves in its fetch session.

## Why it is bad

The broker goes on sending the partition's records to a process that throws them away. Each byte is paid for twice, and
leaves less of fetch.max.bytes to the partitions that the process owns.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Java fetches what it owns, and its next request in a session forgets
  the others.

A process gives a partition up with its listener's call. A Fetch counts a second later, without the time for which the
process was frozen in between. A session that may have missed a request is not followed any further: then only what
requests name counts. Not judged: processes whose listener reports nothing, requests after the application assigned
partitions itself, and those of a process that closes.

## What it needs

The witness's frames and the members' histories. If the process stalled in between, the trial is inconclusive.

## References

CSM-FET-10 (KIP-227, ``FetchSessionHandler#build``; ``AbstractFetch#fetchablePartitions``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_rows import FetchPart
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.calls import called_ns
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.lives import frozen, lives
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.checks.consume_wire.fetch_session_broken import FETCH, LAST_EPOCH

UNOWNED = Anomaly(
    "unowned-fetch", "{count:Fetch} of a partition that the process had given up before", Level.SHOULD
)


class Wanted(NamedTuple):
    """A Fetch and the partitions of the trial's topic that its broker answers for, as far as they are known."""

    fetch: Asked
    partitions: frozenset[int]


@view
def wanted(evidence: Evidence) -> list[Wanted]:
    """Return each Fetch of a process that reports what it owns, until it closes or is given partitions by hand."""
    found = []
    for process, requests in of_group(evidence, FETCH).items():
        if process not in declared(evidence):
            continue
        until_ns = _judged_until_ns(evidence, process)
        in_session: dict[int, frozenset[int] | None] = {}
        epochs: dict[int, tuple[int, int]] = {}
        for each in requests:
            if each.request.arrived_ns >= until_ns:
                break
            broker, said = each.request.broker, each.request.fetch or FetchPart()
            named, forgotten = _of_topic(evidence, each)
            if (said.session_epoch or 0) <= 0:
                kept: frozenset[int] | None = frozenset()
            else:
                kept = in_session.get(broker) if goes_on(epochs.get(broker), said) else None
            in_session[broker] = None if kept is None else (kept - forgotten) | named
            epochs[broker] = (said.session_id or 0, said.session_epoch or 0)
            found.append(Wanted(each, in_session[broker] or named))
    return found


def _judged_until_ns(evidence: Evidence, process: str) -> int:
    life = lives(evidence)[process]
    moments_ns = [life.end_ns if life.closing_ns is None else life.closing_ns]
    return min(moments_ns + called_ns(evidence, process, ("assign",)))


def _of_topic(evidence: Evidence, fetch: Asked) -> tuple[frozenset[int], frozenset[int]]:
    """Return the partitions that a request asks for, and those that leave its session."""
    parts = [part for part in fetch.request.offsets if part.topic == evidence.record.topic]
    return (
        frozenset(part.partition for part in parts if not part.forgotten),
        frozenset(part.partition for part in parts if part.forgotten),
    )


@grants("session-not-followed")
def goes_on(before: tuple[int, int] | None, said: FetchPart) -> bool:
    """Return whether a request is the next one of the session that is known. The first answer gives it its id."""
    if before is None:
        return False
    session_id, epoch = before
    return said.session_epoch == (1 if epoch >= LAST_EPOCH else epoch + 1) and (
        epoch == 0 or said.session_id == session_id
    )


def strays(evidence: Evidence) -> Iterator[tuple[Wanted, int, int]]:
    """Yield each Fetch with a partition that its process had given up, and when it had."""
    for each in wanted(evidence):
        for partition in sorted(each.partitions):
            ended_ns = given_up_ns(evidence, each.fetch, partition)
            if ended_ns is not None:
                yield each, partition, ended_ns


@grants("owned-about-then", "frozen-before-fetch")
def given_up_ns(evidence: Evidence, fetch: Asked, partition: int) -> int | None:
    """Return when the process gave a partition up, if it certainly had no part of it when it sent a request."""
    spans = declared(evidence)[fetch.process].get(partition, [])
    ended_ns = max((span.end_ns for span in spans if span.end_ns < fetch.sent_ns), default=None)
    if ended_ns is None:
        return None
    if any(span.begin_ns - SLACK_NS <= fetch.request.arrived_ns <= span.end_ns for span in spans):
        return None
    asleep_ns = sum(span.overlap_ns(ended_ns, fetch.sent_ns) for span in frozen(evidence)[fetch.process])
    return ended_ns if fetch.sent_ns - ended_ns - asleep_ns > SLACK_NS else None


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the requests."""
    cases = list(strays(evidence))
    if not cases:
        return []
    samples: list[Sample] = [
        {
            "member": each.fetch.process,
            "partition": partition,
            "conn": each.fetch.request.conn,
            "at_ns": each.fetch.request.arrived_ns,
            "since_ns": ended_ns,
        }
        for each, partition, ended_ns in cases
    ]
    found = UNOWNED.found(len({id(each.fetch) for each, _, _ in cases}), samples)
    doubt_if_unreadable(found, unread_of_members(evidence))
    for each, _, ended_ns in cases:
        doubt_if_stalled(evidence, found, ended_ns, each.fetch.sent_ns)
    return [found]


def _arises(evidence: Evidence) -> int:
    """Count the requests after which their process had given up a partition."""
    ends_ns = {
        process: min((span.end_ns for spans in known.values() for span in spans), default=None)
        for process, known in declared(evidence).items()
    }
    return sum(
        1
        for each in wanted(evidence)
        if (end_ns := ends_ns[each.fetch.process]) is not None and each.fetch.sent_ns > end_ns
    )


CHECK = Check(
    name="fetches-unowned",
    summary="Fetch requests of partitions that the process had given up.",
    requirements=(Requirement("CSM-FET-10", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="forgets_nothing_in_sessions",
    run=run,
    workloads=frozenset({"consume"}),
)
