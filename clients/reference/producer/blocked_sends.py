"""Sends that wait for a topic's metadata or for memory. A wait is a value here, never a sleep.

One limit, max.block.ms, covers both waits (MET-14). A driver with threads blocks the caller until the send is settled.
A driver in virtual time checks the delivery when it likes. Sends are processed in the order of their arrival.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.errors import BufferExhaustedError, SendError, TimeoutError
from clients.reference.metadata.metadata import Metadata, TopicMetadata
from clients.reference.producer.batch_errors import topic_refused
from clients.reference.producer.buffer_pool import BufferPool, Grant, Waiter
from clients.reference.producer.send_handle import Outgoing
from clients.reference.telemetry.trace import SendBlocked, SendUnblocked, Trace


@dataclass(slots=True, eq=False)
class BlockedSend:
    """A record without metadata or memory. ``waiter`` is its place in the queue for memory."""

    outgoing: Outgoing
    expires_ms: int
    seen_update: int
    number: int = 0
    waiting_for: str = ""
    since_ms: int = 0
    waiter: Waiter | None = None
    grant: Grant | None = None

    def granted(self, grant: Grant) -> None:
        """Store the granted memory. The record is appended in the next round, not within the pool's call."""
        self.waiter, self.grant = None, grant


class BlockedSends:
    """The blocked sends. ``append`` adds a record to a batch if possible, with granted memory. ``fail`` ends it."""

    def __init__(
        self,
        config: ProducerConfig,
        metadata: Metadata,
        pool: BufferPool,
        trace: Trace,
        append: Callable[[Outgoing, TopicMetadata, int, Grant | None], bool],
        fail: Callable[[Outgoing, SendError], None],
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._pool = pool
        self._trace = trace
        self._append = append
        self._fail = fail
        self._blocked: list[BlockedSend] = []
        self._count = 0

    def add(self, outgoing: Outgoing, memory_bytes: int, now_ms: int) -> None:
        """Block a record without metadata or memory. ``memory_bytes`` is the memory that it needs."""
        self._count += 1
        expires_ms = now_ms + self._config.max_block_ms
        blocked = BlockedSend(outgoing, expires_ms, self._metadata.update_version, self._count)
        self._blocked.append(blocked)
        if topic_with_partition(self._metadata, outgoing):
            self._wait_for_memory(blocked, memory_bytes, now_ms)
        else:
            self._metadata.request_update_for(outgoing.topic)
            self._wait_for("metadata", blocked, now_ms)

    def progress(self, memory_for: Callable[[int], int], now_ms: int) -> None:
        """Advance each send as far as possible, in the order of their arrival."""
        if not self._blocked:
            return
        fatal = self._metadata.take_fatal_error()
        waiting, self._blocked = self._blocked, []
        for blocked in waiting:
            if fatal and blocked.waiting_for == "metadata":  # MET-16
                self._end(blocked, fatal, now_ms)
            elif not self._settle(blocked, memory_for, now_ms):
                self._blocked.append(blocked)

    def next_ms(self, now_ms: int) -> int | None:
        """Return when to check again: now if memory was granted, or else at the first timeout."""
        if not self._blocked:
            return None
        return min(now_ms if each.grant else each.expires_ms for each in self._blocked)

    @property
    def count(self) -> int:
        """The number of blocked sends, for either reason."""
        return len(self._blocked)

    def give_up(self, error: Callable[[], SendError], now_ms: int) -> None:
        """Fail all blocked sends."""
        for blocked in self._blocked:
            self._end(blocked, error(), now_ms)
        self._blocked = []

    def _settle(self, blocked: BlockedSend, memory_for: Callable[[int], int], now_ms: int) -> bool:
        """Try to end the wait. Return True if it ended, with or without success."""
        outgoing = blocked.outgoing
        if blocked.waiter is None:
            refusal = self._metadata.topic_errors.get(outgoing.topic)
            if refusal and not refusal.retriable:  # MET-13: waiting would not help
                self._end(blocked, topic_refused(refusal, outgoing.topic), now_ms)
                return True
            known = topic_with_partition(self._metadata, outgoing)
            if known and self._append(outgoing, known, now_ms, blocked.grant):
                self._waited(blocked, now_ms)
                return True
            if outgoing.delivery.failure:
                self._take_back(blocked)
                self._waited(blocked, now_ms, outgoing.delivery.failure.name)
                return True
            if known:
                self._wait_for_memory(blocked, memory_for(outgoing.size_bytes), now_ms)
            else:
                self._ask_again(blocked, now_ms)
        if now_ms < blocked.expires_ms:
            return False
        self._end(blocked, self._timeout(blocked), now_ms)
        return True

    def _wait_for_memory(self, blocked: BlockedSend, memory_bytes: int, now_ms: int) -> None:
        blocked.waiter = self._pool.wait(memory_bytes, blocked.granted)
        self._wait_for("memory", blocked, now_ms)

    def _wait_for(self, what: str, blocked: BlockedSend, now_ms: int) -> None:
        self._waited(blocked, now_ms)
        blocked.waiting_for, blocked.since_ms = what, now_ms
        topic = blocked.outgoing.topic
        self._trace(SendBlocked(at_ms=now_ms, topic=topic, waiting_for=what, send=blocked.number))

    def _waited(self, blocked: BlockedSend, now_ms: int, error: str = "") -> None:
        if blocked.waiting_for:
            self._trace(
                SendUnblocked(
                    at_ms=now_ms,
                    topic=blocked.outgoing.topic,
                    waited_for=blocked.waiting_for,
                    waited_ms=now_ms - blocked.since_ms,
                    send=blocked.number,
                    error=error,
                )
            )
            blocked.waiting_for = ""

    def _ask_again(self, blocked: BlockedSend, now_ms: int) -> None:
        """Request metadata again, after its backoff, if the last response lacked the partition (MET-11, -12)."""
        if blocked.seen_update != self._metadata.update_version:
            blocked.seen_update = self._metadata.update_version
            self._metadata.add(blocked.outgoing.topic, now_ms)
            self._metadata.request_update_for(blocked.outgoing.topic)

    def _timeout(self, blocked: BlockedSend) -> SendError:
        limit = f"within max.block.ms ({self._config.max_block_ms} ms)"
        outgoing = blocked.outgoing
        if blocked.waiter:
            return BufferExhaustedError(
                "buffer-exhausted",
                "no memory for a record of {size_bytes} bytes {limit}",
                size_bytes=outgoing.size_bytes,
                limit=limit,
            )
        known = self._metadata.topics.get(outgoing.topic)
        if known is None:
            return TimeoutError(
                "topic-not-in-metadata",
                "topic {topic!r} did not appear in metadata {limit}",
                topic=outgoing.topic,
                limit=limit,
            )
        return TimeoutError(
            "partition-not-in-metadata",
            "partition {partition} of topic {topic!r}, which has {count}, did not appear in metadata {limit}",
            partition=outgoing.partition,
            topic=outgoing.topic,
            count=len(known.partitions),
            limit=limit,
        )

    def _take_back(self, blocked: BlockedSend) -> None:
        """Return the send's memory to the pool, and remove it from the queue for memory."""
        if blocked.waiter:
            self._pool.give_up(blocked.waiter)
        if blocked.grant:
            self._pool.give_back(blocked.grant)

    def _end(self, blocked: BlockedSend, failure: SendError, now_ms: int) -> None:
        self._take_back(blocked)
        self._waited(blocked, now_ms, failure.name)
        self._fail(blocked.outgoing, failure)


def topic_with_partition(metadata: Metadata, outgoing: Outgoing) -> TopicMetadata | None:
    """Return the topic's metadata if it has partitions, including the record's own one (MET-12). None otherwise."""
    known = metadata.topics.get(outgoing.topic)
    if known is None or not known.partitions:
        return None
    return known if outgoing.partition is None or outgoing.partition < len(known.partitions) else None
