"""# not-as-configured

## What it does

Compares Produce requests, batches and results with the settings that the client says it applied: acks, the
codec, the time of records, and an offset for each acknowledged record.

## Why it is bad

acks decides what an acknowledgement is worth; that it was not applied shows only when a broker dies. Records
with wrong timestamps are deleted too early or too late. Without its offset an application cannot find a
record again.

## How it is judged per guarantee

- **all**: a value of acks other than the one set is forbidden. A different codec, timestamps outside the
  trial, and an acknowledgement without an offset violate a SHOULD.

## What it needs

The witness's frames, the history and the log. Settings that the client could not be given are not judged, and
neither is the codec of a batch that does not state one. An uncompressed batch is a difference too, unless its content
is unknown or compression would save less than a tenth of it and 32 bytes: librdkafka compresses such a batch and sends
it as it was. Timestamps are judged by the client's
own wall clock, from its first event to its last, with 5 s of slack each way; if its events lack it,
timestamps are not judged. Offsets are judged if acks asks for an answer. A record that a broker took for a
duplicate (DUPLICATE_SEQUENCE_NUMBER) may have no offset, so the records of such a batch are not judged (or
those of its partition, if the log does not have its bytes). An adapter that declares the feature `unplaced`
may report neither partition nor offset for some records, but no adapter may omit them for all. A record that
is not in the log at all has no offset; `lost` reports it.

## References

PRD-SND-16, PRD-ISP-09, PRD-SND-01.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace as changed

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, Operation, view
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.excuses import grants
from suites.analysis.findings import of_send
from suites.analysis.promises import DURABLE
from suites.checks.wire import uncompressed
from suites.checks.wire.on_the_way import wall_offsets_ns
from suites.checks.wire.record_timestamps import MISDATED, misdated_batches
from suites.checks.wire.sent import Sent, sent, stored

OTHER_ACKS = Anomaly("acks-not-applied", "{count:batch part} sent with acks {found}, where {wanted} was set")
OTHER_CODEC = Anomaly(
    "codec-not-applied",
    "{count:batch part} with the codec {found}, where {wanted} was set",
    Level.SHOULD,
)
OTHER_TIME = Anomaly(
    "timestamps-outside",
    "{count:batch part} with a timestamp outside of the trial",
    Level.SHOULD,
)
NO_OFFSET = Anomaly("offset-missing", "{count:record} acknowledged without an offset", Level.SHOULD)
ACKS, CODEC = "acks", "compression.type"
ALL = ("all", "-1")
WANTED_ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}
#: The feature of a client that cannot always tell its application where a record went.
UNPLACED = "unplaced"
DUPLICATE = BY_NAME["DUPLICATE_SEQUENCE_NUMBER"].code
SLACK_MS = 5_000


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding per setting."""
    return [*_acks(evidence), *_codec(evidence), *_times(evidence), *_offsets(evidence)]


def _acks(evidence: Evidence) -> Iterator[Finding]:
    wanted = WANTED_ACKS.get(str(_setting(evidence, ACKS)))
    other = [each for each in _with_acks(evidence) if each.frame.acks != wanted]
    if wanted is not None and other:
        found = tuple(sorted({str(each.frame.acks) for each in other}))
        yield OTHER_ACKS.found(
            len(other), map(_sample, other), requirement="PRD-SND-16", found=found, wanted=str(wanted)
        )


def _codec(evidence: Evidence) -> Iterator[Finding]:
    wanted = _setting(evidence, CODEC)
    other = [each for each in sent(evidence) if each.part.compression not in (None, wanted)]
    other = [each for each in other if not uncompressed.is_excused(evidence, each.part, str(wanted))]
    if wanted is not None and other:
        found = tuple(sorted({str(each.part.compression) for each in other}))
        yield OTHER_CODEC.found(
            len(other), map(_sample, other), requirement="PRD-SND-16", found=found, wanted=str(wanted)
        )


def _times(evidence: Evidence) -> Iterator[Finding]:
    if (span := _span_ms(evidence)) is None:
        return
    begin_ms, end_ms = span
    outside = [
        each
        for each in _dated(evidence)
        if not all(
            begin_ms <= ms <= end_ms
            for ms in (each.part.first_timestamp_ms, each.part.max_timestamp_ms)
            if ms is not None
        )
    ]
    if outside:
        found = OTHER_TIME.found(len(outside), map(_sample, outside), requirement="PRD-ISP-09")
        yield changed(found, explains=_explained(evidence, outside))


