"""OffsetFetcher: looks up offsets by time, for positions without one and for the application (CSM-FET-11).

A lookup goes to the leader of each partition and is retried until it succeeds. Its result counts only if the partition
still waits for the same lookup, so a seek in between is not undone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig, duration_ms
from clients.reference.consumer.calls import Call, Clock, Timer
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.errors import (
    ConsumerError,
    NoOffsetForPartitionError,
    StaleMetadataError,
    TimeoutError,
)
from clients.reference.consumer.offsets.list_offsets import (
    EARLIEST,
    LATEST,
    ListedOffset,
    ListedOffsets,
    OffsetAndTimestamp,
    list_offsets_request,
    listed_offsets,
    lowest_version,
)
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.positions import BEGINNING, END, FetchPosition
from clients.reference.consumer.subscription.subscription_state import NO_RESET, SubscriptionState
from clients.reference.metadata.topic_metadata import NO_EPOCH, TopicPartition
from clients.reference.telemetry.fetch_events import OffsetReset
from clients.reference.telemetry.trace import Trace
from harness.wire.apis import Api

Wanted = dict[TopicPartition, ListedOffset]


class OffsetFetcher:
    """Looks up offsets (OffsetFetcher and OffsetFetcherUtils in Java). ``wall_ms`` returns the Unix time in ms."""

    def __init__(
        self,
        config: ConsumerConfig,
        client: ConsumerNetworkClient,
        metadata: ConsumerMetadata,
        subscriptions: SubscriptionState,
        clock: Clock,
        wall_ms: Callable[[], int],
        trace: Trace,
    ) -> None:
        self._client, self._metadata, self._subscriptions = client, metadata, subscriptions
        self._clock, self._wall_ms, self._trace = clock, wall_ms, trace
        self._request_timeout_ms, self._retry_backoff_ms = config.request_timeout_ms, config.retry_backoff_ms
        self._isolation_level = config.isolation_level
        self._error: Exception | None = None

    # Positions

    def reset_if_needed(self) -> None:
        """Queue a lookup for each partition whose position must be reset and whose backoff is over.

        Raise the final error of an earlier lookup, or NoOffsetForPartitionError if there is no policy.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error
        strategies: dict[TopicPartition, str] = {}
        times: dict[TopicPartition, int] = {}
        for partition in self._subscriptions.needing_reset(self._clock.now_ms):
            state = self._subscriptions.state(partition)
            strategies[partition] = strategy = (state.strategy if state else None) or NO_RESET
            times[partition] = self._time_of(partition, strategy)
        for node_id, wanted in self._by_leader(times)[0].items():
            retry_at_ms = self._clock.now_ms + self._request_timeout_ms
            self._subscriptions.set_next_allowed_retry(wanted, retry_at_ms)
            self._send(node_id, wanted).add_listener(
                partial(self._reset, wanted, strategies), partial(self._reset_failed, wanted)
            )

    def _time_of(self, partition: TopicPartition, strategy: str) -> int:
        back_ms = duration_ms(strategy)
        if back_ms is not None:
            return self._wall_ms() - back_ms
        if strategy not in (BEGINNING, END):
            raise NoOffsetForPartitionError([partition])
        return EARLIEST if strategy == BEGINNING else LATEST

    def _reset(self, wanted: Wanted, strategies: Mapping[TopicPartition, str], result: ListedOffsets) -> None:
        if result.retry:
            self._metadata.request_update()
        # A partition without a result has no record since then. To take its end instead could skip the next one.
        missing = [each for each in wanted if each not in result.found]
        self._subscriptions.set_next_allowed_retry(missing, self._clock.now_ms + self._retry_backoff_ms)
        for partition, found in result.found.items():
            if partition in wanted:
                self._apply(partition, found, strategies[partition])

    def _apply(self, partition: TopicPartition, found: OffsetAndTimestamp, strategy: str) -> None:
        if found.leader_epoch is not None:
            self._metadata.learn_epoch(partition, found.leader_epoch)
        # Without the epoch, the new position needs no validation.
        position = FetchPosition(found.offset, None, self._metadata.leader_and_epoch(partition))
        self._subscriptions.maybe_seek_unvalidated(partition, position, strategy)
        self._trace(
            OffsetReset(
                at_ms=self._clock.now_ms,
                partition=f"{partition[0]}-{partition[1]}",
                strategy=strategy,
                offset=found.offset,
            )
        )

    def _reset_failed(self, wanted: Wanted, error: Exception) -> None:
        self._subscriptions.set_next_allowed_retry(wanted, self._clock.now_ms + self._retry_backoff_ms)
        self._metadata.request_update()
        if not getattr(error, "retriable", False):
            self._error = self._error or error

    # The application's calls

    def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timer: Timer
    ) -> Call[dict[TopicPartition, OffsetAndTimestamp | None]]:
        """Return the first record at or after a Unix time of each partition, None if there is none.

        Raise TimeoutError at the timer's end, TopicAuthorizationError, or another final error (CSM-API-04).
        """
        found = yield from self._look_up(times_ms, timer)
        return {partition: found.get(partition) for partition in times_ms}

    def beginning_offsets(
        self, partitions: Collection[TopicPartition], timer: Timer
    ) -> Call[dict[TopicPartition, int]]:
        """Return the first offset of each partition. Raise as ``offsets_for_times``."""
        found = yield from self._look_up(dict.fromkeys(partitions, EARLIEST), timer)
        return {partition: each.offset for partition, each in found.items()}

    def end_offsets(
        self, partitions: Collection[TopicPartition], timer: Timer
    ) -> Call[dict[TopicPartition, int]]:
        """Return the offset after the last record that can be read of each partition. Raise as ``offsets_for_times``.

        With a timer of 0 the lookup is only started: its result updates the partition's lag.
        """
        found = yield from self._look_up(dict.fromkeys(partitions, LATEST), timer)
        return {partition: each.offset for partition, each in found.items()}

    def _look_up(
        self, times_ms: Mapping[TopicPartition, int], timer: Timer
    ) -> Call[dict[TopicPartition, OffsetAndTimestamp]]:
        found: dict[TopicPartition, OffsetAndTimestamp] = {}
        remaining = dict(times_ms)
        for topic in {topic for topic, _ in remaining}:
            self._metadata.add(topic, self._clock.now_ms)
        while remaining:
            future = self._send_all(remaining)
            if timer.timeout_ms == 0:
                return found
            if not (yield from self._client.await_future(future, timer)):
                break
            if future.succeeded:
                found |= future.value.found
                remaining = {each: remaining[each] for each in future.value.retry}
            elif not future.is_retriable:
                raise future.error
            if remaining and not timer.is_expired:
                yield from self._client.await_metadata_update(timer)
            if remaining and timer.is_expired:
                break
        if not remaining:
            return found
        raise TimeoutError(
            "offsets-not-found", "offsets were not found within {timeout_ms} ms", timeout_ms=timer.timeout_ms
        )

    # Requests

    def _by_leader(
        self, times_ms: Mapping[TopicPartition, int]
    ) -> tuple[dict[int, Wanted], list[TopicPartition]]:
        """Return what to ask of each leader, and the partitions that have none now."""
        by_leader: dict[int, Wanted] = {}
        without: list[TopicPartition] = []
        for partition, time_ms in times_ms.items():
            leader = self._metadata.leader_and_epoch(partition)
            if leader.node_id is None:
                self._metadata.request_update()
                without.append(partition)
            elif self._client.is_unavailable(leader.node_id, self._clock.now_ms):
                self._client.raise_auth_failure(leader.node_id)
                without.append(partition)
            else:
                epoch = NO_EPOCH if leader.epoch is None else leader.epoch
                by_leader.setdefault(leader.node_id, {})[partition] = ListedOffset(time_ms, epoch)
        return by_leader, without

    def _send_all(self, times_ms: Mapping[TopicPartition, int]) -> RequestFuture[ListedOffsets]:
        """Ask all leaders. The future completes when all have answered, or fails when one has failed."""
        by_leader, retry = self._by_leader(times_ms)
        if not by_leader:
            return RequestFuture.of_error(
                StaleMetadataError("leaders-unknown", "no partition has a leader that can be asked now")
            )
        combined: RequestFuture[ListedOffsets] = RequestFuture()
        found: dict[TopicPartition, OffsetAndTimestamp] = {}
        outstanding = set(by_leader)

        def answered(node_id: int, result: ListedOffsets) -> None:
            self._update_ends(times_ms, result.found)
            found.update(result.found)
            retry.extend(result.retry)
            outstanding.discard(node_id)
            if not outstanding and not combined.is_done:
                combined.complete(ListedOffsets(found, retry))

        def failed(error: Exception) -> None:
            if not combined.is_done:
                combined.fail(error)

        for node_id, wanted in by_leader.items():
            self._send(node_id, wanted).add_listener(partial(answered, node_id), failed)
        return combined

    def _update_ends(
        self, times_ms: Mapping[TopicPartition, int], found: Mapping[TopicPartition, OffsetAndTimestamp]
    ) -> None:
        """Let the lag of assigned partitions know the end: the last stable offset for read_committed."""
        for partition, each in found.items():
            if times_ms.get(partition) != LATEST:
                continue
            if self._isolation_level == "read_committed":
                self._subscriptions.update_last_stable_offset(partition, each.offset)
            else:
                self._subscriptions.update_high_watermark(partition, each.offset)

    def _send(self, node_id: int, wanted: Wanted) -> RequestFuture[ListedOffsets]:
        build = list_offsets_request(
            wanted, isolation_level=self._isolation_level, timeout_ms=self._request_timeout_ms
        )
        lowest = lowest_version(self._isolation_level)
        return self._client.send(node_id, Api.LIST_OFFSETS, build, self._clock.now_ms, lowest=lowest).compose(
            _read
        )


def _read(body: Message, future: RequestFuture[ListedOffsets]) -> None:
    try:
        result = listed_offsets(body)
    except ConsumerError as error:
        future.fail(error)
    else:
        future.complete(result)
