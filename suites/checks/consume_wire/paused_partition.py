"""# paused-partition

## What it does

Looks at the time for which an application has paused a partition: at the records that it was given, at the Fetch
requests of the partition, and at the offset from which the client fetches once it is resumed.

## Why it is bad

An application pauses a partition because it can take no more of it. A client that goes on fills the memory of the
process. One that forgets what it had fetched loads the network with the same records again.

## How it is judged per guarantee

- **at-least-once, at-most-once**: differences. Java returns no record of a paused partition, does not fetch it, and
  keeps what it had fetched for the time after.

A pause lasts from the end of the call to the begin of the next ``resume``. It ends before that if the member joins
again, if the partition gets an owner or loses one, or if the process is asked to close. A Fetch counts half a second
after the call. Records that are lost or come twice are found by other checks.

## What it needs

The witness's frames and the members' histories.

## References

CSM-FET-08 (KAFKA-7548). librdkafka issues 2052 and 5343 and kafka-python issue 2011 are reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import OffsetsCommitted
from harness.model.consumer_rows import OffsetPart
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.calls import PAUSE, RESUME, PartitionCall, calls, partition_calls
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.places import SETTING
from suites.analysis.consuming.tried import is_tried
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.analysis.way import SLACK_NS

FETCH: Final = "Fetch"
#: Requests by which a member joins again, or learns where to begin.
ANEW: Final = ("JoinGroup", "SyncGroup", "OffsetFetch")
RETURNED = Anomaly("paused-record", "{count:record} taken from a partition that was paused", Level.SHOULD)
FETCHED = Anomaly(
    "paused-fetch", "{count:Fetch} of a partition that had been paused for half a second", Level.SHOULD
)
DROPPED = Anomaly(
    "buffer-dropped",
    "{count:partition} fetched again after a pause, from where it had been fetched",
    Level.SHOULD,
)


class Paused(NamedTuple):
    """A pause of a partition by its owner. ``resumed_ns`` is when the application resumed it, if that ended it."""

    process: str
    partition: int
    span: Span
    resumed_ns: int | None


@view
def pauses(evidence: Evidence) -> list[Paused]:
    """Return the pauses that clients accepted, of partitions that were theirs."""
    return [
        _lasting(evidence, call)
        for call in partition_calls(evidence)
        if call.op == PAUSE and call.error is None and _is_owned(evidence, call)
    ]


def _is_owned(evidence: Evidence, call: PartitionCall) -> bool:
    if not is_tried(evidence, call.process) or call.process not in lives(evidence):
        return False
    spans = declared(evidence).get(call.process, {}).get(call.partition, [])
    return any(span.begin_ns <= call.begin_ns and call.end_ns <= span.end_ns for span in spans)


@grants("pause-has-ended")
def _lasting(evidence: Evidence, call: PartitionCall) -> Paused:
    """Return how long a pause lasted at least."""
    process, partition, life = call.process, call.partition, lives(evidence)[call.process]
    resumed = [
        other.begin_ns
        for other in partition_calls(evidence)
        if (other.process, other.partition, other.op) == (process, partition, RESUME)
    ]
    others_ns = chain(
        (edge for span in declared(evidence)[process][partition] for edge in span),
        chain.from_iterable(calls(evidence, process, SETTING)),
        (each.sent_ns for each in of_group(evidence, *ANEW)[process]),
        (life.end_ns, life.closing_ns or life.end_ns),
    )
    end_ns = min(at_ns for at_ns in chain(others_ns, resumed) if at_ns > call.begin_ns)
    return Paused(process, partition, Span(call.end_ns, end_ns), end_ns if end_ns in resumed else None)


def _returned(evidence: Evidence) -> Iterator[Sample]:
    for pause in pauses(evidence):
        for got in accounting.deliveries(evidence):
            is_its = (got.member, got.partition) == (pause.process, pause.partition)
            if is_its and pause.span.begin_ns < got.polled_ns < pause.span.end_ns:
                yield _sample(pause, got.polled_ns, got.offset)


def _fetched(evidence: Evidence) -> Iterator[Sample]:
    for pause in pauses(evidence):
        for fetch in of_group(evidence, FETCH)[pause.process]:
            if (
                not pause.span.begin_ns + SLACK_NS
                < fetch.sent_ns
                <= fetch.request.arrived_ns
                < pause.span.end_ns
            ):
                continue
            named = next(_asked(evidence, fetch, pause.partition), None)
            if named is not None or _bytes(evidence, fetch, pause.partition):
                yield _sample(pause, fetch.request.arrived_ns, None if named is None else named.offset)


def _asked(evidence: Evidence, fetch: Asked, partition: int) -> Iterator[OffsetPart]:
    """Yield the partition as a Fetch asks for it."""
    for part in fetch.request.offsets:
        if (part.topic, part.partition) == (evidence.record.topic, partition) and part.offset is not None:
            yield part


def _bytes(evidence: Evidence, fetch: Asked, partition: int) -> int:
    """Return how many bytes of the partition's batches an answer brought."""
    parts = fetch.answer.offsets if fetch.answer is not None else ()
    return sum(
        part.data_bytes or 0
        for part in parts
        if (part.topic, part.partition) == (evidence.record.topic, partition) and not part.error_code
    )


def _dropped(evidence: Evidence) -> Iterator[Sample]:
    """Yield the pauses after which a client fetched what it certainly had."""
    for pause in pauses(evidence):
        if pause.resumed_ns is None:
            continue
        asked = [
            (fetch, part.offset or 0)
            for fetch in of_group(evidence, FETCH)[pause.process]
            for part in _asked(evidence, fetch, pause.partition)
        ]
        after = next((offset for fetch, offset in asked if fetch.sent_ns > pause.resumed_ns), None)
        had = [
            offset
            for fetch, offset in asked
            if fetch.received_ns is not None
            and fetch.received_ns < pause.span.end_ns
            and fetch.request.arrived_ns < pause.span.end_ns
            and _bytes(evidence, fetch, pause.partition)
        ]
        if after is not None and had and after <= had[-1] and not _commit_failed(evidence, pause):
            yield _sample(pause, pause.resumed_ns, after)


def _commit_failed(evidence: Evidence, pause: Paused) -> bool:
    """Return whether the application may have returned to records that it could not commit first."""
    return any(
        isinstance(event, OffsetsCommitted) and event.producer == pause.process and not event.success
        for event in evidence.history
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    kinds = ((RETURNED, _returned), (FETCHED, _fetched), (DROPPED, _dropped))
    cases = ((anomaly, list(find(evidence))) for anomaly, find in kinds)
    found = [anomaly.found(len(samples), samples) for anomaly, samples in cases if samples]
    for finding in found:
        if finding.anomaly != RETURNED.code:
            doubt_if_unreadable(finding, unread_of_members(evidence))
    return found


def _sample(pause: Paused, at_ns: int, offset: int | None) -> Sample:
    return {
        "member": pause.process,
        "partition": pause.partition,
        "offset": offset,
        "at_ns": at_ns,
        "paused_ns": pause.span.begin_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(pauses(evidence))


CHECK = Check(
    name="paused-partition",
    summary="Partitions that are read or fetched while they are paused, or fetched again after it.",
    requirements=(Requirement("CSM-FET-08", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="pause_is_ignored",
    run=run,
    workloads=frozenset({"consume"}),
)
