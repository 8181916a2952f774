"""The calls of the application about offsets: positions, seeks, commits, lookups and metadata.

Each ends by default.api.timeout.ms or its own limit, with TimeoutError (CSM-API-04).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Timer
from clients.reference.consumer.components import Parts
from clients.reference.consumer.coordinator.group_member import GroupMember
from clients.reference.consumer.coordinator.offset_commits import OffsetCommitCallback
from clients.reference.consumer.coordinator.offset_fetches import Committed
from clients.reference.consumer.errors import TimeoutError
from clients.reference.consumer.offsets.list_offsets import OffsetAndTimestamp
from clients.reference.consumer.subscription.positions import (
    BEGINNING,
    END,
    FetchPosition,
    OffsetAndMetadata,
    TopicPartition,
)
from clients.reference.consumer.topic_metadata_fetcher import Partitions
from clients.reference.errors import IllegalStateError

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class OffsetCalls:
    """The part of ConsumerCore that is about offsets. ``timeout_ms`` of None is default.api.timeout.ms."""

    def __init__(self, config: ConsumerConfig, clock: Clock, parts: Parts) -> None:
        self._config = config
        self._clock = clock
        self._parts = parts
        #: Whether ``close`` has ended. No call is accepted any more.
        self.is_closed = False

    def _must_be_open(self) -> None:
        if self.is_closed:
            raise IllegalStateError("consumer-is-closed", "the consumer is closed")

    def _group(self, what: str) -> GroupMember:
        """Return the coordinator. Raise InvalidGroupIdError without a group.id."""
        self._config.require_group(what)
        assert self._parts.coordinator is not None
        return self._parts.coordinator

    def _timer(self, timeout_ms: int | None) -> Timer:
        self._must_be_open()
        return Timer(self._clock, self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms)

    # Commits

    def commit_sync(self, offsets: Offsets | None = None, timeout_ms: int | None = None) -> Call[None]:
        """Commit ``offsets``, by default what was consumed, and wait for the result (CSM-OFC-01).

        Raise CommitFailedError if the member is no longer in the group, RebalanceInProgressError during a rebalance,
        TimeoutError, and other errors that are not retriable.
        """
        timer = self._timer(timeout_ms)
        commits = self._group("commit_sync()").commits
        wanted = self._to_commit(offsets)
        if not (yield from commits.commit_sync(wanted, timer)):
            raise _too_late("commit_sync()", timer)

    def commit_async(
        self, offsets: Offsets | None = None, callback: OffsetCommitCallback | None = None
    ) -> Call[None]:
        """Commit ``offsets``, by default what was consumed, once and without waiting for the result (CSM-OFC-02).

        ``callback(offsets, error)`` runs in a later call, in the order of the results. ``error`` is None after success.
        """
        self._must_be_open()
        commits = self._group("commit_async()").commits
        yield from commits.commit_async(self._to_commit(offsets), callback)

    def _to_commit(self, offsets: Offsets | None) -> Offsets:
        if offsets is None:
            return self._parts.subscriptions.all_consumed()
        for partition, stored in offsets.items():
            self._learn_epoch(partition, stored)
        return offsets

    def _learn_epoch(self, partition: TopicPartition, stored: OffsetAndMetadata) -> None:
        if stored.leader_epoch is not None:
            self._parts.metadata.learn_epoch(partition, stored.leader_epoch)

    def committed(
        self, partitions: Collection[TopicPartition], timeout_ms: int | None = None
    ) -> Call[Committed]:
        """Return the group's committed offset of each partition, None for a partition without one."""
        timer = self._timer(timeout_ms)
        found = yield from self._group("committed()").fetches.fetch(partitions, timer)
        if found is None:
            raise _too_late("committed()", timer)
        for partition, stored in found.items():
            if stored is not None:
                self._learn_epoch(partition, stored)
        return found

    # Positions

    def seek(self, partition: TopicPartition, to: int | OffsetAndMetadata) -> None:
        """Read a partition from an offset on, from the next poll (CSM-API-06). It needs no broker.

        Raise IllegalStateError if the partition is not assigned or the offset is negative.
        """
        self._must_be_open()
        stored = to if isinstance(to, OffsetAndMetadata) else OffsetAndMetadata(to)
        self._learn_epoch(partition, stored)
        leader = self._parts.metadata.leader_and_epoch(partition)
        position = FetchPosition(stored.offset, stored.leader_epoch, leader)
        self._parts.subscriptions.seek_unvalidated(partition, position)

    def seek_to_beginning(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Read partitions, by default all, from their first record. The offset is looked up in the next poll."""
        self._seek_to(partitions, BEGINNING)

    def seek_to_end(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Read partitions, by default all, from their end. The offset is looked up in the next poll."""
        self._seek_to(partitions, END)

    def _seek_to(self, partitions: Collection[TopicPartition], strategy: str) -> None:
        self._must_be_open()
        for partition in partitions or self._parts.subscriptions.assigned:
            self._parts.subscriptions.request_offset_reset(partition, strategy)

    def position(self, partition: TopicPartition, timeout_ms: int | None = None) -> Call[int]:
        """Return the offset of the next record. Raise IllegalStateError if the partition is not assigned."""
        timer = self._timer(timeout_ms)
        while True:
            found = self._parts.subscriptions.valid_position(partition)
            if found is not None:
                return found.offset
            yield from self._update_positions(timer)
            yield from self._parts.network.wait(timer)
            if timer.is_expired and self._parts.subscriptions.valid_position(partition) is None:
                raise _too_late("position()", timer)

    def _update_positions(self, timer: Timer) -> Call[bool]:
        """Go on with validations, committed offsets and resets. Return whether committed offsets are known."""
        parts = self._parts
        parts.validator.validate_if_needed()
        if parts.subscriptions.has_all_positions:
            return True
        if parts.coordinator is not None and not (
            yield from parts.coordinator.fetches.initialize_positions(timer)
        ):
            return False
        parts.subscriptions.reset_initializing()
        parts.offsets.reset_if_needed()
        return True

    def current_lag(self, partition: TopicPartition) -> Call[int | None]:
        """Return how many offsets are left to read, or None if that is not known. Never waits.

        If the end is not known, its lookup is started for a later call.
        """
        self._must_be_open()
        subscriptions, isolation = self._parts.subscriptions, self._config.isolation_level
        lag = subscriptions.lag(partition, isolation)
        state = subscriptions.state(partition)
        is_unknown = subscriptions.end_offset(partition, isolation) is None
        if lag is None and is_unknown and state is not None and not state.end_offset_requested:
            state.end_offset_requested = True
            yield from self._parts.offsets.end_offsets([partition], Timer(self._clock, 0))
        return lag

    # Lookups

    def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> Call[dict[TopicPartition, OffsetAndTimestamp | None]]:
        """Return the first record at or after a Unix time of each partition, None if there is none."""
        timer = self._timer(timeout_ms)
        if any(time_ms < 0 for time_ms in times_ms.values()):
            raise IllegalStateError("negative-time", "a time to look up must not be negative")
        return (yield from self._parts.offsets.offsets_for_times(times_ms, timer))

    def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: int | None = None
    ) -> Call[dict[TopicPartition, int]]:
        """Return the first offset that the log of each partition still has."""
        return (yield from self._parts.offsets.beginning_offsets(partitions, self._timer(timeout_ms)))

    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: int | None = None
    ) -> Call[dict[TopicPartition, int]]:
        """Return the offset after the last record of each partition that can be read."""
        return (yield from self._parts.offsets.end_offsets(partitions, self._timer(timeout_ms)))

    # Metadata

    def partitions_for(self, topic: str, timeout_ms: int | None = None) -> Call[Partitions]:
        """Return a topic's partitions by index, with leader, epoch and replicas. Empty if it does not exist."""
        timer = self._timer(timeout_ms)
        known = self._parts.metadata.topics.get(topic)
        if known is not None and known.partitions:
            return dict(known.partitions)
        return (yield from self._parts.topics.topic(topic, timer)) or {}

    def list_topics(self, timeout_ms: int | None = None) -> Call[dict[str, Partitions]]:
        """Return the partitions of every topic that the client may see."""
        return (yield from self._parts.topics.all_topics(self._timer(timeout_ms)))


def _too_late(call: str, timer: Timer) -> TimeoutError:
    return TimeoutError(
        "call-timed-out", "{call} did not end within {timeout_ms} ms", call=call, timeout_ms=timer.timeout_ms
    )