@grants("follows-from-header")
def _explained(evidence: Evidence, outside: list[Sent]) -> tuple[str, ...]:
    """Return the code for misdated records if all of them are in these batches, since they then follow from it."""
    batches = {(each.part.partition, each.part.crc) for each in outside}
    return (MISDATED.code,) if all(place in batches for place in misdated_batches(evidence)) else ()


def _offsets(evidence: Evidence) -> Iterator[Finding]:
    if not _asks_for_offsets(evidence):
        return
    acked = evidence.acknowledged.values()
    without = [send for send in acked if send.offset < 0]
    if len(without) < len(acked) and _may_be_unplaced(evidence):
        without = [send for send in without if send.partition >= 0]
    without = [send for send in without if send.n not in _repetitions(evidence)]
    if without := [send for send in without if not _is_lost(evidence, send)]:
        yield NO_OFFSET.found(len(without), map(of_send, without), requirement="PRD-SND-01")


@grants("lost-has-no-offset")
def _is_lost(evidence: Evidence, send: Operation) -> bool:
    """True for a record that ``lost`` reports. A record that is not in the log has no offset."""
    is_judged = evidence.record.spec.guarantee in DURABLE and str(_setting(evidence, ACKS)) in ALL
    return is_judged and send.n not in evidence.copies


@grants("adapter-tells-no-place")
def _may_be_unplaced(evidence: Evidence) -> bool:
    """True if the client's adapter declares that it cannot always tell where a record went."""
    features = evidence.record.client.get("features")
    return isinstance(features, list) and UNPLACED in features


@view
@grants("repetition-without-offset")
def _repetitions(evidence: Evidence) -> frozenset[int]:
    """Return the records of the batches that a broker took for duplicates.

    If a batch is not found in the log, return all records of its partition.
    """
    repeated = [each.part for each in sent(evidence) if each.error_code == DUPLICATE]
    found: set[int] = set()
    for part in repeated:
        own = {n for batch in stored(evidence).get((part.partition, part.crc), ()) for n in batch.numbers}
        found |= {n for n in own or _in_partition(evidence, part.partition) if n is not None}
    return frozenset(found)


def _in_partition(evidence: Evidence, partition: int) -> set[int]:
    copies = evidence.copies
    stored_there = {n for n in copies if any(copy.partition == partition for copy in copies[n])}
    return stored_there | {n for n, send in evidence.operations.items() if send.partition == partition}


@grants("setting-not-given")
def _setting(evidence: Evidence, name: str) -> object:
    """Return the setting as the client says it applied it, or None if it was not given."""
    record = evidence.record
    return None if name in record.not_set else record.spec.config.get(name)


@grants("slack-of-timestamps")
def _span_ms(evidence: Evidence) -> tuple[int, int] | None:
    """Return the wall-clock interval of the client's life, with slack, or None if its events lack wall-clock times."""
    least_ns, most_ns = wall_offsets_ns(evidence)
    if most_ns == 0:
        return None
    moments_ns = [event.mono_ns for event in evidence.history]
    begin_ms, end_ms = (min(moments_ns) + least_ns) // NS_PER_MS, (max(moments_ns) + most_ns) // NS_PER_MS
    return begin_ms - SLACK_MS, end_ms + SLACK_MS


def _with_acks(evidence: Evidence) -> list[Sent]:
    return [each for each in sent(evidence) if each.frame.acks is not None]


@view
def _dated(evidence: Evidence) -> list[Sent]:
    return [each for each in sent(evidence) if each.part.max_timestamp_ms is not None]


def _asks_for_offsets(evidence: Evidence) -> bool:
    return str(_setting(evidence, ACKS)) in (*ALL, "1")


def _sample(each: Sent) -> Sample:
    return {
        "partition": each.part.partition,
        "conn": each.frame.conn,
        "correlation_id": each.frame.correlation_id,
        "acks": each.frame.acks,
        "compression": each.part.compression,
        "first_timestamp_ms": each.part.first_timestamp_ms,
        "max_timestamp_ms": each.part.max_timestamp_ms,
        "at_ns": each.asked_ns,
    }


CHECK = Check(
    name="not-as-configured",
    summary="Requests, batches and results that do not match the applied settings.",
    requirements=(
        Requirement("PRD-SND-16", Level.MUST, arises=lambda evidence: len(_with_acks(evidence))),
        Requirement(
            "PRD-ISP-09",
            Level.SHOULD,
            arises=lambda evidence: len(_dated(evidence)) if _span_ms(evidence) else 0,
        ),
        Requirement(
            "PRD-SND-01",
            Level.MUST,
            arises=lambda evidence: len(evidence.acknowledged) if _asks_for_offsets(evidence) else 0,
        ),
    ),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"frames", "history", "log"}),
    killed_mutant="acks_of_the_leader_alone",
    run=run,
)
