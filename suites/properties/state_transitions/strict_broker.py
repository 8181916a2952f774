"""A broker that keeps partitions and checks sequence numbers, written only from the protocol's rules.

It remembers the epoch and the last five batches of each producer and partition. It does not simulate a
broker. It only judges what an idempotent producer sends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kio.schema.errors import ErrorCode

from harness.wire.apis import Api
from harness.wire.makers import make, nested
from harness.wire.messages import message_class
from harness.wire.records import read_batches
from suites.properties.state_transitions import wire

NONE, OUT_OF_ORDER, INVALID_EPOCH, UNKNOWN_PRODUCER = 0, 45, 47, 59
REMEMBERED, ROUND = 5, 2**31


@dataclass(slots=True)
class KnownProducer:
    """A producer's history in one partition: the epoch, and (base, last, offset) of its newest batches."""

    epoch: int
    batches: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))


@dataclass(slots=True)
class Partition:
    """The stored records of a partition, and what it knows of their producers."""

    values: list[bytes] = field(default_factory=list)
    producers: dict[int, KnownProducer] = field(default_factory=dict)

    def append(self, records: bytes) -> tuple[int, int]:
        """Append a batch. Return (error code, base offset), which also covers known and refused batches."""
        [batch] = read_batches(records)
        head = batch.header
        base, last = head.base_sequence, (head.base_sequence + len(batch.records) - 1) % ROUND
        known = self.producers.get(head.producer_id)
        if known is not None:
            if head.producer_epoch < known.epoch:
                return INVALID_EPOCH, -1
            if head.producer_epoch == known.epoch:
                for seen_base, seen_last, offset in known.batches:
                    if (seen_base, seen_last) == (base, last):
                        return NONE, offset
            newest = known.batches[-1][1]
            due = 0 if head.producer_epoch > known.epoch else (newest + 1) % ROUND
            if base != due:
                return OUT_OF_ORDER, -1
        if known is None or head.producer_epoch > known.epoch:
            known = self.producers[head.producer_id] = KnownProducer(head.producer_epoch)
        offset = len(self.values)
        self.values += [bytes(record.value or b"") for record in batch.records]
        known.batches.append((base, last, offset))
        return NONE, offset


def batches_of(body: Any) -> Iterator[tuple[str, int, bytes]]:
    """Yield (topic, partition, records) of a Produce request by name."""
    for topic in body.topic_data:
        for partition in topic.partition_data:
            yield topic.name, partition.index, bytes(partition.records)


def produce_response(version: int, results: list[tuple[str, int, int, int, int]]) -> Any:
    """Return a Produce response of (topic, partition, error code, base offset, log start offset)."""
    message = message_class(Api.PRODUCE, version, "response")
    topic_type, partition_type = (
        nested(message, f"{name}ProduceResponse") for name in ("Topic", "Partition")
    )
    by_topic: dict[str, list[Any]] = {}
    for topic, index, code, offset, log_start in results:
        made = make(
            partition_type,
            index=index,
            error_code=ErrorCode(code),
            base_offset=offset,
            log_start_offset=log_start,
            record_errors=(),
        )
        by_topic.setdefault(topic, []).append(made)
    responses = tuple(
        make(topic_type, name=topic, partition_responses=tuple(made)) for topic, made in by_topic.items()
    )
    return wire.response(Api.PRODUCE, version, responses=responses)
