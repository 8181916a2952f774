"""Writing a command's records over INTERNAL: one batch per partition."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict

from harness.model.written import Written
from harness.plugins.cluster import Contents
from harness.wire.records import BatchBuilder


async def append_all(contents: Contents, command: Written) -> tuple[list[int], list[int]]:
    """Append every record to its partition, in order. Return the partition and the offset of each.

    Raises KafkaTrialError if a partition cannot be written.
    """
    places: defaultdict[int, list[int]] = defaultdict(list)
    for index, partition in enumerate(command.partitions):
        places[partition].append(index)

    def batch(indexes: list[int]) -> bytes:
        builder, now_ms = BatchBuilder(), time.time_ns() // 1_000_000
        for index in indexes:
            key = command.keys[index]
            builder.append(now_ms, None if key is None else key.encode(), command.values[index].encode())
        return builder.build()

    async def append(partition: int, indexes: list[int]) -> tuple[list[int], int]:
        return indexes, await contents.append(command.topic, partition, lambda: batch(indexes))

    offsets = [0] * command.count
    for indexes, base in await asyncio.gather(*(append(*each) for each in places.items())):
        for step, index in enumerate(indexes):
            offsets[index] = base + step
    return list(command.partitions), offsets
