"""Sends that must wait: for a topic's metadata, or for memory. The waiting is a value here, never a sleep.

One limit, max.block.ms, covers both waits (MET-14). A driver with threads blocks the caller until the send is settled;
a driver in virtual time looks at the delivery when it likes. Sends are looked at first come, first served.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.errors import BrokerError, BufferExhaustedError, SendError, TimeoutError
from clients.reference.metadata.metadata import Metadata, TopicMetadata
from clients.reference.producer.buffer_pool import BufferPool, Grant, Waiter
from clients.reference.producer.send_handle import Outgoing
from clients.reference.telemetry.trace import SendBlocked, SendUnblocked, Trace
from harness.model.verdicts import Outcome


@dataclass(slots=True, eq=False)
class BlockedSend:
    """A record that found no metadata or no memory; ``waiter`` is its place in the line for memory."""

    outgoing: Outgoing
    expires_ms: int
    seen_update: int
    number: int = 0
    waiting_for: str = ""
    since_ms: int = 0
    waiter: Waiter | None = None
    grant: Grant | None = None

    def granted(self, grant: Grant) -> None:
        """Its turn has come; the record is appended in the next round, not within the pool's."""
        self.waiter, self.grant = None, grant


class BlockedSends:
    """``append`` puts a record into a batch if it can, with memory that was waited for; ``fail`` ends it."""

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
        """A record found no metadata, or no memory: ``memory_bytes`` is what it would take."""
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
        """Let each go as far as it can, first come, first served."""
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
        """When to look again: now, where memory was granted meanwhile, else at the first limit."""
        if not self._blocked:
            return None
        return min(now_ms if each.grant else each.expires_ms for each in self._blocked)

    @property
    def count(self) -> int:
        """How many sends still wait, for whichever of the two."""
        return len(self._blocked)

    def give_up(self, error: Callable[[], SendError], now_ms: int) -> None:
        """End all of them."""
        for blocked in self._blocked:
            self._end(blocked, error(), now_ms)
        self._blocked = []

    def _settle(self, blocked: BlockedSend, memory_for: Callable[[int], int], now_ms: int) -> bool:
        """True where the wait is over, for better or worse."""
        outgoing = blocked.outgoing
        if blocked.waiter is None:
            refusal = self._metadata.topic_errors.get(outgoing.topic)
            if refusal and not refusal.retriable:  # MET-13: waiting would not help
                what = f"topic {outgoing.topic!r}: {refusal.name}"
                self._end(blocked, BrokerError(refusal, what, outcome=Outcome.FAIL), now_ms)
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
        """Metadata came without what is waited for: once more, after its backoff (MET-11, -12)."""
        if blocked.seen_update != self._metadata.update_version:
            blocked.seen_update = self._metadata.update_version
            self._metadata.add(blocked.outgoing.topic, now_ms)
            self._metadata.request_update_for(blocked.outgoing.topic)

    def _timeout(self, blocked: BlockedSend) -> SendError:
        limit = f"within max.block.ms ({self._config.max_block_ms} ms)"
        outgoing = blocked.outgoing
        if blocked.waiter:
            return BufferExhaustedError(f"no memory for a record of {outgoing.size_bytes} bytes {limit}")
        known = self._metadata.topics.get(outgoing.topic)
        if known is None:
            return TimeoutError(f"topic {outgoing.topic!r} did not appear in metadata {limit}")
        return TimeoutError(
            f"partition {outgoing.partition} of topic {outgoing.topic!r}, which has {len(known.partitions)}, "
            f"did not appear in metadata {limit}"
        )

    def _take_back(self, blocked: BlockedSend) -> None:
        """What it held of the pool, its place in line included."""
        if blocked.waiter:
            self._pool.give_up(blocked.waiter)
        if blocked.grant:
            self._pool.give_back(blocked.grant)

    def _end(self, blocked: BlockedSend, failure: SendError, now_ms: int) -> None:
        self._take_back(blocked)
        self._waited(blocked, now_ms, failure.name)
        self._fail(blocked.outgoing, failure)


def topic_with_partition(metadata: Metadata, outgoing: Outgoing) -> TopicMetadata | None:
    """The topic's metadata, if it has partitions, and the one that the record wants (MET-12)."""
    known = metadata.topics.get(outgoing.topic)
    if known is None or not known.partitions:
        return None
    return known if outgoing.partition is None or outgoing.partition < len(known.partitions) else None
