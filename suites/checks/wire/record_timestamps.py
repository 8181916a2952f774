"""# record-timestamps

## What it does

Reads the timestamp of each record in the log, and compares it with the time between the record's call and the
last request with its batch.

## Why it is bad

Retention, and every search by time, use the timestamp of the single record. The header of a batch contains
only the first and the largest timestamp, so a wrong record in the middle is visible only in the log.

## How it is judged per guarantee

- **all**: SHOULD. A record without a timestamp of its own gets the client's time.

## What it needs

The log, the history and the witness's frames. Topics have CreateTime, so the timestamp is the client's. A
client may date a record when it is handed over, when its batch begins, or when it encodes the batch, also for
another attempt. The bounds are the record's call and the time at which the last request with the stored
batch, identified by its CRC, arrived at the witness. If no such request was seen, the upper bound is the
client's last event. Both bounds are taken on the client's own wall clock, with 5 s of slack each way; if its
events lack it, nothing is judged. In two thousand trials of twelve clients, no record was dated more than 1.3
ms outside.

## References

PRD-ISP-09.
"""

from __future__ import annotations

from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding, LogRecord
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from suites.analysis.excuses import grants
from suites.checks.wire.on_the_way import wall_offsets_ns
from suites.checks.wire.sent import sent

MISDATED = Anomaly(
    "record-misdated",
    "{count:record} dated before the call or after the last attempt, by up to {most_ms} ms",
    Level.SHOULD,
)
SLACK_MS = 5_000


class Dated(NamedTuple):
    """A record of the log and the bounds of its timestamp, in milliseconds of Unix time, without slack."""

    record: LogRecord
    n: int
    least_ms: int
    most_ms: int

    @property
    def outside_ms(self) -> int:
        """How far the timestamp is outside its bounds. 0 or less if it is within them."""
        at_ms = self.record.timestamp_ms
        return max(self.least_ms - at_ms, at_ms - self.most_ms)


@view
@grants("dated-by-a-later-attempt")
def dated(evidence: Evidence) -> list[Dated]:
    """Return this trial's own records in the log. Empty if the client reports no wall clock."""
    least_ns, most_ns = wall_offsets_ns(evidence)
    if most_ns == 0:
        return []
    asked_ns: dict[tuple[int, int | None], int] = {}
    for each in sent(evidence):
        batch = (each.part.partition, each.part.crc)
        asked_ns[batch] = max(each.asked_ns, asked_ns.get(batch, 0))
    end_ns = max(event.mono_ns for event in evidence.history)
    found = []
    for record, n in zip(evidence.log, evidence.numbers, strict=True):
        send = None if n is None or record.control else evidence.operations.get(n)
        if send is not None:
            until_ns = asked_ns.get((record.partition, record.batch_crc), end_ns)
            begin_ms = (send.invoke_ns + least_ns) // NS_PER_MS
            found.append(Dated(record, send.n, begin_ms, -(-(until_ns + most_ns) // NS_PER_MS)))
    return found


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts records."""
    outside = [each for each in dated(evidence) if not _may_be_dated_so(each)]
    if not outside:
        return []
    most_ms = max(each.outside_ms for each in outside)
    return [MISDATED.found(len(outside), map(_sample, outside), most_ms=most_ms)]


def misdated_batches(evidence: Evidence) -> set[tuple[int, int | None]]:
    """Return (partition, CRC) of the batches with such a record."""
    outside = (each.record for each in dated(evidence) if not _may_be_dated_so(each))
    return {(record.partition, record.batch_crc) for record in outside}


@grants("slack-of-timestamps")
def _may_be_dated_so(each: Dated) -> bool:
    return each.outside_ms <= SLACK_MS


def _sample(each: Dated) -> Sample:
    return {
        "n": each.n,
        "partition": each.record.partition,
        "offset": each.record.offset,
        "timestamp_ms": each.record.timestamp_ms,
        "least_ms": each.least_ms,
        "most_ms": each.most_ms,
    }


CHECK = Check(
    name="record-timestamps",
    summary="Records in the log with a timestamp at which the client cannot have dated them.",
    requirements=(Requirement("PRD-ISP-09", Level.SHOULD, arises=lambda evidence: len(dated(evidence))),),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"log", "history", "frames"}),
    killed_mutant="misdates_on_retry",
    run=run,
)
