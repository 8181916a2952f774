"""Validation of positions: after a change of leader, is what was read still in the log (CSM-FET-07, KIP-320)?

The leader is asked where the epoch of the last record that was read ends in its log. If that is before the position,
an unclean election has truncated the log. The partition is not fetched meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Clock
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.errors import ConsumerError, LogTruncationError
from clients.reference.consumer.offsets.leader_changes import VALIDATION_LOWEST, validate_position
from clients.reference.consumer.offsets.leader_epochs import epoch_ends, leader_epoch_request
from clients.reference.consumer.subscription.positions import FetchPosition, LogTruncation
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.telemetry.fetch_events import LogTruncated
from clients.reference.telemetry.trace import Trace
from harness.wire.apis import Api

Positions = dict[TopicPartition, FetchPosition]


class PositionValidator:
    """Compares positions with the leaders' logs."""

    def __init__(
        self,
        config: ConsumerConfig,
        client: ConsumerNetworkClient,
        metadata: ConsumerMetadata,
        subscriptions: SubscriptionState,
        clock: Clock,
        trace: Trace,
    ) -> None:
        self._client, self._metadata, self._subscriptions = client, metadata, subscriptions
        self._clock, self._trace = clock, trace
        self._request_timeout_ms, self._retry_backoff_ms = config.request_timeout_ms, config.retry_backoff_ms
        self._seen_version = -1
        self._error: Exception | None = None

    def validate_on_metadata_change(self) -> None:
        """Compare all leaders with those of the positions, once per change of the metadata."""
        if self._seen_version != self._metadata.update_version:
            self._seen_version = self._metadata.update_version
            for partition in self._subscriptions.assigned:
                validate_position(partition, self._client, self._metadata, self._subscriptions)

    def validate_if_needed(self) -> None:
        """Queue a request to each leader whose partitions await validation.

        Raise what an earlier validation found: LogTruncationError, TopicAuthorizationError or another final error.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error
        self.validate_on_metadata_change()
        by_leader: dict[int, Positions] = {}
        for partition in self._subscriptions.needing_validation(self._clock.now_ms):
            position = self._subscriptions.position(partition)
            if position is not None and position.leader.node_id is not None:
                by_leader.setdefault(position.leader.node_id, {})[partition] = position
            else:
                self._metadata.request_update()
        for node_id, positions in by_leader.items():
            self._validate(node_id, positions)

    def _validate(self, node_id: int, positions: Positions) -> None:
        supported = self._client.supports(node_id, Api.OFFSET_FOR_LEADER_EPOCH, VALIDATION_LOWEST)
        now_ms = self._clock.now_ms
        if supported is None:
            self._client.try_connect(node_id, now_ms)
        elif not supported:
            for partition in positions:
                if state := self._subscriptions.state(partition):
                    state.complete_validation()
        else:
            self._subscriptions.set_next_allowed_retry(positions, now_ms + self._request_timeout_ms)
            future = self._client.send(
                node_id,
                Api.OFFSET_FOR_LEADER_EPOCH,
                leader_epoch_request(positions),
                now_ms,
                lowest=VALIDATION_LOWEST,
            )
            future.add_listener(partial(self._answered, positions), partial(self._failed, positions))

    def _answered(self, positions: Positions, body: Message) -> None:
        try:
            answer = epoch_ends(positions, body)
        except ConsumerError as error:
            self._failed(positions, error)
            return
        if answer.retry:
            self._again(answer.retry)
        truncations = []
        for partition, (end_offset, epoch) in answer.ends.items():
            asked = positions[partition]
            if end_offset < asked.offset:
                self._trace_truncation(partition, asked, end_offset)
            found = self._subscriptions.complete_validation(partition, asked, end_offset, epoch)
            if found is not None:
                truncations.append(found)
        if truncations:
            self._keep(_truncation_error(truncations))

    def _failed(self, positions: Positions, error: Exception) -> None:
        self._again(positions)
        if not getattr(error, "retriable", False):
            self._keep(error)

    def _again(self, partitions: Collection[TopicPartition]) -> None:
        self._subscriptions.set_next_allowed_retry(partitions, self._clock.now_ms + self._retry_backoff_ms)
        self._metadata.request_update()

    def _keep(self, error: Exception) -> None:
        """Keep an error for the next call. The first one counts."""
        self._error = self._error or error

    def _trace_truncation(self, partition: TopicPartition, asked: FetchPosition, end_offset: int) -> None:
        self._trace(
            LogTruncated(
                at_ms=self._clock.now_ms,
                partition=f"{partition[0]}-{partition[1]}",
                offset=asked.offset,
                end_offset=end_offset,
            )
        )


def _truncation_error(truncations: list[LogTruncation]) -> LogTruncationError:
    return LogTruncationError(
        {each.partition: each.position.offset for each in truncations},
        {each.partition: each.divergent for each in truncations if each.divergent is not None},
    )
