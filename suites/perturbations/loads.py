"""Records of loads with several producers, topics or sizes: in another topic, of another producer, of another size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence, view
from harness.model.load import topic_names
from harness.model.payload import decode, encode
from harness.model.rows import Frame, FrameKind, LogRecord, ProducePart
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import DURABLE
from suites.perturbations.perturbation import channels

#: A batch: topic, partition and base offset.
Home = tuple[str, int, int]
_ENOUGH_BYTES = 100


def _names(evidence: Evidence) -> tuple[str, ...]:
    return topic_names(evidence.record.spec.workload.shape, evidence.record.topic)


@view
def _last_batches(evidence: Evidence) -> list[Home]:
    """Return the last batch of each partition that was sent once, in a request for no other topic."""
    names = _names(evidence)
    if len(names) == 1:
        return []
    last = {(row.topic, row.partition): row for row in evidence.log if not row.control}
    alone = Counter(
        (part.topic, part.partition, part.crc)
        for frame in evidence.frames
        if frame.kind is FrameKind.REQUEST and len({part.topic for part in frame.produce}) == 1
        for part in frame.produce
    )
    return [
        (topic, partition, row.base_offset)
        for (topic, partition), row in sorted(last.items())
        if alone[topic, partition, row.batch_crc] == 1
    ]


def _in_other_topic(evidence: Evidence, home: Home) -> Evidence:
    """Move a batch to the end of the same partition of another topic, in the log and in its frames."""
    topic, partition, base = home
    names = _names(evidence)
    other = names[(names.index(topic) + 1) % len(names)]
    moved = [row for row in evidence.log if (row.topic, row.partition, row.base_offset) == home]
    end = sum(row.topic == other and row.partition == partition for row in evidence.log)
    crc = moved[0].batch_crc
    [asked] = [
        (frame.conn, frame.correlation_id)
        for frame in evidence.frames
        if frame.kind is FrameKind.REQUEST
        and (topic, partition, crc) in [(part.topic, part.partition, part.crc) for part in frame.produce]
    ]

    def there(part: ProducePart) -> ProducePart:
        if (part.topic, part.partition) != (topic, partition):
            return part
        stored = part.base_offset is not None and part.base_offset >= 0
        return changed(part, topic=other, base_offset=end if stored else part.base_offset)

    def of_frame(frame: Frame) -> Frame:
        if (frame.conn, frame.correlation_id) != asked or not frame.produce:
            return frame
        return changed(frame, produce=tuple(there(part) for part in frame.produce))

    new = [changed(row, topic=other, base_offset=end, offset=end + row.offset - base) for row in moved]
    left = [row for row in evidence.log if (row.topic, row.partition, row.base_offset) != home]
    return replace(evidence, frames=tuple(map(of_frame, evidence.frames)), log=(*left, *new))


def _intact(evidence: Evidence) -> Sequence[int]:
    """Return the places in the log of intact values that are longer than any identity."""
    return [
        at
        for at, row in enumerate(evidence.log)
        if evidence.identities[at] is not None and len(row.value or "") > _ENOUGH_BYTES
    ]


def _of_several(evidence: Evidence) -> Sequence[int]:
    load = evidence.record.spec.workload.shape
    known = [at for at, identity in enumerate(evidence.identities) if identity is not None]
    return known if load.producers > 1 else ()


def _of_another_producer(evidence: Evidence, at: int) -> Evidence:
    row, names = evidence.log[at], evidence.record.spec.workload.shape.names
    identity = decode(row.value)
    assert identity is not None
    other = names[(names.index(identity.producer) + 1) % len(names)]
    value = encode(identity._replace(producer=other), len(row.value or ""))
    return _with_row(evidence, at, changed(row, value=value))


def _of_another_size(evidence: Evidence, at: int) -> Evidence:
    row = evidence.log[at]
    identity = decode(row.value)
    assert identity is not None
    return _with_row(evidence, at, changed(row, value=encode(identity, 0), value_bytes=None))


def _with_row(evidence: Evidence, at: int, row: LogRecord) -> Evidence:
    return replace(evidence, log=(*evidence.log[:at], row, *evidence.log[at + 1 :]))


PERTURBATIONS = (
    Perturbation(
        "in-another-topic",
        channels("frames", "log"),
        "sends a batch to another topic of its load",
        ("lost", "unexpected-record"),
        _last_batches,
        _in_other_topic,
        guarantees=DURABLE,
    ),
    Perturbation(
        "of-another-producer",
        channels("frames", "log"),
        "sends a record of another producer instead of its own",
        ("lost", "unexpected-record"),
        _of_several,
        _of_another_producer,
        guarantees=DURABLE,
    ),
    Perturbation(
        "of-another-size",
        channels("frames", "log"),
        "sends a value without its body",
        ("corrupted",),
        _intact,
        _of_another_size,
    ),
)
