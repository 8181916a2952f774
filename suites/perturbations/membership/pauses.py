"""Partitions that are read or fetched while they are paused, and what is fetched again after it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from msgspec.structs import replace as changed

from harness.model.consumer_contract import Position
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.workloads.consume import accounting
from suites.analysis.consuming.asked import of_group
from suites.analysis.consuming.calls import calls
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.places import SETTING
from suites.analysis.way import SLACK_NS
from suites.checks.consume_wire.paused_partition import ANEW
from suites.perturbations.consuming.edits import ADDED_ID, called, with_added
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.membership.exchanges import with_edits
from suites.perturbations.membership.positions import Read, reads
from suites.perturbations.perturbation import channels

#: How long after a pause a Fetch counts, with some time to spare.
LATER_NS: Final = SLACK_NS + 50 * NS_PER_MS


def _is_calm(evidence: Evidence, process: str, partition: int, begin_ns: int, end_ns: int) -> bool:
    """Return whether the process owned the partition in a period, and nothing in it would end a pause."""
    spans = declared(evidence).get(process, {}).get(partition, [])
    moments_ns = [each.sent_ns for each in of_group(evidence, *ANEW)[process]]
    moments_ns += chain.from_iterable(calls(evidence, process, SETTING))
    return any(span.begin_ns < begin_ns and end_ns < span.end_ns for span in spans) and not any(
        begin_ns <= at_ns <= end_ns for at_ns in moments_ns
    )


def _paused(evidence: Evidence, process: str, partition: int, begin_ns: int, end_ns: int) -> Evidence:
    """Return the evidence in which the application pauses a partition, and resumes it later."""
    place = Position(evidence.record.topic, partition, -1)
    pause = called(evidence, process, "pause", place, begin_ns)
    resume = called(evidence, process, "resume", place, end_ns, ADDED_ID + 1)
    return with_added(evidence, *pause, *resume)


def _taken(evidence: Evidence) -> Sequence[int]:
    return [
        at
        for at, got in enumerate(accounting.deliveries(evidence))
        if _is_calm(evidence, got.member, got.partition, got.polled_ns - NS_PER_MS, got.polled_ns + NS_PER_MS)
    ]


def _returned(evidence: Evidence, place: int) -> Evidence:
    """The record was taken shortly before the partition was resumed."""
    got = accounting.deliveries(evidence)[place]
    begin_ns, end_ns = got.polled_ns - NS_PER_MS, got.polled_ns + NS_PER_MS
    return _paused(evidence, got.member, got.partition, begin_ns, end_ns)


def _period(read: Read) -> tuple[str, int, int, int]:
    """Return process and partition of a read, and a period around its second Fetch."""
    sent_ns, arrived_ns = read.next.sent_ns, read.next.request.arrived_ns
    return read.next.process, read.asked.partition, sent_ns - LATER_NS, arrived_ns + NS_PER_MS


def _fetched_places(evidence: Evidence) -> Sequence[int]:
    return [at for at, read in enumerate(reads(evidence)) if _is_calm(evidence, *_period(read))]


def _fetched(evidence: Evidence, place: int) -> Evidence:
    """The second Fetch was sent while the partition was paused."""
    return _paused(evidence, *_period(list(reads(evidence))[place]))


def _dropped_places(evidence: Evidence) -> Sequence[int]:
    """Return the reads with time between the answer and the next Fetch."""
    return [
        at
        for at, read in enumerate(reads(evidence))
        if read.first.received_ns is not None
        and read.next.sent_ns - read.first.received_ns > 4
        and _is_calm(
            evidence, read.next.process, read.asked.partition, read.first.received_ns, read.next.sent_ns
        )
    ]


def _dropped(evidence: Evidence, place: int) -> Evidence:
    """The partition was paused and resumed in between, and the second Fetch asks for the same again."""
    read = list(reads(evidence))[place]
    request, received_ns = read.next.request, read.first.received_ns
    assert received_ns is not None
    asked = tuple(
        [
            changed(part, offset=read.asked.offset) if part.partition == read.asked.partition else part
            for part in request.offsets
        ]
    )
    edited = with_edits(evidence, {id(request): changed(request, offsets=asked)})
    resumed_ns = read.next.sent_ns - 1
    return _paused(edited, read.next.process, read.asked.partition, resumed_ns - 1, resumed_ns)


PERTURBATIONS = (
    of_consumers(
        "record-of-a-paused-partition",
        channels("history"),
        "returns a record of a partition shortly before it is resumed",
        "paused-record",
        _taken,
        _returned,
    ),
    of_consumers(
        "paused-partition-fetched",
        channels("history"),
        "fetches a partition that has been paused for some time",
        "paused-fetch",
        _fetched_places,
        _fetched,
    ),
    of_consumers(
        "buffer-dropped-by-a-pause",
        channels("history", "frames"),
        "fetches a second time, after a pause, what it had fetched",
        "buffer-dropped",
        _dropped_places,
        _dropped,
    ),
)
