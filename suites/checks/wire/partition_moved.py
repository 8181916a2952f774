"""# partition-moved

## What it does

Looks for records that changed their partition when they were sent again, and for keys whose records are in
more than one partition although the topic kept its partitions.

## Why it is bad

A broker detects duplicates, and keeps order, within a partition. A retry that goes to another partition is
stored twice even if it has the identity of the first attempt. The records of a key are ordered only as long
as all of them are in one partition.

## How it is judged per guarantee

- **idempotent, transactional**: a record in two partitions is in the log more than once, which is forbidden.
- **at-least-once, at-most-once**: the Java client sends the same batch to the same partition; the level is
  SHOULD.
- **all**: that a key keeps its partition is a SHOULD, as is the choice of partitions as a whole.

## What it needs

The witness's frames, the log and the faults as they happened. Two batches on the wire are copies of one batch
if CRC, number of records and timestamps are the same; two records of the log are copies if they have the same
number. Records without a key may go anywhere, but not twice. If the topic got more partitions, each key may
move once per growth, beginning with a record that was not settled when the growth began. A key has moved
again if a record is in another partition and was handed over more than a second after an earlier record was
written. A record that was not settled when the topic grew may be in its old and its new partition.

## References

E2E-DEL-02, PRD-SND-02, PRD-ISP-06.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from suites.analysis.excuses import grants
from suites.analysis.findings import of_copies
from suites.analysis.homes import growths_ns
from suites.analysis.promises import EVERY, EXACTLY_ONCE
from suites.checks.wire.keyed import key_places
from suites.checks.wire.sent import Sent, sent

BATCH_MOVED = Anomaly("batch-moved", "{count} of the batches sent again went to another partition")
RECORD_MOVED = Anomaly("record-moved", "{count:record} stored in more than one partition")
KEY_MOVED = Anomaly(
    "key-moved",
    "{count:key} with records in several partitions, although the topic kept its partitions",
    Level.SHOULD,
)
#: Brokers announce new partitions one after the other, so a client that asks several brokers may learn of
#: them twice.
SETTLE_NS = 1_000 * NS_PER_MS


class _Bytes(NamedTuple):
    """The properties that two copies of one batch share."""

    topic: str
    crc: int
    records: int | None
    first_timestamp_ms: int | None
    max_timestamp_ms: int | None


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind: batches on the wire, records in the log, and keys."""
    grown_ns = growths_ns(evidence)
    found: list[Finding] = []
    if batches := [
        copies for copies in _copies(evidence) if len({each.part.partition for each in copies}) > 1
    ]:
        samples = (_of_sent(each) for copies in batches for each in copies)
        found += _for_retries(evidence, BATCH_MOVED, len(batches), samples)
    records = {
        n: copies
        for n, copies in evidence.copies.items()
        if len({copy.partition for copy in copies}) > 1 and not _was_open_at(evidence, n, grown_ns)
    }
    if records:
        samples = (of_copies(n, copies) for n, copies in sorted(records.items()))
        found += _for_retries(evidence, RECORD_MOVED, len(records), samples)
    if keys := {
        key: places
        for key, places in key_places(evidence).items()
        if len(places) > 1 and not _may_move(evidence, places, grown_ns)
    }:
        samples = ({"key": key, "partitions": _listed(places)} for key, places in sorted(keys.items()))
        found.append(KEY_MOVED.found(len(keys), samples, requirement="PRD-ISP-06"))
    return found


def _for_retries(
    evidence: Evidence, anomaly: Anomaly, count: int, samples: Iterable[Sample]
) -> Iterator[Finding]:
    """Yield the finding for each requirement that it violates under this guarantee."""
    samples = list(samples)
    ids = ["PRD-SND-02"]
    if evidence.record.spec.guarantee in EXACTLY_ONCE:
        ids.append("E2E-DEL-02")
    for requirement in ids:
        yield anomaly.found(count, samples, requirement=requirement)


def _copies(evidence: Evidence) -> Iterable[list[Sent]]:
    """Return the attempts grouped by equal bytes."""
    found: dict[_Bytes, list[Sent]] = {}
    for each in sent(evidence):
        part = each.part
        if part.crc is not None:
            same = _Bytes(part.topic, part.crc, part.records, part.first_timestamp_ms, part.max_timestamp_ms)
            found.setdefault(same, []).append(each)
    return found.values()


@grants("open-while-topic-grew")
def _was_open_at(evidence: Evidence, n: int, moments_ns: list[int]) -> bool:
    """True if the record had no result yet at one of the times, or was not handed over before the first."""
    send = evidence.operations.get(n)
    return send is not None and any(
        send.complete_ns is None or send.complete_ns >= at_ns for at_ns in moments_ns
    )


@grants("key-moves-with-growth")
def _may_move(evidence: Evidence, places: Mapping[int, list[int]], grown_ns: list[int]) -> bool:
    """True if the key has at most one more partition per growth and was in one partition before the first."""
    settled = [
        partition
        for partition, numbers in places.items()
        if any(not _was_open_at(evidence, n, grown_ns) for n in numbers)
    ]
    return (
        len(places) <= 1 + len(grown_ns)
        and len(settled) <= 1
        and _certain_moves(evidence, places) <= len(grown_ns)
    )


def _certain_moves(evidence: Evidence, places: Mapping[int, list[int]]) -> int:
    """Return how often the key moved at least.

    A move leads from a record that was written to one that was handed over more than ``SETTLE_NS`` later.
    """
    written = sorted(
        (send.complete_ns, send.invoke_ns, partition)
        for partition, numbers in places.items()
        for n in numbers
        if (send := evidence.acknowledged.get(n)) is not None and send.complete_ns is not None
    )
    most = 0
    for first in {partition: each for each in reversed(written) for partition in (each[2],)}.values():
        moves, last = 0, first
        for each in written:
            if each[2] != last[2] and each[1] > last[0] + SETTLE_NS:
                moves, last = moves + 1, each
        most = max(most, moves)
    return most


def _listed(places: Mapping[int, list[int]]) -> str:
    """Return ``partition: records`` for each partition."""
    return ", ".join(f"{partition}: {len(numbers)}" for partition, numbers in sorted(places.items()))


def _of_sent(each: Sent) -> Sample:
    return {
        "partition": each.part.partition,
        "crc": each.part.crc,
        "records": each.part.records,
        "conn": each.frame.conn,
        "correlation_id": each.frame.correlation_id,
        "at_ns": each.asked_ns,
    }


def _failed(evidence: Evidence) -> int:
    """Return how many attempts had no success, so that there was a reason to send again."""
    return sum(each.error_code != 0 for each in sent(evidence))


def _keys(evidence: Evidence) -> int:
    """Return how many keys have more than one record in the log."""
    return sum(sum(map(len, places.values())) > 1 for places in key_places(evidence).values())


CHECK = Check(
    name="partition-moved",
    summary="Batches, records or keys that move from one partition to another.",
    requirements=(
        Requirement("E2E-DEL-02", Level.MUST, EXACTLY_ONCE, arises=_failed),
        Requirement("PRD-SND-02", Level.SHOULD, EVERY, arises=_failed),
        Requirement("PRD-ISP-06", Level.SHOULD, EVERY, arises=_keys),
    ),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"frames", "log", "history", "faults"}),
    killed_mutant="retries_in_another_partition",
    run=run,
)
