"""A transaction coordinator and the log of a topic, written only from the protocol's rules (KIP-98, KIP-360, KIP-890).

It does not simulate a broker. It keeps what a transactional producer has told, ends transactions, and lists in
``breaches`` what the producer must never do: produce to a partition that is not in its transaction, or without one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.wire.records import read_batches
from suites.properties.state_transitions.strict_broker import NONE, Partition, batches_of

INVALID_EPOCH, INVALID_STATE, FENCED = 47, 48, 90
LAST_EPOCH = 2**15 - 1
EMPTY, ONGOING, COMMITTED, ABORTED = "empty", "ongoing", "committed", "aborted"
GROUP = ("group", -1)

Answer = tuple[int, int, int]
"""An error code, and the producer id and epoch that the coordinator assigns, or -1."""


@dataclass(slots=True)
class StrictCoordinator:
    """One transactional id. ``is_v2`` is the version of the protocol that the cluster has finalized."""

    is_v2: bool
    producer_id: int = 7
    epoch: int = -1
    state: str = EMPTY
    partitions: set[tuple[str, int]] = field(default_factory=set)
    log: dict[int, Partition] = field(default_factory=dict)
    #: The values of the open transaction, and of those that have ended, in order.
    open: list[bytes] = field(default_factory=list)
    committed: list[list[bytes]] = field(default_factory=list)
    aborted: list[list[bytes]] = field(default_factory=list)
    #: The offsets of the open transaction, and those that are committed.
    pending_offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    members: list[tuple[int, str]] = field(default_factory=list)
    breaches: list[str] = field(default_factory=list)

    # identities

    def init(self, body: Any) -> Answer:
        """Assign the next epoch. It ends what is open, and a repeated request gets the same answer."""
        given = int(body.producer_id), int(body.producer_epoch)
        if given[0] >= 0 and given == (self.producer_id, self.epoch - 1) and self.state is EMPTY:
            return NONE, self.producer_id, self.epoch
        if given[0] >= 0 and given != (self.producer_id, self.epoch):
            return FENCED, -1, -1
        if self.state is ONGOING:
            self._end(commits=False)
        self._raise_epoch()
        self.state = EMPTY
        return NONE, self.producer_id, self.epoch

    def _raise_epoch(self) -> None:
        if self.epoch == LAST_EPOCH:
            self.producer_id, self.epoch = self.producer_id + 1, 0
        else:
            self.epoch += 1

    def take_over(self) -> None:
        """Another producer with the same transactional id initializes."""
        if self.state is ONGOING:
            self._end(commits=False)
        self._raise_epoch()
        self.state = EMPTY

    def _is_current(self, body: Any, prefix: str = "") -> bool:
        given = getattr(body, f"{prefix}producer_id"), getattr(body, f"{prefix}producer_epoch")
        return given == (self.producer_id, self.epoch)

    # what belongs to a transaction

    def add_partitions(self, body: Any) -> int:
        """Add partitions to the transaction, which may begin it."""
        if not self._is_current(body, "v3_and_below_"):
            return FENCED
        topics = body.v3_and_below_topics
        self._add({(topic.name, index) for topic in topics for index in topic.partitions})
        return NONE

    def add_offsets(self, body: Any) -> int:
        """Add the offsets of a group to the transaction, which may begin it."""
        if not self._is_current(body):
            return FENCED
        self._add({GROUP})
        return NONE

    def commit_offsets(self, body: Any) -> int:
        """Store offsets until the transaction ends."""
        if not self._is_current(body):
            return FENCED
        if self.is_v2:
            self._add({GROUP})
        elif GROUP not in self.partitions:
            self.breaches.append("offsets were sent before their group was added")
        self.members.append((getattr(body, "generation_id", -1), getattr(body, "member_id", "")))
        self.pending_offsets |= {
            (topic.name, part.partition_index): int(part.committed_offset)
            for topic in body.topics
            for part in topic.partitions
        }
        return NONE

    def produce(self, body: Any) -> list[tuple[str, int, int, int, int]]:
        """Store batches. Return (topic, partition, error code, base offset, log start) of each."""
        return [
            (topic, index, *self._append(topic, index, records), 0)
            for topic, index, records in batches_of(body)
        ]

    def _append(self, topic: str, index: int, records: bytes) -> tuple[int, int]:
        [batch] = read_batches(records)
        if not batch.header.is_transactional:
            self.breaches.append(f"a batch for partition {index} was not transactional")
        if (batch.header.producer_id, batch.header.producer_epoch) != (self.producer_id, self.epoch):
            return INVALID_EPOCH, -1
        if self.is_v2:
            self._add({(topic, index)})
        elif (topic, index) not in self.partitions:
            self.breaches.append(f"partition {index} was produced to before it was added")
            return INVALID_STATE, -1
        log = self.log.setdefault(index, Partition())
        before = len(log.values)
        code, offset = log.append(records)
        self.open += log.values[before:]
        return code, offset

    def _add(self, partitions: set[tuple[str, int]]) -> None:
        self.state = ONGOING
        self.partitions |= partitions

    # ends

    def end(self, body: Any) -> Answer:
        """End the transaction. A repeated request is answered as before, and any other one is refused."""
        done = COMMITTED if body.committed else ABORTED
        by_v2 = body.__version__ >= 5
        if by_v2 and (body.producer_id, body.producer_epoch) == (self.producer_id, self.epoch - 1):
            return (NONE, self.producer_id, self.epoch) if self.state is done else (FENCED, -1, -1)
        if not self._is_current(body):
            return FENCED, -1, -1
        if self.state is ONGOING:
            self._end(commits=body.committed)
        elif not (self.state is done and not by_v2) and not (by_v2 and done is ABORTED):
            return INVALID_STATE, -1, -1
        self.state = done
        if not by_v2:
            return NONE, -1, -1
        self._raise_epoch()
        return NONE, self.producer_id, self.epoch

    def _end(self, *, commits: bool) -> None:
        (self.committed if commits else self.aborted).append(self.open)
        if commits:
            self.offsets |= self.pending_offsets
        self.open, self.pending_offsets = [], {}
        self.partitions.clear()
