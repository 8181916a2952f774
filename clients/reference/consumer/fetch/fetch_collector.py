"""FetchCollector: hands buffered data to the application, and moves the positions with it.

Data counts only while it begins at the partition's position. A seek, a reset or another assignment makes it obsolete
(CSM-FET-03). Data of a paused partition waits in the buffer (CSM-FET-08). An error of one partition is raised only if
there is nothing to return. Otherwise it waits for the next call.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clients.reference.consumer.calls import Call, Clock
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_record import ConsumerRecord
from clients.reference.consumer.deserializers import Deserializers
from clients.reference.consumer.errors import (
    ConsumerError,
    CorruptRecordError,
    OffsetOutOfRangeError,
    ResponseError,
    TopicAuthorizationError,
)
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetch_buffer import FetchBuffer
from clients.reference.consumer.fetch.fetch_request import FetchSettings
from clients.reference.consumer.subscription.positions import FetchPosition, OffsetAndMetadata
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.telemetry.fetch_events import (
    FetchDropped,
    FetchFailed,
    NothingToReturn,
    RecordsReturned,
)
from clients.reference.telemetry.trace import Trace, no_trace
from harness.wire.errors import WireError

#: Errors of a partition after which the client asks for metadata, and goes back to the leader.
_OTHER_LEADER = frozenset(
    (
        "NOT_LEADER_OR_FOLLOWER",
        "REPLICA_NOT_AVAILABLE",
        "KAFKA_STORAGE_ERROR",
        "FENCED_LEADER_EPOCH",
        "OFFSET_NOT_AVAILABLE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
        "INCONSISTENT_TOPIC_ID",
    )
)
#: Errors after which it only fetches again.
_AGAIN = frozenset(("UNKNOWN_LEADER_EPOCH", "UNKNOWN_SERVER_ERROR"))


@dataclass(slots=True)
class Fetch:
    """The result of one collection: records by partition, and the positions after them."""

    records: dict[TopicPartition, list[ConsumerRecord]] = field(default_factory=dict)
    next_offsets: dict[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)
    count: int = 0
    position_advanced: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened: there are no records, and no position has moved."""
        return not self.count and not self.position_advanced

    def add(self, partition: TopicPartition, records: list[ConsumerRecord], after: OffsetAndMetadata) -> None:
        """Add the next records of a partition."""
        self.next_offsets[partition] = after
        self.count += len(records)
        if partition in self.records:
            self.records[partition] += records
        elif records:
            self.records[partition] = records


