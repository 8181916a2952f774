"""ConsumerCoordinator: a consumer as a member of its group.

It joins with the subscription and its assignors, gives partitions up and takes them over as the rebalance protocol
demands, with the application's listener, and keeps the group's committed offsets. Under the eager protocol a member
gives up everything before it joins. Under the cooperative one it keeps what it has, gives up what the new assignment
takes away, and joins again so that others can have it (KIP-429).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clients.reference.common.earliest import earliest
from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.assignors.assignor import Assignor, RebalanceProtocol, Subscription
from clients.reference.consumer.calls import Call, Clock, Timer, sleep
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.consumer_protocol import decode_assignment, encode_subscription
from clients.reference.consumer.coordinator.abstract_coordinator import AbstractCoordinator
from clients.reference.consumer.coordinator.generation import (
    NO_GENERATION_ID,
    UNKNOWN_MEMBER_ID,
    ConsumerGroupMetadata,
)
from clients.reference.consumer.coordinator.group_leader import GroupLeader, common_protocol
from clients.reference.consumer.coordinator.group_member import DEFAULT
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits, OnCommit
from clients.reference.consumer.coordinator.offset_fetches import OffsetFetches
from clients.reference.consumer.coordinator.rebalance_listener import (
    RebalanceListenerInvoker,
    names,
    raise_wrapped,
)
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.errors import IllegalStateError
from clients.reference.ports import Jitter
from clients.reference.telemetry.trace import AssignmentApplied, Trace


class ConsumerCoordinator(AbstractCoordinator):
    """``commits`` and ``fetches`` are the group's offsets. ``on_commit`` is called after each successful commit."""

    commit_component: type[OffsetCommits] = OffsetCommits  # variants of the client replace these
    fetch_component: type[OffsetFetches] = OffsetFetches
    leader_component: type[GroupLeader] = GroupLeader
    listener_component: type[RebalanceListenerInvoker] = RebalanceListenerInvoker

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        client: ConsumerNetworkClient,
        metadata: ConsumerMetadata,
        subscriptions: SubscriptionState,
        assignors: Sequence[Assignor],
        clock: Clock,
        jitter: Jitter,
        trace: Trace,
        on_commit: OnCommit | None = None,
    ) -> None:
        super().__init__(config, group_id, client, clock, jitter, trace)
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._assignors = assignors
        self._protocol = common_protocol(assignors)
        self._leader = self.leader_component(assignors, self._protocol, metadata, subscriptions)
        self._listener = self.listener_component(subscriptions, clock, trace)
        self.commits = self.commit_component(
            config, self, client, subscriptions, clock, jitter, trace, on_commit
        )
        self.fetches = self.fetch_component(config, self, client, metadata, subscriptions, jitter)
        self._joined_topics: frozenset[str] | None = None
        self._metadata_version = -1
        self._prepare_timer: Timer | None = None
        self._prepare_commit: RequestFuture[None] | None = None

    # Poll

    def poll(self, timer: Timer, *, wait_for_join: bool = True) -> Call[bool]:
        """Do everything that the application's poll owes the group. Return False if a rebalance is not finished.

        Raise errors that end the membership, and those of callbacks and of the listener.
        """
        self.update_subscription_metadata()
        yield from self.commits.run_callbacks()
        if self._subscriptions.has_auto_assigned_partitions:
            self.poll_heartbeat()
            if not (yield from self.lookup.ensure_ready(timer)):
                return False
            if self.rejoin_needed_or_pending() and not (yield from self._rejoin(timer, wait_for_join)):
                return False
        elif self._metadata.is_update_requested and not self._client.has_ready_node():
            yield from self._client.await_metadata_update(timer)
        self.commits.maybe_auto_commit()
        return True

    def _rejoin(self, timer: Timer, wait_for_join: bool) -> Call[bool]:
        if self._subscriptions.has_pattern:
            # The topics that match now, and not those of some minutes ago, are what the member joins with.
            if not (yield from self._client.ensure_fresh_metadata(timer)):
                return False
            self.update_subscription_metadata()
        limit = timer if wait_for_join else Timer(self._clock, 0)
        return (yield from self.ensure_active_group(limit))

    def next_poll_ms(self) -> int | None:
        """Return when the application's call should come back to ``poll``, or None."""
        return earliest(self.commits.next_auto_commit_ms(), self.next_heartbeat_ms())

    # Subscription and metadata

    def update_subscription_metadata(self) -> None:
        """Apply metadata that are newer than those applied last: the topics of a pattern, and new partitions."""
        if self._metadata.update_version > self._metadata_version:
            self._metadata_version = self._metadata.update_version
            if self._subscriptions.has_pattern:
                self.update_pattern_subscription()
            self._leader.note_metadata()

    def update_pattern_subscription(self) -> None:
        """Subscribe to the known topics that match the pattern."""
        matching = [topic for topic in self._metadata.topics if self._subscriptions.matches_pattern(topic)]
        if self._subscriptions.subscribe_from_pattern(matching):
            self._metadata.request_update_for_new_topics()

    def rejoin_needed_or_pending(self) -> bool:
        """Return whether a poll must go on with a rebalance, also because metadata or the subscription have changed."""
        if not self._subscriptions.has_auto_assigned_partitions:
            return False
        if self._leader.is_out_of_date:
            self.request_rejoin_if_necessary("the metadata of subscribed topics have changed")
            return True
        if self._joined_topics is not None and self._joined_topics != self._subscriptions.subscription:
            self.request_rejoin_if_necessary("the subscription has changed")
            return True
        return super().rejoin_needed_or_pending()

    # Joining

    def join_protocols(self) -> Sequence[tuple[str, bytes]]:
        """Return the subscription for each assignor, with the partitions that the member still owns."""
        topics = self._joined_topics = self._subscriptions.subscription
        owned, generation = tuple(self._subscriptions.assigned), self.generation.id
        return [
            (
                assignor.name,
                encode_subscription(
                    Subscription(
                        topics=tuple(sorted(topics)),
                        user_data=assignor.subscription_user_data(topics),
                        owned_partitions=owned,
                        generation_id=None if generation == NO_GENERATION_ID else generation,
                        rack_id=self._config.client_rack or None,
                    )
                ),
            )
            for assignor in self._assignors
        ]

    @property
    def _has_lost_ownership(self) -> bool:
        return self.generation.id == NO_GENERATION_ID or self.generation.member_id == UNKNOWN_MEMBER_ID

    def on_join_prepare(self, timer: Timer) -> Call[bool]:
        """Commit if that is automatic, then give up what the protocol demands. Return False without time for that."""
        if not (yield from self._commit_before_join(timer)):
            return False
        error: Exception | None = None
        owned = self._subscriptions.assigned
        if self._has_lost_ownership:
            if owned:
                error = yield from self._listener.lost(owned)
                self._subscriptions.assign_from_subscribed([])
        elif self._protocol is RebalanceProtocol.EAGER:
            error = yield from self._listener.revoked(owned)
            self._subscriptions.assign_from_subscribed([])
        else:
            topics = self._subscriptions.subscription
            if unsubscribed := [each for each in owned if each[0] not in topics]:
                error = yield from self._listener.revoked(unsubscribed)
                self._subscriptions.assign_from_subscribed([each for each in owned if each[0] in topics])
        self._leader.resign()
        self._leader.begin()
        self._subscriptions.reset_group_subscription()
        raise_wrapped(error)
        return True

    def _commit_before_join(self, timer: Timer) -> Call[bool]:
        """Commit what was consumed, for at most max.poll.interval.ms (CSM-ACM-02). Return whether that is over."""
        if not self._config.enable_auto_commit:
            return True
        limit = self._prepare_timer = self._prepare_timer or Timer(
            self._clock, self._config.max_poll_interval_ms
        )
        if self._prepare_commit is None:
            if self._protocol is RebalanceProtocol.EAGER:
                self._subscriptions.mark_pending_revocation(self._subscriptions.assigned)
            self._prepare_commit = self.commits.auto_commit()
        future = self._prepare_commit
        shorter = timer if timer.deadline_ms < limit.deadline_ms else limit
        yield from self._client.await_future(future, shorter)
        is_over = limit.is_expired or (future.is_done and not (future.failed and future.is_retriable))
        if future.is_done:
            self._prepare_commit = None
        if is_over:
            self._prepare_timer = self._prepare_commit = None
            return True
        yield from sleep(shorter, self._config.retry_backoff_ms)
        return False

    def on_leader_elected(self, answer: Message) -> Mapping[str, bytes] | None:
        """Assign the partitions of the whole group (CSM-GRP-04)."""
        return self._leader.assign(answer, self._clock.now_ms)

    def on_join_complete(self, assignment: bytes) -> Call[None]:
        """Apply the assignment, and tell the listener what really changes (CSM-GRP-11).

        All steps are done even if one raises. The first exception is raised at the end (CSM-GRP-13).
        """
        generation = self.generation
        assignor = self._leader.assignor(generation.protocol_name)
        self.group_metadata = ConsumerGroupMetadata(
            self.group_id, generation.id, generation.member_id, self.instance_id
        )
        assigned = sorted(decode_assignment(assignment).partitions)
        if not self._subscriptions.matches_subscription(assigned):
            self.request_rejoin("the assignment does not match the subscription, which has changed")
            return
        owned = self._subscriptions.assigned
        error = yield from self._revoke_moved(owned, assigned)
        self._adopt_topics(assigned)
        try:
            assignor.on_assignment(assigned, generation.id)
        except Exception as raised:
            error = error or raised
        self.commits.reset_auto_commit()
        self._subscriptions.assign_from_subscribed(assigned)
        self._trace(
            AssignmentApplied(
                at_ms=self._clock.now_ms,
                generation=generation.id,
                member_id=generation.member_id,
                assignor=assignor.name,
                partitions=names(assigned),
            )
        )
        told = yield from self._listener.assigned([each for each in assigned if each not in owned])
        raise_wrapped(error or told)

    def _revoke_moved(
        self, owned: Sequence[TopicPartition], assigned: Sequence[TopicPartition]
    ) -> Call[Exception | None]:
        """Give up what the assignment takes from a cooperative member, and join again so that others get it."""
        revoked = [each for each in owned if each not in assigned]
        if self._protocol is not RebalanceProtocol.COOPERATIVE or not revoked:
            return None
        error = yield from self._listener.revoked(revoked)
        self.request_rejoin("partitions were revoked")
        return error

    def _adopt_topics(self, assigned: Sequence[TopicPartition]) -> None:
        """Add topics that match the pattern, which the leader knew before this member."""
        if not self._subscriptions.has_pattern:
            return
        joined = self._joined_topics or frozenset()
        if added := {topic for topic, _ in assigned} - joined:
            if self._subscriptions.subscribe_from_pattern(self._subscriptions.subscription | added):
                self._metadata.request_update_for_new_topics()
            self._joined_topics = joined | added

    # Leaving

    def on_leave_prepare(self) -> Call[None]:
        """Give up all partitions: as lost if the generation is lost or in doubt, else as revoked."""
        dropped = self._subscriptions.assigned
        if not (self._subscriptions.has_auto_assigned_partitions and dropped):
            return
        if self._has_lost_ownership or self.rebalance_in_progress:
            error = yield from self._listener.lost(dropped)
        else:
            error = yield from self._listener.revoked(dropped)
        self._subscriptions.assign_from_subscribed([])
        raise_wrapped(error)

    def unsubscribe(self) -> Call[None]:
        """Give up all partitions and leave the group."""
        try:
            yield from self.on_leave_prepare()
        finally:
            self.maybe_leave_group("the consumer unsubscribed from all topics")

    def enforce_rebalance(self, reason: str) -> None:
        """Join again in the next poll. Raise IllegalStateError without a subscription."""
        if not self._subscriptions.has_auto_assigned_partitions:
            raise IllegalStateError("rebalance-without-subscription", "the consumer has no subscription")
        self.request_rejoin(reason)

    def close(self, timer: Timer, operation: str = DEFAULT) -> Call[None]:
        """Commit if that is automatic, finish pending commits, give everything up, and leave if that is due."""
        self._client.disable_wakeups()
        try:
            yield from self.commits.close(timer)
        finally:
            yield from super().close(timer, operation)
