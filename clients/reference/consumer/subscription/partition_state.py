"""The state of one assigned partition (SubscriptionState.TopicPartitionState in Java)."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.consumer.subscription.fetch_states import FETCH, FetchEvent, FetchState
from clients.reference.consumer.subscription.positions import FetchPosition, LeaderAndEpoch
from clients.reference.errors import IllegalStateError

Moved = Callable[[FetchState, FetchEvent, FetchState, str], None]
"""Is called for each transition: before, event, after, and the position as text."""


class PartitionState:
    """Position, limits of the log and restrictions of a partition. ``moved`` is called for every transition.

    Offsets of the log are None until a Fetch response has told them. ``strategy`` is how the position is looked up in
    AWAIT_RESET. No lookup or validation starts before ``retry_at_ms``.
    """

    __slots__ = (
        "_moved",
        "end_offset_requested",
        "high_watermark",
        "is_paused",
        "is_pending_assigned_callback",
        "is_pending_revocation",
        "last_stable_offset",
        "log_start_offset",
        "position",
        "preferred_replica",
        "preferred_until_ms",
        "retry_at_ms",
        "state",
        "strategy",
    )

    def __init__(self, moved: Moved) -> None:
        self._moved = moved
        self.state = FETCH.initial
        self.position: FetchPosition | None = None
        self.high_watermark: int | None = None
        self.log_start_offset: int | None = None
        self.last_stable_offset: int | None = None
        self.is_paused = False
        self.is_pending_revocation = False
        self.is_pending_assigned_callback = False
        self.end_offset_requested = False
        self.strategy: str | None = None
        self.retry_at_ms: int | None = None
        self.preferred_replica: int | None = None
        self.preferred_until_ms = 0

    # Queries

    @property
    def has_valid_position(self) -> bool:
        """Whether the position may be fetched from and committed."""
        return self.state.has_valid_position

    @property
    def is_awaiting_reset(self) -> bool:
        """Whether the position must be looked up by ``strategy``."""
        return self.state is FetchState.AWAIT_RESET

    @property
    def is_awaiting_validation(self) -> bool:
        """Whether the position must be compared with the leader's log."""
        return self.state is FetchState.AWAIT_VALIDATION

    @property
    def is_initializing(self) -> bool:
        """Whether nothing is known of the position."""
        return self.state is FetchState.INITIALIZING

    @property
    def is_fetchable(self) -> bool:
        """Whether records of the partition may be requested and returned."""
        return (
            not (self.is_paused or self.is_pending_revocation or self.is_pending_assigned_callback)
            and self.state is FetchState.FETCHING
        )

    def may_retry(self, now_ms: int) -> bool:
        """Return whether the backoff of the last lookup or validation is over."""
        return self.retry_at_ms is None or now_ms >= self.retry_at_ms

    # Transitions. An event that the state does not allow changes nothing (table 1.6).

    def seek_validated(self, position: FetchPosition) -> None:
        """Take a position that needs no validation."""
        if self._allows(FetchEvent.POSITION):
            self.strategy = None
            self._move(FetchEvent.POSITION, position)

    def seek_unvalidated(self, position: FetchPosition) -> None:
        """Take a position, and validate it if both its epoch and the leader's are known."""
        self.seek_validated(position)
        self.validate(position)

    def validate(self, position: FetchPosition) -> None:
        """Require a validation of ``position``, or take it if it has no epochs to compare."""
        comparable = position.offset_epoch is not None and position.leader.epoch is not None
        event = FetchEvent.VALIDATE if comparable else FetchEvent.POSITION
        if self._allows(event):
            self._move(event, position)

    def maybe_validate(self, leader: LeaderAndEpoch) -> bool:
        """Require a validation if the leader has changed. Return whether one is due (CSM-FET-07)."""
        if self.is_awaiting_reset or leader.node_id is None:
            return False
        at = self.position
        if at is not None and at.leader != leader:
            self.validate(FetchPosition(at.offset, at.offset_epoch, leader))
            self.preferred_replica = None
        return self.is_awaiting_validation

    def follow_leader(self, leader: LeaderAndEpoch) -> None:
        """Adopt a leader that cannot validate positions."""
        at = self.position
        if at is not None and self._allows(FetchEvent.POSITION):
            self._move(FetchEvent.POSITION, FetchPosition(at.offset, at.offset_epoch, leader))

    def complete_validation(self) -> None:
        """The position agrees with the leader's log."""
        if self.position is not None and self._allows(FetchEvent.POSITION):
            self._move(FetchEvent.POSITION, self.position)

    def reset(self, strategy: str | None) -> None:
        """Give up the position, and look it up by ``strategy``."""
        if self._allows(FetchEvent.RESET):
            self.strategy = strategy
            self._move(FetchEvent.RESET, None)

    def advance(self, position: FetchPosition) -> None:
        """Move the position of a partition that is read. Raise IllegalStateError if it has no valid one."""
        if not self.has_valid_position:
            raise IllegalStateError(
                "position-not-valid", "the position can move only from another valid position"
            )
        self.position = position

    def _allows(self, event: FetchEvent) -> bool:
        return FETCH.allows(self.state, event)

    def _move(self, event: FetchEvent, position: FetchPosition | None) -> None:
        before = self.state
        self.state = FETCH.after(before, event)
        self.position = position
        self.retry_at_ms = None
        self._moved(before, event, self.state, "" if position is None else str(position.offset))

    # The replica to read from (KIP-392)

    def prefer_replica(self, node_id: int, until_ms: int) -> None:
        """Read from another replica, until ``until_ms``. The same replica again does not extend the time."""
        if self.preferred_replica != node_id:
            self.preferred_replica, self.preferred_until_ms = node_id, until_ms

    def preferred_replica_at(self, now_ms: int) -> int | None:
        """Return the replica to read from instead of the leader, or None."""
        if now_ms > self.preferred_until_ms:
            self.preferred_replica = None
        return self.preferred_replica
