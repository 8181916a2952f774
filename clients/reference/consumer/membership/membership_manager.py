"""MembershipManager: a consumer as a member of a group of KIP-848.

The coordinator says in a heartbeat response what the member should have. Heartbeats and all that follows from their
responses run in ``step``, which every network round calls. Everything that calls the application's listener runs in
``poll``: reconciliation, and giving up what was lost. An incarnation lasts from a join until the member is fenced or
leaves. A callback may outlast it, and its result then changes nothing.
"""

from __future__ import annotations

from uuid import UUID

from clients.reference.common.earliest import earliest
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Timer
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.coordinator.commit_responses import not_a_member
from clients.reference.consumer.coordinator.generation import ConsumerGroupMetadata, Generation
from clients.reference.consumer.coordinator.group_member import (
    DEFAULT,
    LEAVE_GROUP,
    REMAIN_IN_GROUP,
    GroupMember,
)
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits, OnCommit
from clients.reference.consumer.coordinator.offset_fetches import OffsetFetches
from clients.reference.consumer.coordinator.rebalance_listener import (
    RebalanceListenerInvoker,
    names,
    raise_wrapped,
)
from clients.reference.consumer.errors import ConsumerError, StaleMemberEpochError
from clients.reference.consumer.membership.assignments import (
    NO_ASSIGNMENT,
    Assignment,
    IdPartitions,
    resolved,
)
from clients.reference.consumer.membership.heartbeat_contents import JOINS, LEAVES, LEAVES_FOR_NOW, Wishes
from clients.reference.consumer.membership.heartbeat_manager import HeartbeatManager
from clients.reference.consumer.membership.membership_states import (
    MEMBERSHIP,
    MembershipEvent,
    MembershipState,
)
from clients.reference.consumer.membership.reconciliation import CommitBeforeRevocation, Reconciliation
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.ports import Jitter
from clients.reference.telemetry.trace import AssignmentApplied, StateChanged, Trace
from harness.wire.error_table import KafkaError

_S, _E = MembershipState, MembershipEvent


