"""The outcome of every record: the client's reports compared with the log. Pure views, each defined only here.

The log is what was read back after healing; control records do not count. A *copy* of record n is a log record with n's
intact value, written by this run, trial and producer. Then:

- **in log**: the records in the log, from any writer;
- **lost**: acknowledged records without a copy;
- **duplicated**: copies beyond each record's first, over all partitions;
- **reordered**: among the first copies of acknowledged records in one partition, in log order, those that come after a
  record that was sent later;
- **unexpected**: log records that were not sent (no intact value, another writer's, a number that was never handed to
  the client), and copies of records that the client reported as certainly not written;
- **moved key**: a key whose records are in more partitions than the topic's growth explains;
- **strange timestamp**: a record whose timestamp is outside the time of the trial.

So ``in log = distinct copies + duplicated + records without an identity of this trial``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter

from harness.model.evidence import Evidence, Operation, view
from harness.model.rows import LogRecord
from harness.model.spec import Workload
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome
from harness.workloads.produce.commands import key_of, value_of

#: How much of a damaged value is shown.
SHOWN = 80
#: The fault kind that changes the number of partitions, after which a key may belong to another one.
TOPIC_GROWTH = "topic_growth"
#: How far a record's timestamp may lie outside the time between the client's first and last event.
TIMESTAMP_SLACK_MS = 5_000
_OFFSET = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Inversion:
    """Record ``n`` comes after ``overtaken_by`` in its partition, although it was sent before."""

    n: int
    overtaken_by: int
    record: LogRecord


class Unexpected(StrEnum):
    """The reasons why a log record should not exist: the name is the code, the value a half-sentence."""

    FOREIGN = "was written by another program"
    DAMAGED = "has no intact value of ours"
    NEVER_SENT = "was never handed to the client"
    REPORTED_FAILED = "was reported as certainly not written"


@dataclass(frozen=True, slots=True)
class UnexpectedRecord:
    """A log record that should not exist, and why. ``n`` is None if it is not a record of this trial."""

    record: LogRecord
    why: Unexpected
    n: int | None = None


class Wrong(StrEnum):
    """What can be wrong at a place of the log: its name is a code, and its value the words for it.

    The last two are about an acknowledgement, not about what was written.
    """

    CRC = "the batch does not match its CRC"
    VALUE = "the value is not intact"
    SIZE = "the value has another size than the one that was sent"
    KEY = "the key is not the one that was sent"
    HEADERS = "the record has headers that were not sent"
    ELSEWHERE = "a record was acknowledged where it is not"
    SHARED = "two records were acknowledged at one place"


@dataclass(frozen=True, slots=True)
class Corruption:
    """``what`` is wrong at a place, with the expected and the actual value. ``n`` is None if the record is unknown."""

    what: Wrong
    partition: int
    offset: int
    n: int | None = None
    expected: str | None = None
    found: str | None = None


def place(record: LogRecord) -> tuple[int, int]:
    """``(partition, offset)``."""
    return record.partition, record.offset


def acknowledged(evidence: Evidence) -> dict[int, Operation]:
    """Return the records that the client reported as written."""
    return evidence.acknowledged


@view
def lost(evidence: Evidence) -> list[Operation]:
    """Return acknowledged records without a copy. With acks other than all, such a loss breaks no promise."""
    copies = evidence.copies
    return [send for n, send in acknowledged(evidence).items() if n not in copies]


def duplicates(evidence: Evidence) -> dict[int, list[LogRecord]]:
    """Return record number -> all copies sorted by ``(partition, offset)``, for the records with at least two."""
    return {n: sorted(copies, key=place) for n, copies in evidence.copies.items() if len(copies) > 1}


def surplus(evidence: Evidence) -> int:
    """Return the number of copies beyond each record's first."""
    return sum(map(len, evidence.copies.values())) - len(evidence.copies)


@view
def inversions(evidence: Evidence) -> list[Inversion]:
    """Return acknowledged records whose first copy in a partition comes after that of a record sent later."""
    acked = acknowledged(evidence)
    by_partition: dict[int, list[tuple[int, int, LogRecord]]] = {}
    for n, copies in evidence.copies.items():
        if n in acked:
            for record in copies:
                by_partition.setdefault(record.partition, []).append((record.offset, n, record))
    return [found for _, placed in sorted(by_partition.items()) for found in _overtaken(placed)]


def _overtaken(placed: list[tuple[int, int, LogRecord]]) -> list[Inversion]:
    """Return the inversions of one partition, given its ``(offset, n, record)``."""
    placed.sort(key=_OFFSET)
    numbers = [n for _, n, _ in placed]
    if numbers == sorted(numbers):
        return []
    found = []
    seen: set[int] = set()
    top = -1
    for _, n, record in placed:
        if n not in seen:
            seen.add(n)
            if n < top:
                found.append(Inversion(n, top, record))
            else:
                top = n
    return found


@view
def unexpected_records(evidence: Evidence) -> list[UnexpectedRecord]:
    """Return log records that were not sent, or that the client reported as not written."""
    found = []
    sends = evidence.operations
    for at, (record, n) in enumerate(zip(evidence.log, evidence.numbers, strict=True)):
        if record.control:
            continue
        if n is None:
            is_intact = evidence.identities[at] is not None
            found.append(UnexpectedRecord(record, Unexpected.FOREIGN if is_intact else Unexpected.DAMAGED))
        elif (send := sends.get(n)) is None:
            found.append(UnexpectedRecord(record, Unexpected.NEVER_SENT, n))
        elif send.outcome is Outcome.FAIL:
            found.append(UnexpectedRecord(record, Unexpected.REPORTED_FAILED, n))
    return found


