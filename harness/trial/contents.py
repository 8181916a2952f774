"""What the harness writes for a command, and the state of its transactional producers. Pure.

A command becomes a few acts, in order: batches are appended, and transactions end. Records *aside* do not belong
to the load, such as those of aborted transactions. Their identity names :data:`ASIDE`.

A live trial asks a coordinator for a producer id and adds partitions to transactions (KIP-98). In a simulated trial
the batches and the end markers are stored as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.model.payload import Identity, encode
from harness.model.written import Written
from harness.wire.records import BatchBuilder, Codec, increment_sequence

#: The producer in the identity of records that do not belong to the load.
ASIDE = "aside"
ASIDE_BYTES = 120
#: The transactional producers: of the load, of what is aborted beside it, and of transactions without records.
WRITERS = LOAD, ABORTED, EMPTY = ("load", "aborted", "empty")

Records = tuple[tuple[str | None, str], ...]
"""Keys and values, in order."""


class Put(NamedTuple):
    """Append one batch to each of these partitions. ``writer`` names a transactional producer; empty means none."""

    records: Mapping[int, Records]
    codec: Codec = Codec.NONE
    writer: str = ""
    is_load: bool = False


class End(NamedTuple):
    """End the transaction of a producer, in all partitions that it wrote to, and in ``also``."""

    writer: str
    commits: bool
    also: tuple[int, ...] = ()


Act = Put | End


def acts(command: Written, group: str, partitions: int) -> Iterator[Act]:
    """Yield what is done for a command, in order.

    A transaction that is aborted surrounds the load's, so that its records lie between others, before both markers.
    """
    load = {
        partition: tuple((command.keys[index], command.values[index]) for index in indexes)
        for partition, indexes in by_partition(command).items()
    }
    codec = Codec[command.codec.upper()]
    if not command.transactional:
        yield Put(load, codec, is_load=True)
        return
    everywhere = tuple(range(partitions))
    half = command.aborted // 2
    for count, follows in ((half, Put(load, codec, LOAD, is_load=True)), (command.aborted - half, None)):
        if count:
            first = 2 * command.first + (0 if follows else 1)
            yield Put(aside(group, everywhere, count, first), codec, ABORTED)
        if follows:
            yield follows
    yield End(LOAD, commits=True)
    if command.aborted:
        yield End(ABORTED, commits=False)
    if command.empty:
        yield End(EMPTY, commits=True, also=everywhere)


def aside(group: str, partitions: tuple[int, ...], count: int, turn: int) -> dict[int, Records]:
    """Return ``count`` records aside for each partition. Their numbers differ for each ``turn``."""
    return {
        partition: tuple(
            (None, encode(Identity(group, group, ASIDE, (turn * 64 + partition) * 1_000 + n), ASIDE_BYTES))
            for n in range(count)
        )
        for partition in partitions
    }


def by_partition(command: Written) -> dict[int, list[int]]:
    """Return partition -> the indexes of its records in the command, in order."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for index, partition in enumerate(command.partitions):
        found[partition].append(index)
    return dict(found)


@dataclass
class Writer:
    """A transactional producer: its identity, its sequences, and the records of its transaction that is open."""

    producer_id: int
    producer_epoch: int
    sequences: dict[int, int] = field(default_factory=dict)
    joined: set[int] = field(default_factory=set)
    places: list[tuple[int, int]] = field(default_factory=list)
    began_ns: int = -1

    def batch(self, partition: int, records: Records, codec: Codec, timestamp_ms: int) -> bytes:
        """Return the next batch for a partition. Its sequence is used up."""
        first = self.sequences.get(partition, 0)
        self.sequences[partition] = increment_sequence(first, len(records))
        return built(records, codec, timestamp_ms, self, first)

    def wrote(self, partition: int, base_offset: int, count: int, began_ns: int) -> None:
        """Note that a batch is in the log."""
        self.joined.add(partition)
        self.places += ((partition, base_offset + step) for step in range(count))
        self.began_ns = began_ns if self.began_ns < 0 else self.began_ns

    def ended(self) -> None:
        """Forget the transaction, which has ended."""
        self.joined, self.places, self.began_ns = set(), [], -1


def built(
    records: Records, codec: Codec, timestamp_ms: int, writer: Writer | None = None, sequence: int = 0
) -> bytes:
    """Return one batch, of a transaction of ``writer`` if there is one."""
    builder = BatchBuilder(codec)
    for key, value in records:
        builder.append(timestamp_ms, None if key is None else key.encode(), value.encode())
    if writer is None:
        return builder.build()
    return builder.build(writer.producer_id, writer.producer_epoch, sequence, transactional=True)
