"""OffsetFetches: looks up the group's committed offsets (fetchCommittedOffsets in ConsumerCoordinator)."""

from __future__ import annotations

from collections.abc import Collection

from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Timer, sleep
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.group_errors import group_error, unexpected_error
from clients.reference.consumer.coordinator.group_member import GroupMember
from clients.reference.consumer.coordinator.group_requests import (
    BY_NAME_HIGHEST,
    group_of,
    offset_fetch_request,
)
from clients.reference.consumer.errors import (
    ConsumerError,
    StaleMemberEpochError,
    TopicAuthorizationError,
    UnstableOffsetCommitError,
)
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.positions import (
    FetchPosition,
    OffsetAndMetadata,
    TopicPartition,
)
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.ports import Jitter
from harness.wire.apis import Api
from harness.wire.error_table import error_for

Committed = dict[TopicPartition, OffsetAndMetadata | None]
"""The committed offset of each partition, or None if there is none."""


class OffsetFetches:
    """One request at a time. A call that gives up leaves it in flight for the next call with the same question."""

    def __init__(
        self,
        config: ConsumerConfig,
        member: GroupMember,
        client: ConsumerNetworkClient,
        metadata: ConsumerMetadata,
        subscriptions: SubscriptionState,
        jitter: Jitter,
    ) -> None:
        self._member = member
        self._client = client
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self._asked: tuple[frozenset[TopicPartition], Generation | None] | None = None
        self._future: RequestFuture[Committed] | None = None

    def initialize_positions(self, timer: Timer) -> Call[bool]:
        """Start the initializing partitions at their committed offsets. Return whether there was time for it."""
        committed = yield from self.fetch(self._subscriptions.initializing, timer)
        if committed is None:
            return False
        for partition, found in committed.items():
            state = self._subscriptions.state(partition)
            if found is None:
                continue
            if found.leader_epoch is not None:
                self._metadata.learn_epoch(partition, found.leader_epoch)
            if state is not None and state.is_initializing:
                leader = self._metadata.leader_and_epoch(partition)
                state.seek_unvalidated(FetchPosition(found.offset, found.leader_epoch, leader))
        return True

    def fetch(self, partitions: Collection[TopicPartition], timer: Timer) -> Call[Committed | None]:
        """Return the committed offsets, or None if ``timer`` expired. Raise errors that no repetition can heal."""
        if not partitions:
            return {}
        asked = frozenset(partitions), self._member.stable_generation
        if self._asked != asked:
            self._asked, self._future = asked, None
        attempts = 0
        while True:
            if not (yield from self._member.lookup.ensure_ready(timer)):
                return None
            future = self._future = self._future or self._send(partitions)
            yield from self._client.await_future(future, timer)
            if not future.is_done:
                return None
            self._future = None
            if future.succeeded:
                return future.value
            if not (future.is_retriable or isinstance(future.error, StaleMemberEpochError)):
                raise future.error
            yield from sleep(timer, self._backoff.delay_ms(attempts))
            attempts += 1
            if timer.is_expired:
                return None

    def _send(self, partitions: Collection[TopicPartition]) -> RequestFuture[Committed]:
        build = offset_fetch_request(self._member.group_id, partitions, self._member.fetching_as)
        return self._member.ask(
            Api.OFFSET_FETCH, build, self._answered, highest=BY_NAME_HIGHEST[Api.OFFSET_FETCH]
        )

    def _answered(self, body: Message, future: RequestFuture[Committed], sent: Generation) -> None:
        """Handle errors of the whole request first, also if it lists no partitions (CSM-OFC-07)."""
        group = group_of(body)
        error = error_for(int(getattr(group, "error_code", 0)))
        if not error.code:
            self._read(group, future)
            return
        if error.name in ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"):
            self._member.lookup.lost(f"OffsetFetch: {error.name}")
        if error.name == "STALE_MEMBER_EPOCH":
            future.fail(StaleMemberEpochError("epoch-is-stale", "the member has a newer epoch since"))
        elif error.retriable or error.name == "GROUP_AUTHORIZATION_FAILED":
            future.fail(group_error(error, Api.OFFSET_FETCH, self._member.group_id))
        else:
            future.fail(unexpected_error(error, Api.OFFSET_FETCH, self._member.group_id))

    def _read(self, group: Message, future: RequestFuture[Committed]) -> None:
        committed: Committed = {}
        forbidden, unstable = set[str](), set[str]()
        for topic in group.topics:
            for each in topic.partitions:
                error, name = error_for(int(each.error_code)), f"{topic.name}-{each.partition_index}"
                if not error.code:
                    committed[topic.name, int(each.partition_index)] = _stored(each)
                elif error.name == "TOPIC_AUTHORIZATION_FAILED":
                    forbidden.add(topic.name)
                elif error.name == "UNSTABLE_OFFSET_COMMIT":
                    unstable.add(name)
                elif error.name in ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"):
                    self._member.lookup.lost(f"OffsetFetch: {error.name}")
                    future.fail(group_error(error, Api.OFFSET_FETCH, self._member.group_id))
                    return
                elif error.retriable and not error.invalid_metadata:
                    future.fail(group_error(error, Api.OFFSET_FETCH, self._member.group_id))
                    return
                else:
                    future.fail(_partition_failed(name, error.name))
                    return
        if forbidden:
            future.fail(TopicAuthorizationError(forbidden))
        elif unstable:
            future.fail(
                UnstableOffsetCommitError(
                    "offsets-unstable",
                    "a transaction that is not complete has offsets of {partitions}",
                    partitions=tuple(sorted(unstable)),
                )
            )
        else:
            future.complete(committed)


def _stored(answer: Message) -> OffsetAndMetadata | None:
    if answer.committed_offset < 0:
        return None
    epoch = int(getattr(answer, "committed_leader_epoch", -1))
    return OffsetAndMetadata(
        int(answer.committed_offset), answer.metadata or "", None if epoch < 0 else epoch
    )


def _partition_failed(partition: str, error: str) -> ConsumerError:
    return ConsumerError(
        "offset-fetch-failed",
        "the committed offset of {partition} cannot be looked up: {error}",
        partition=partition,
        error=error,
    )