@view
def moved_keys(evidence: Evidence) -> dict[str, list[int]]:
    """Return key -> the partitions with copies of its records, ascending, for keys in too many of them.

    A key belongs to one partition while the number of partitions is constant; each growth of the topic allows one more.
    The key is the one in the log. Records without a key belong to no partition.
    """
    partitions: dict[str, set[int]] = {}
    for copies in evidence.copies.values():
        for record in copies:
            if record.key is not None:
                partitions.setdefault(record.key, set()).add(record.partition)
    grown = sum(row.spec.kind == TOPIC_GROWTH and row.effective_ns is not None for row in evidence.faults)
    return {key: sorted(found) for key, found in partitions.items() if len(found) > 1 + grown}


@view
def strange_timestamps(evidence: Evidence) -> list[tuple[LogRecord, int | None]]:
    """Return records from any writer with a timestamp too far before the client's first event or after its last one.

    Each has its number, or None if it is not a record of this trial. The time of the trial is measured by the client's
    own wall clock (``wall_ns``; 0: not reported). A client that never reports it has no strange timestamps.
    """
    told = [event.wall_ns for event in evidence.history if event.wall_ns > 0]
    if not told:
        return []
    first_ms = min(told) // NS_PER_MS - TIMESTAMP_SLACK_MS
    last_ms = max(told) // NS_PER_MS + TIMESTAMP_SLACK_MS
    return [
        (record, n)
        for record, n in zip(evidence.log, evidence.numbers, strict=True)
        if not record.control and not first_ms <= record.timestamp_ms <= last_ms
    ]


def corruptions(evidence: Evidence) -> list[Corruption]:
    """Return the differences between the log and what was sent, then the acknowledgements of a wrong place."""
    return [*_altered(evidence), *_misplaced(evidence), *_shared_places(evidence)]


def count(evidence: Evidence) -> dict[str, int]:
    """Return the counts of a verdict, in the order of :data:`harness.workloads.produce.tables.MEANING`."""
    outcomes = Counter([send.outcome for send in evidence.operations.values()])
    return {
        "sent": len(evidence.operations),
        "acked": outcomes[Outcome.OK],
        "failed": outcomes[Outcome.FAIL],
        "unknown": outcomes[Outcome.INFO],
        "in_log": len([record for record in evidence.log if not record.control]),
        "lost": len(lost(evidence)),
        "duplicated": surplus(evidence),
        "reordered": len(inversions(evidence)),
        "unexpected": len(unexpected_records(evidence)),
    }


def _altered(evidence: Evidence) -> Iterator[Corruption]:
    workload = evidence.record.spec.workload
    for at, (record, n) in enumerate(zip(evidence.log, evidence.numbers, strict=True)):
        if not record.crc_ok:
            yield Corruption(Wrong.CRC, *place(record), n)
        if record.control:
            continue
        if n is None:
            if evidence.identities[at] is None:
                found = (record.value or "")[:SHOWN]
                yield Corruption(Wrong.VALUE, *place(record), found=found)
            continue
        if record.key != (key := key_of(workload, n)):
            yield Corruption(Wrong.KEY, *place(record), n, key, record.key)
        if (sizes := _sizes(workload, record, n, evidence)) is not None:
            yield Corruption(Wrong.SIZE, *place(record), n, *sizes)
        if record.headers:
            found = str(record.headers)
            yield Corruption(Wrong.HEADERS, *place(record), n, "0", found)


def _sizes(workload: Workload, record: LogRecord, n: int, evidence: Evidence) -> tuple[str, str] | None:
    """Return the size that a value should have and the one that it has, if they differ."""
    found = len((record.value or "").encode()) if record.value_bytes is None else record.value_bytes
    if workload.load is None and found == workload.value_bytes:
        return None
    wanted = len(value_of(workload, evidence.record.run_id, evidence.record.topic, n).encode())
    return None if found == wanted else (str(wanted), str(found))


def _misplaced(evidence: Evidence) -> Iterator[Corruption]:
    """Yield acknowledgements of a place where the record is not, if it is elsewhere (otherwise it is lost)."""
    found = evidence.copies
    for n, send in acknowledged(evidence).items():
        copies = found.get(n)
        if not copies or (send.offset == copies[0].offset and send.partition == copies[0].partition):
            continue
        if not _is_at_one(send, copies):
            where = ", ".join(
                f"{partition}/{offset}" for partition, offset in sorted({place(copy) for copy in copies})
            )
            at = (send.partition, send.offset)
            yield Corruption(Wrong.ELSEWHERE, *at, n, where, "{}/{}".format(*at))


def _is_at_one(send: Operation, copies: Sequence[LogRecord]) -> bool:
    """True if the place that the client reported (-1: unknown) agrees with that of one of the copies."""
    partition, offset = send.partition, send.offset
    return any(partition in (-1, copy.partition) and offset in (-1, copy.offset) for copy in copies)


def _shared_places(evidence: Evidence) -> Iterator[Corruption]:
    """Yield acknowledgements of a place that was already acknowledged for an earlier record."""
    acked = acknowledged(evidence)
    places = [(send.partition, send.offset) for send in acked.values()]
    if len(set(places)) == len(places):
        return
    taken: dict[tuple[int, int], int] = {}
    for n, at in zip(acked, places, strict=True):
        if min(at) >= 0 and taken.setdefault(at, n) != n:
            yield Corruption(Wrong.SHARED, *at, n, None, f"record {taken[at]}")