class FetchCollector:
    """Reads ``buffer`` (FetchCollector in Java). ``metadata_max_age_ms`` is how long a nearer replica is preferred."""

    def __init__(
        self,
        buffer: FetchBuffer,
        metadata: ConsumerMetadata,
        subscriptions: SubscriptionState,
        settings: FetchSettings,
        deserializers: Deserializers,
        clock: Clock,
        trace: Trace,
        *,
        metadata_max_age_ms: int,
    ) -> None:
        self._buffer, self._metadata, self._subscriptions = buffer, metadata, subscriptions
        self._settings, self._deserializers = settings, deserializers
        self._clock, self._trace = clock, trace
        self._preference_ms = metadata_max_age_ms

    def collect(self) -> Call[Fetch]:
        """Return buffered records, at most max.poll.records. Raise an error of a partition if there is nothing else."""
        fetch = Fetch()
        paused: list[CompletedFetch] = []
        try:
            while fetch.count < self._settings.max_poll_records:
                current = self._buffer.next_in_line
                if current is None or current.is_consumed:
                    if not self._line_up(fetch):
                        break
                elif self._subscriptions.is_paused(current.partition):
                    paused.append(current)
                    self._buffer.next_in_line = None
                else:
                    yield from self._add_records(current, fetch)
        except ConsumerError:
            if fetch.is_empty:
                raise
        finally:
            self._buffer.add_all(paused)
        return fetch

    def _line_up(self, fetch: Fetch) -> bool:
        """Put the next completed fetch in line, if it can be read. Return False if there is none."""
        following = self._buffer.peek()
        if following is None:
            return False
        try:
            is_ready = following.is_initialized or self._initialize(following)
        except ConsumerError:
            # An error without data is raised once. With data it stays in front of them.
            if fetch.is_empty and not following.data.records:
                self._buffer.poll()
                following.drain()
            raise
        self._buffer.next_in_line = following if is_ready else None
        self._buffer.poll()
        if not is_ready:
            following.drain()
        return True

    def _add_records(self, current: CompletedFetch, fetch: Fetch) -> Call[None]:
        partition = current.partition
        state = self._subscriptions.state(partition)
        position = state.position if state is not None and state.is_fetchable else None
        if position is None or position.offset != current.next_fetch_offset:
            self._drop(current, "no longer at the position" if position else "no longer fetchable")
            return
        records = yield from current.fetch_records(
            self._deserializers, self._settings.max_poll_records - fetch.count
        )
        # Deserializers are the application's code, which has run meanwhile.
        if self._deserializers and not self._is_still_at(partition, position):
            self._drop(current, "no longer at the position")
            return
        if current.next_fetch_offset > position.offset:
            after = FetchPosition(current.next_fetch_offset, current.last_epoch, position.leader)
            self._subscriptions.advance(partition, after)
            fetch.position_advanced = True
            self._trace_return(partition, len(records), position, after)
        else:
            self._trace_nothing(partition, position)
        fetch.add(partition, records, OffsetAndMetadata(current.next_fetch_offset, "", current.last_epoch))
        if current.is_consumed and current.records_read:
            self._subscriptions.move_to_end(partition)

    def _is_fetchable(self, partition: TopicPartition) -> bool:
        return self._subscriptions.is_fetchable(partition)

    def _is_still_at(self, partition: TopicPartition, position: FetchPosition) -> bool:
        return self._is_fetchable(partition) and self._subscriptions.position(partition) == position

    def _drop(self, fetch: CompletedFetch, reason: str) -> None:
        fetch.drain()
        self._trace_drop(fetch, reason)

    # The first look at a completed fetch

    def _initialize(self, fetch: CompletedFetch) -> bool:
        """Process everything but the records. Return whether they can be read."""
        partition, data = fetch.partition, fetch.data
        if not self._subscriptions.has_valid_position(partition):
            self._trace_drop(fetch, "without a valid position")
            return False
        if data.error_code:
            try:
                self._handle_error(fetch)
            finally:
                self._subscriptions.move_to_end(partition)
            return False
        if not self._is_at_position(fetch):
            self._trace_drop(fetch, "not at the position")
            return False
        self._update_limits(fetch)
        fetch.is_initialized = True
        return True

    def _is_at_position(self, fetch: CompletedFetch) -> bool:
        position = self._subscriptions.position(fetch.partition)
        return position is not None and position.offset == fetch.next_fetch_offset

    def _update_limits(self, fetch: CompletedFetch) -> None:
        partition, data, subscriptions = fetch.partition, fetch.data, self._subscriptions
        if data.high_watermark >= 0:
            subscriptions.update_high_watermark(partition, data.high_watermark)
        if data.log_start_offset >= 0:
            subscriptions.update_log_start_offset(partition, data.log_start_offset)
        if data.last_stable_offset >= 0:
            subscriptions.update_last_stable_offset(partition, data.last_stable_offset)
        if data.preferred_read_replica >= 0:
            until_ms = self._clock.now_ms + self._preference_ms
            subscriptions.prefer_replica(partition, data.preferred_read_replica, until_ms)

    def _handle_error(self, fetch: CompletedFetch) -> None:
        """Process a partition's error (handleInitializeErrors in Java). Raise what the application must know."""
        partition, name, offset = fetch.partition, fetch.data.error.name, fetch.next_fetch_offset
        self._trace(
            FetchFailed(at_ms=self._clock.now_ms, partition=_name(partition), offset=offset, error=name)
        )
        if name in _OTHER_LEADER:
            self._metadata.request_update()
            self._subscriptions.clear_preferred_replica(partition)
        elif name == "OFFSET_OUT_OF_RANGE":
            self._handle_out_of_range(fetch)
        elif name == "TOPIC_AUTHORIZATION_FAILED":
            raise TopicAuthorizationError([partition[0]])
        elif name == "CORRUPT_MESSAGE":
            raise CorruptRecordError(
                partition, offset, WireError("log-corrupt", "the broker's log is corrupt")
            )
        elif name not in _AGAIN:
            raise ResponseError(
                fetch.data.error,
                "fetch-refused",
                "{partition} cannot be read at offset {offset}: {error}",
                partition=_name(partition),
                offset=offset,
                error=name,
            )

    def _handle_out_of_range(self, fetch: CompletedFetch) -> None:
        """Go back to the leader, or reset the position, or raise OffsetOutOfRangeError (CSM-FET-06)."""
        partition, offset = fetch.partition, fetch.next_fetch_offset
        if self._subscriptions.clear_preferred_replica(partition) is not None:
            return
        if not self._is_at_position(fetch):
            self._trace_drop(fetch, "not at the position")
        elif self._subscriptions.has_default_reset_policy:
            self._subscriptions.request_offset_reset_if_assigned(partition)
        else:
            raise OffsetOutOfRangeError({partition: offset})

    # Trace

    def _trace_drop(self, fetch: CompletedFetch, reason: str) -> None:
        name = _name(fetch.partition)
        self._trace(
            FetchDropped(
                at_ms=self._clock.now_ms, partition=name, offset=fetch.next_fetch_offset, reason=reason
            )
        )

    def _trace_return(
        self, partition: TopicPartition, count: int, before: FetchPosition, after: FetchPosition
    ) -> None:
        if self._trace is no_trace:
            return
        self._trace(
            RecordsReturned(
                at_ms=self._clock.now_ms,
                partition=_name(partition),
                record_count=count,
                offset=before.offset,
                next_offset=after.offset,
                **self._distances(partition),
            )
        )

    def _trace_nothing(self, partition: TopicPartition, at: FetchPosition) -> None:
        if self._trace is no_trace:
            return
        self._trace(
            NothingToReturn(
                at_ms=self._clock.now_ms,
                partition=_name(partition),
                offset=at.offset,
                **self._distances(partition),
            )
        )

    def _distances(self, partition: TopicPartition) -> dict[str, int | None]:
        """Return how far the position is from the log's end and beginning."""
        return {
            "lag": self._subscriptions.lag(partition, self._settings.isolation_level),
            "lead": self._subscriptions.lead(partition),
        }


def _name(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"
