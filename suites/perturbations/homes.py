"""Where the records of a key go: a client that changes its choice in the middle of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import LogRecord, ProducePart
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.perturbations.edits import with_parts
from suites.perturbations.exchanges import asked, exchanges, layout, settled
from suites.perturbations.perturbation import channels
from suites.perturbations.relaying import relaid

Bytes = tuple[int, int | None]
"""Partition and checksum of a batch."""

#: The least number of batches before the change, and after it.
ENOUGH = 6


def _turns(evidence: Evidence) -> list[int]:
    """Return times from which every batch was sent once and acknowledged, if there is one broker."""
    keyed = evidence.record.spec.workload.keys > 0
    brokers = {frame.broker for frame in evidence.frames if frame.produce}
    if not keyed or len(layout(evidence)) < 2 or len(brokers) != 1:
        return []
    clear = {each.exchange for each in settled(evidence).values()}
    made = exchanges(evidence)
    unclear_ns = max((evidence.frames[each.request].t_ns for each in made if each not in clear), default=0)
    moments = sorted({evidence.frames[each.request].t_ns for each in clear})
    return [moment for moment in moments[ENOUGH:-ENOUGH] if moment > unclear_ns]


def _rotated(evidence: Evidence, turn_ns: int) -> Evidence:
    """From ``turn_ns`` on, send everything for a partition to the next one instead."""
    partitions = sorted(layout(evidence))
    following = dict(zip(partitions, [*partitions[1:], partitions[0]], strict=True))
    late = {
        (asked(evidence, each).partition, asked(evidence, each).crc)
        for each in exchanges(evidence)
        if evidence.frames[each.request].t_ns >= turn_ns
    }
    moved = relaid(evidence, _turned(evidence, following, late))
    parts: dict[tuple[int, int], ProducePart | None] = {}
    for each in exchanges(evidence):
        part = asked(evidence, each)
        if (part.partition, part.crc) not in late:
            continue
        other = following[part.partition]
        parts[each.request, each.part] = changed(asked(moved, each), partition=other)
        if each.answer is not None and each.answer_part is not None:
            told = moved.frames[each.answer].produce[each.answer_part]
            parts[each.answer, each.answer_part] = changed(told, partition=other)
    return with_parts(moved, parts)


def _turned(
    evidence: Evidence, following: Mapping[int, int], late: AbstractSet[Bytes]
) -> dict[int, list[tuple[LogRecord, ...]]]:
    """Return each partition's early batches, then the late ones of the partition before it."""
    found: dict[int, list[tuple[LogRecord, ...]]] = {partition: [] for partition in following}
    for turned in (False, True):
        for partition, batches in layout(evidence).items():
            for records in batches:
                if ((partition, records[0].batch_crc) in late) is turned:
                    found[following[partition] if turned else partition].append(records)
    return found


PERTURBATIONS = (
    Perturbation(
        "keys-moved",
        channels("frames", "log", "history"),
        "from some time on, sends the records of every key to another partition",
        ("key-moved", "record-moved"),
        _turns,
        _rotated,
        Verdict.DIFFERS,
    ),
)