class MembershipManager(GroupMember):
    """``current`` is what the member has and has told or will tell. Every transition goes through MEMBERSHIP."""

    commit_component: type[OffsetCommits] = OffsetCommits  # variants of the client replace these
    fetch_component: type[OffsetFetches] = OffsetFetches
    heartbeat_component: type[HeartbeatManager] = HeartbeatManager
    reconciliation_component: type[Reconciliation] = Reconciliation
    commit_before_component: type[CommitBeforeRevocation] = CommitBeforeRevocation
    listener_component: type[RebalanceListenerInvoker] = RebalanceListenerInvoker

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        client: ConsumerNetworkClient,
        metadata: ConsumerMetadata,
        subscriptions: SubscriptionState,
        clock: Clock,
        jitter: Jitter,
        trace: Trace,
        on_commit: OnCommit | None = None,
    ) -> None:
        super().__init__(config, group_id, client, clock, jitter, trace, lambda: None)
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._listener = self.listener_component(subscriptions, clock, trace)
        self.commits = self.commit_component(
            config, self, client, subscriptions, clock, jitter, trace, on_commit
        )
        self.fetches = self.fetch_component(config, self, client, metadata, subscriptions, jitter)
        self.heartbeats = self.heartbeat_component(self, config, clock, jitter)
        self.state = MEMBERSHIP.initial
        self.incarnation = 0
        self.current = self.target = NO_ASSIGNMENT
        self._take_epoch(JOINS, new_member_id(jitter))
        self._plan: Reconciliation | None = None
        self._commit: CommitBeforeRevocation | None = None
        self._fatal: Exception | None = None
        self._reported: Exception | None = None
        self._metadata_version = -1

    # State

    def move(self, event: MembershipEvent, detail: str = "") -> None:
        """Make a transition. Raise IllegalTransition if the table has none."""
        before = self.state
        self.state = MEMBERSHIP.after(before, event)
        self._trace(
            StateChanged(
                at_ms=self._clock.now_ms,
                machine=MEMBERSHIP.name,
                subject=self.group_id,
                before=before.told,
                cause=event.told,
                after=self.state.told,
                detail=detail,
            )
        )

    def _take_epoch(self, epoch: int, member_id: str) -> None:
        self.generation = Generation(epoch, member_id)
        self.group_metadata = ConsumerGroupMetadata(self.group_id, epoch, member_id, self.instance_id)

    def _end_incarnation(self, epoch: int) -> None:
        self.incarnation += 1
        self._plan = self._commit = None
        self.current = self.target = NO_ASSIGNMENT
        self._take_epoch(epoch, self.generation.member_id)
        self.heartbeats.end()

    @property
    def stable_generation(self) -> Generation | None:
        """The member and its epoch, or None while it has none."""
        return self.generation if self.generation.id > JOINS else None

    @property
    def fetching_as(self) -> Generation:
        """The member and its epoch for OffsetFetch, if it has one."""
        return self.generation if self.generation.id > JOINS else super().fetching_as

    @property
    def rebalance_in_progress(self) -> bool:
        """Never: members commit while they reconcile."""
        return False

    def commit_refused(self, error: KafkaError, sent: Generation) -> ConsumerError | None:
        """Return what an error of OffsetCommit means. The heartbeats find out what it means for the member."""
        if error.name == "STALE_MEMBER_EPOCH":
            return StaleMemberEpochError(
                "epoch-is-stale", "the member had epoch {epoch}, and has a newer one since", epoch=sent.id
            )
        return not_a_member(error) if error.name == "UNKNOWN_MEMBER_ID" else None

    # Heartbeats

    @property
    def wishes(self) -> Wishes:
        """What the member wants of its group now."""
        pattern = self._subscriptions.pattern
        return Wishes(
            frozenset() if pattern is not None else self._subscriptions.subscription,
            None if pattern is None else pattern.pattern,
            self._config.group_remote_assignor,
            self._config.max_poll_interval_ms,
            self._config.client_rack or None,
        )

    def step(self) -> int | None:
        """Do what does not depend on the application. Return when to come again, or None."""
        if self.state.is_in_group and self.heartbeats.times.poll_expired:
            self.move(_E.LEAVE, "max.poll.interval.ms is over without a poll")
            self._send_leave(DEFAULT, _E.EXPIRED)
        return self.heartbeats.step()

    def heartbeat_generated(self) -> None:
        """Note that a heartbeat with ``current`` is on its way. If it acknowledges the target, that is reached."""
        if self.state is _S.ACKNOWLEDGING:
            self.move(_E.REACHED if self.current == self.target else _E.TARGET)

    def accepted(self, epoch: int, assignment: IdPartitions | None) -> None:
        """Adopt the epoch and the target of a response. ``assignment`` is None if it has not changed."""
        if epoch < JOINS:
            return
        self._take_epoch(epoch, self.generation.member_id)
        if self.state is _S.JOINING and assignment is None:
            assignment = frozenset()
        if assignment is None or not self.state.is_in_group:
            return
        if self.target.is_none or assignment != self.target.partitions:
            self.target = Assignment(self.target.number + 1, assignment)
            self.move(_E.TARGET)
        elif self.current == self.target and self.state is _S.RECONCILING:
            self.move(_E.REACHED)

    def fence(self, error: str) -> None:
        """The coordinator no longer has the member (CSM-NGP-05)."""
        self.move(_E.FENCED, error)
        self._end_incarnation(JOINS)

    def fail(self, error: Exception) -> None:
        """End the membership for good. Every poll raises the error (CSM-NGP-09)."""
        self.move(_E.FATAL, str(error))
        self._end_incarnation(LEAVES)
        self._fatal = error

    def report(self, error: Exception) -> None:
        """Let the next poll raise an error that does not end the membership."""
        self._reported = error

    # Poll

    def poll(self, timer: Timer, *, wait_for_join: bool = True) -> Call[bool]:
        """Do everything that the application's poll owes the group. It does not wait for the coordinator.

        Raise errors that end the membership, and those of callbacks and of the listener.
        """
        self._update_subscription_metadata()
        yield from self.commits.run_callbacks()
        if self._subscriptions.has_auto_assigned_partitions:
            self.heartbeats.times.polled()
            yield from self._give_up_lost()
            self._raise_errors()
            if self.state in (_S.UNSUBSCRIBED, _S.FENCED, _S.STALE):
                self.move(_E.JOIN)
                self._take_epoch(JOINS, self.generation.member_id)
            if self.state is _S.RECONCILING:
                yield from self._reconcile()
        elif self._metadata.is_update_requested and not self._client.has_ready_node():
            yield from self._client.await_metadata_update(timer)
        self.commits.maybe_auto_commit()
        return True

    def next_poll_ms(self) -> int | None:
        """Return when the application's call should come back to ``poll``, or None."""
        return earliest(self.commits.next_auto_commit_ms(), self._commit.again_ms if self._commit else None)

    def _raise_errors(self) -> None:
        if self._fatal is not None:
            raise self._fatal
        if self._reported is not None:
            reported, self._reported = self._reported, None
            raise reported
        self.lookup.raise_fatal()

    def _update_subscription_metadata(self) -> None:
        if self._metadata.update_version > self._metadata_version:
            self._metadata_version = self._metadata.update_version
            if self._subscriptions.has_pattern:
                self.update_pattern_subscription()

    def update_pattern_subscription(self) -> None:
        """Note the known topics that match the pattern. Which of them the member gets, the coordinator decides."""
        matching = [topic for topic in self._metadata.topics if self._subscriptions.matches_pattern(topic)]
        if self._subscriptions.subscribe_from_pattern(matching):
            self._metadata.request_update_for_new_topics()

    # Reconciliation (CSM-NGP-04)

    def _reconcile(self) -> Call[None]:
        if self._plan is None:
            self._plan = self._next_plan()
            if self._plan is not None:
                self._commit = self.commit_before_component(self._config, self.commits, self._clock)
        if self._plan is None or self._commit is None or not self._commit.is_over():
            return
        plan, self._plan, self._commit = self._plan, None, None
        incarnation = self.incarnation
        if plan.revoked:
            error = yield from self._listener.revoked(plan.revoked)
            raise_wrapped(error)
            if self.incarnation != incarnation:
                return
        plan.apply()
        self._trace(
            AssignmentApplied(
                at_ms=self._clock.now_ms,
                generation=self.generation.id,
                member_id=self.generation.member_id,
                assignor=self._config.group_remote_assignor or "",
                partitions=names(self._subscriptions.assigned),
            )
        )
        error = yield from self._listener.assigned(plan.added)
        raise_wrapped(error)
        if self.incarnation == incarnation:
            plan.finish()
            self._reconciled(plan.target)

    def _reconciled(self, assignment: Assignment) -> None:
        self.current = assignment
        self.move(_E.RECONCILED)

    def _next_plan(self) -> Reconciliation | None:
        """Return what to do now, or None if that waits for the names of topics, or if nothing changes."""
        known, wanted = resolved(self.target.partitions, self._metadata.topic_names)
        assignment = Assignment(self.target.number, known)
        if assignment != self.target:
            self._metadata.request_update()
            if not known and not self.current.partitions:
                return None
        if self.current.is_none or known != self.current.partitions:
            return self.reconciliation_component(assignment, wanted, self._subscriptions)
        if self.current != assignment:
            self._reconciled(assignment)
        return None

    # Leaving

    def _give_up_lost(self) -> Call[None]:
        """Tell the listener of what the member had when it was fenced, became stale or failed."""
        lost = self._subscriptions.assigned
        if self.state in (_S.FENCED, _S.STALE, _S.FATAL) and lost:
            error = yield from self._listener.lost(lost)
            self._subscriptions.assign_from_subscribed([])
            raise_wrapped(error)

    def _leave(self, operation: str) -> Call[None]:
        """Give everything up, then leave the group."""
        if self.state is _S.FENCED:
            yield from self._give_up_lost()
            self.move(_E.LEFT)
        if not self.state.is_in_group:
            yield from self._give_up_lost()
            return
        self.move(_E.LEAVE)
        error, dropped = None, self._subscriptions.assigned
        try:
            if dropped:
                is_member = self.stable_generation is not None
                tell = self._listener.revoked if is_member else self._listener.lost
                error = yield from tell(dropped)
        finally:
            self._subscriptions.assign_from_subscribed([])
            if self.state is _S.PREPARE_LEAVING:
                self._send_leave(operation, _E.LEFT)
        raise_wrapped(error)

    def _send_leave(self, operation: str, event: MembershipEvent) -> None:
        """Send the last heartbeat, unless a member without group.instance.id shall remain (CSM-NGP-01)."""
        self.move(_E.RELEASED)
        epoch = LEAVES if self.is_dynamic or operation == LEAVE_GROUP else LEAVES_FOR_NOW
        stays = self.is_dynamic and operation == REMAIN_IN_GROUP
        if not stays and not self.lookup.is_unknown:
            self.heartbeats.leave(self.generation, epoch)
            self._client.transmit_sends(self._clock.now_ms)
        self.move(event)
        self._end_incarnation(epoch)

    def unsubscribe(self) -> Call[None]:
        """Give up all partitions and leave the group."""
        yield from self._leave(DEFAULT)

    def enforce_rebalance(self, reason: str) -> None:
        """Do nothing: in this protocol the coordinator alone decides about assignments."""

    def close(self, timer: Timer, operation: str = DEFAULT) -> Call[None]:
        """Commit if that is automatic, finish pending commits, give everything up, and leave if that is due."""
        self._client.disable_wakeups()
        try:
            yield from self.commits.close(timer)
        finally:
            try:
                yield from self._leave(operation)
            finally:
                node_id = self.lookup.node_id()
                if node_id is not None:
                    yield from self._client.await_pending(node_id, timer)


def new_member_id(jitter: Jitter) -> str:
    """Return a random id for the lifetime of a consumer (KIP-1082). Its randomness comes from ``jitter``."""
    number = 0
    for _ in range(8):
        number = number << 16 | int((jitter() + 1) * 32_768) & 0xFFFF
    return str(UUID(int=number, version=4))
