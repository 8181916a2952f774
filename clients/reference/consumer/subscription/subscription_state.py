"""SubscriptionState: what the application subscribed to, what it is assigned, and the state of each partition.

There are three ways to subscribe, and each excludes the others until ``unsubscribe`` (CSM-API-01). The group
subscription of a leader has the topics of all members, because it needs their metadata. A partition that stays
assigned keeps its state. The order of partitions is that in which they are read, and a partition that was just read
goes to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from clients.reference.consumer.calls import Clock
from clients.reference.consumer.errors import NoOffsetForPartitionError
from clients.reference.consumer.subscription.fetch_states import FETCH, FetchEvent, FetchState
from clients.reference.consumer.subscription.partition_state import PartitionState
from clients.reference.consumer.subscription.positions import (
    FetchPosition,
    LeaderAndEpoch,
    LogTruncation,
    OffsetAndMetadata,
    TopicPartition,
)
from clients.reference.consumer.subscription.subscription import Subscription, SubscriptionType
from clients.reference.errors import IllegalStateError
from clients.reference.telemetry.trace import StateChanged, Trace

NO_RESET = "none"
NO_REPLICA = -1


class SubscriptionState(Subscription):
    """``default_strategy`` is auto.offset.reset. ``trace`` gets the partitions' transitions, at ``clock``."""

    state_component: type[PartitionState] = PartitionState  # a variant of the client replaces it

    def __init__(self, default_strategy: str, clock: Clock, trace: Trace) -> None:
        super().__init__()
        self._default_strategy = default_strategy
        self._clock = clock
        self._trace = trace
        self._assigned: dict[TopicPartition, PartitionState] = {}
        #: Changes with every assignment, so that earlier results can be told from current ones.
        self.assignment_id = 0

    # Assigning

    def assign_from_user(self, partitions: Iterable[TopicPartition]) -> bool:
        """Assign partitions without a group. Return whether the topics have changed. Raise IllegalStateError."""
        self._set_type(SubscriptionType.USER_ASSIGNED)
        wanted = list(dict.fromkeys(partitions))
        if set(wanted) == self._assigned.keys():
            return False
        self._assign(wanted)
        return self._change_topics(topic for topic, _ in wanted)

    def assign_from_subscribed(self, partitions: Iterable[TopicPartition]) -> None:
        """Apply an assignment of the group."""
        if not self.has_auto_assigned_partitions:
            raise IllegalStateError(
                "assignment-without-subscription", "there is no subscription to assign for"
            )
        self._assign(partitions)

    def _assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.assignment_id += 1
        known = self._assigned
        self._assigned = {each: known.get(each) or self._new_state(each) for each in partitions}

    def _new_state(self, partition: TopicPartition) -> PartitionState:
        subject = f"{partition[0]}-{partition[1]}"

        def moved(before: FetchState, event: FetchEvent, after: FetchState, detail: str) -> None:
            self._trace(
                StateChanged(
                    at_ms=self._clock.now_ms,
                    machine=FETCH.name,
                    subject=subject,
                    before=before.told,
                    cause=event.told,
                    after=after.told,
                    detail=detail,
                )
            )

        return self.state_component(moved)

    def unsubscribe(self) -> None:
        """Forget subscription and assignment."""
        super().unsubscribe()
        self._assigned = {}
        self.assignment_id += 1

    # Queries about partitions

    def _state(self, partition: TopicPartition) -> PartitionState:
        state = self._assigned.get(partition)
        if state is None:
            raise IllegalStateError(
                "partition-not-assigned",
                "{partition} is not assigned to this consumer",
                partition=f"{partition[0]}-{partition[1]}",
            )
        return state

    def state(self, partition: TopicPartition) -> PartitionState | None:
        """Return the state of a partition, or None if it is not assigned."""
        return self._assigned.get(partition)

    def _where(self, holds: Callable[[PartitionState], bool]) -> list[TopicPartition]:
        return [partition for partition, state in self._assigned.items() if holds(state)]

    @property
    def assigned(self) -> list[TopicPartition]:
        """The assigned partitions, in the order in which they are read."""
        return list(self._assigned)

    def is_assigned(self, partition: TopicPartition) -> bool:
        """Return whether a partition is assigned."""
        return partition in self._assigned

    @property
    def paused(self) -> set[TopicPartition]:
        """The paused partitions."""
        return set(self._where(lambda state: state.is_paused))

    def is_paused(self, partition: TopicPartition) -> bool:
        """Return whether a partition is assigned and paused."""
        state = self._assigned.get(partition)
        return state is not None and state.is_paused

    def is_fetchable(self, partition: TopicPartition) -> bool:
        """Return whether records of a partition may be requested and returned."""
        state = self._assigned.get(partition)
        return state is not None and state.is_fetchable

    def fetchable(
        self, is_available: Callable[[TopicPartition], bool] = lambda _: True
    ) -> list[TopicPartition]:
        """Return the partitions that may be fetched and that ``is_available`` accepts, in their order."""
        return [
            partition
            for partition, state in self._assigned.items()
            if state.is_fetchable and is_available(partition)
        ]

    def has_valid_position(self, partition: TopicPartition) -> bool:
        """Return whether a partition is assigned and has a position to fetch from."""
        state = self._assigned.get(partition)
        return state is not None and state.has_valid_position

    @property
    def has_all_positions(self) -> bool:
        """Whether every partition has a position to fetch from."""
        return all(state.has_valid_position for state in self._assigned.values())

    @property
    def initializing(self) -> set[TopicPartition]:
        """The partitions whose position is not known and not being looked up."""
        return set(self._where(lambda state: state.is_initializing))

    def needing_reset(self, now_ms: int) -> list[TopicPartition]:
        """Return the partitions whose position must be looked up now."""
        return self._where(lambda state: state.is_awaiting_reset and state.may_retry(now_ms))

    def needing_validation(self, now_ms: int) -> list[TopicPartition]:
        """Return the partitions whose position must be validated now."""
        return self._where(lambda state: state.is_awaiting_validation and state.may_retry(now_ms))

    def next_retry_ms(self) -> int | None:
        """Return when the first backoff of a lookup or validation ends, or None if there is none."""
        times = [
            state.retry_at_ms
            for state in self._assigned.values()
            if state.retry_at_ms is not None and (state.is_awaiting_reset or state.is_awaiting_validation)
        ]
        return min(times, default=None)

    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return what a commit of everything commits: the partitions with a valid position only (CSM-ACM-04)."""
        return {
            partition: OffsetAndMetadata(state.position.offset, "", state.position.offset_epoch)
            for partition, state in self._assigned.items()
            if state.has_valid_position and state.position is not None
        }

    # Positions

    def position(self, partition: TopicPartition) -> FetchPosition | None:
        """Return the position, which may be invalid. None without one. Raise IllegalStateError if not assigned."""
        return self._state(partition).position

    def valid_position(self, partition: TopicPartition) -> FetchPosition | None:
        """Return the position if it can be fetched from. Raise IllegalStateError if the partition is not assigned."""
        state = self._state(partition)
        return state.position if state.has_valid_position else None

    def advance(self, partition: TopicPartition, position: FetchPosition) -> None:
        """Move the position of a partition that is read."""
        self._state(partition).advance(position)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Take an offset that needs no validation."""
        self.seek_validated(partition, FetchPosition(offset))

    def seek_validated(self, partition: TopicPartition, position: FetchPosition) -> None:
        """Take a position that needs no validation."""
        self._state(partition).seek_validated(position)

    def seek_unvalidated(self, partition: TopicPartition, position: FetchPosition) -> None:
        """Take a position, and validate it if there are epochs to compare."""
        self._state(partition).seek_unvalidated(position)

    def maybe_seek_unvalidated(
        self, partition: TopicPartition, position: FetchPosition, strategy: str
    ) -> None:
        """Apply the result of a lookup, unless another reset, a seek or an assignment came in between."""
        state = self._assigned.get(partition)
        if state is not None and state.is_awaiting_reset and state.strategy == strategy:
            state.seek_unvalidated(position)

    # Resets

    @property
    def has_default_reset_policy(self) -> bool:
        """Whether auto.offset.reset is not none."""
        return self._default_strategy != NO_RESET

    def request_offset_reset(self, partition: TopicPartition, strategy: str | None = None) -> None:
        """Look up the position by ``strategy``, by default auto.offset.reset."""
        self._state(partition).reset(strategy or self._default_strategy)

    def request_offset_reset_if_assigned(self, partition: TopicPartition) -> None:
        """Look up the position by auto.offset.reset, if the partition is still assigned."""
        state = self._assigned.get(partition)
        if state is not None:
            state.reset(self._default_strategy)

    def reset_initializing(self, include: Callable[[TopicPartition], bool] = lambda _: True) -> None:
        """Look up the positions of all initializing partitions. Raise NoOffsetForPartitionError without a policy."""
        found = [partition for partition in self.initializing if include(partition)]
        if found and not self.has_default_reset_policy:
            raise NoOffsetForPartitionError(found)
        for partition in found:
            self.request_offset_reset(partition)

    def set_next_allowed_retry(self, partitions: Iterable[TopicPartition], at_ms: int) -> None:
        """Allow the next lookup or validation of partitions that are still assigned at ``at_ms``."""
        for partition in partitions:
            state = self._assigned.get(partition)
            if state is not None:
                state.retry_at_ms = at_ms

    # Validation (KIP-320)

    def maybe_validate_position(
        self, partition: TopicPartition, leader: LeaderAndEpoch, can_validate: bool | None = None
    ) -> bool:
        """Compare a partition's leader with the current one. Return whether its position must be validated.

        ``can_validate`` is False if the leader has no usable OffsetForLeaderEpoch, None if that is not known.
        """
        state = self._assigned.get(partition)
        if state is None:
            return False
        if leader.node_id is not None and can_validate is False:
            state.follow_leader(leader)
            return False
        return state.maybe_validate(leader)

    def complete_validation(
        self, partition: TopicPartition, asked: FetchPosition, end_offset: int, end_epoch: int
    ) -> LogTruncation | None:
        """Apply the leader's answer about ``asked``: the end of the epoch, -1 if it does not know (CSM-FET-07).

        Return the truncation if there is one and no reset policy.
        """
        state = self._assigned.get(partition)
        if state is None or not state.is_awaiting_validation or state.position != asked:
            return None
        is_unknown = end_offset < 0 or end_epoch < 0
        if not is_unknown and end_offset >= asked.offset:
            state.complete_validation()
        elif not self.has_default_reset_policy:
            return LogTruncation(partition, asked, None if is_unknown else (end_offset, end_epoch))
        elif is_unknown:
            state.reset(self._default_strategy)
        else:
            state.seek_validated(FetchPosition(end_offset, end_epoch, asked.leader))
        return None

    # Restrictions

    def pause(self, partition: TopicPartition) -> None:
        """Neither return nor request records of a partition."""
        self._state(partition).is_paused = True

    def resume(self, partition: TopicPartition) -> None:
        """End a pause."""
        self._state(partition).is_paused = False

    def mark_pending_revocation(self, partitions: Iterable[TopicPartition], pending: bool = True) -> None:
        """Stop partitions that will be revoked, or let them go on because they will not."""
        for partition in partitions:
            self._state(partition).is_pending_revocation = pending

    def set_pending_assigned_callback(self, partitions: Collection[TopicPartition], pending: bool) -> None:
        """Stop partitions until onPartitionsAssigned has run for them, or let them go."""
        for partition in partitions:
            state = self._assigned.get(partition)
            if state is not None:
                state.is_pending_assigned_callback = pending

    def move_to_end(self, partition: TopicPartition) -> None:
        """Let the other partitions be read before this one."""
        if partition in self._assigned:
            self._assigned[partition] = self._assigned.pop(partition)

    # Limits of the log

    def update_high_watermark(self, partition: TopicPartition, offset: int) -> None:
        """Store the offset after the last record that all in-sync replicas have."""
        if state := self._assigned.get(partition):
            state.high_watermark, state.end_offset_requested = offset, False

    def update_last_stable_offset(self, partition: TopicPartition, offset: int) -> None:
        """Store the offset up to which no transaction is open."""
        if state := self._assigned.get(partition):
            state.last_stable_offset, state.end_offset_requested = offset, False

    def update_log_start_offset(self, partition: TopicPartition, offset: int) -> None:
        """Store the first offset that the log still has."""
        if state := self._assigned.get(partition):
            state.log_start_offset = offset

    def end_offset(self, partition: TopicPartition, isolation: str) -> int | None:
        """Return the offset at which reading ends: the last stable one for read_committed. None if it is unknown."""
        state = self._state(partition)
        return state.last_stable_offset if isolation == "read_committed" else state.high_watermark

    def lag(self, partition: TopicPartition, isolation: str) -> int | None:
        """Return how many offsets are left to read, or None if that is not known. Raise IllegalStateError."""
        end, at = self.end_offset(partition, isolation), self._state(partition).position
        return None if end is None or at is None else end - at.offset

    def lead(self, partition: TopicPartition) -> int | None:
        """Return how far the position is from the beginning of the log, or None if that is not known."""
        state = self._state(partition)
        if state.log_start_offset is None or state.position is None:
            return None
        return state.position.offset - state.log_start_offset

    # The replica to read from (KIP-392)

    def prefer_replica(self, partition: TopicPartition, node_id: int, until_ms: int) -> None:
        """Read a partition from another replica, until ``until_ms``."""
        if state := self._assigned.get(partition):
            state.prefer_replica(node_id, until_ms)

    def preferred_replica(self, partition: TopicPartition, now_ms: int) -> int | None:
        """Return the replica to read from instead of the leader, or None."""
        state = self._assigned.get(partition)
        return state.preferred_replica_at(now_ms) if state else None

    def read_replicas(self) -> dict[str, int]:
        """Return the preferred replica of each ``topic-partition``, -1 for none. May be called from any thread."""
        return {
            f"{topic}-{index}": NO_REPLICA if state.preferred_replica is None else state.preferred_replica
            for (topic, index), state in list(self._assigned.items())
        }

    def clear_preferred_replica(self, partition: TopicPartition) -> int | None:
        """Go back to the leader. Return the replica that was preferred, or None."""
        state = self._assigned.get(partition)
        if state is None:
            return None
        removed, state.preferred_replica = state.preferred_replica, None
        return removed
