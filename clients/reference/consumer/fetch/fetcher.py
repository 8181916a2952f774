"""Fetcher: keeps one Fetch request in flight to each broker that has something to fetch (AbstractFetch in Java).

A partition is fetched from its leader, or from the replica that the leader recommended (KIP-392). No request goes to a
broker whose last response is still buffered for a partition that is being read (CSM-FET-01), so the memory for a
broker is bounded by fetch.max.bytes.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Timer
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.deserializers import Deserializers
from clients.reference.consumer.errors import UnsupportedVersionError, error_name
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetch_buffer import FetchBuffer
from clients.reference.consumer.fetch.fetch_collector import Fetch, FetchCollector
from clients.reference.consumer.fetch.fetch_request import (
    BY_NAME_HIGHEST,
    LOWEST,
    FetchSettings,
    fetch_request,
)
from clients.reference.consumer.fetch.fetch_response import FetchAnswer, fetch_answer
from clients.reference.consumer.fetch.fetch_session_handler import (
    NO_SESSION,
    FetchPartition,
    FetchRequestData,
    FetchSessionHandler,
)
from clients.reference.consumer.fetch.fetch_tally import FetchTally
from clients.reference.consumer.offsets.leader_changes import validate_position
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.telemetry.fetch_events import FetchAnswered, FetchSent
from clients.reference.telemetry.trace import Trace
from harness.wire.apis import Api

_OTHER_LEADER = ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")


class Fetcher:
    """Sends requests, buffers responses, and returns their records."""

    collector_component: type[FetchCollector] = FetchCollector  # variants of the client replace these
    session_component: type[FetchSessionHandler] = FetchSessionHandler
    completed_component: type[CompletedFetch] = CompletedFetch

    def __init__(
        self,
        config: ConsumerConfig,
        client: ConsumerNetworkClient,
        metadata: ConsumerMetadata,
        subscriptions: SubscriptionState,
        deserializers: Deserializers,
        clock: Clock,
        trace: Trace,
    ) -> None:
        self._client, self._metadata, self._subscriptions = client, metadata, subscriptions
        self._clock, self._trace = clock, trace
        self._settings = FetchSettings.of(config)
        self._buffer = FetchBuffer()
        self._sessions: dict[int, FetchSessionHandler] = {}
        self._nodes_with_pending: set[int] = set()
        self._mismatch: UnsupportedVersionError | None = None
        self._collector = self.collector_component(
            self._buffer,
            metadata,
            subscriptions,
            self._settings,
            deserializers,
            clock,
            trace,
            metadata_max_age_ms=config.metadata_max_age_ms,
        )

    # The application's side

    def collect(self) -> Call[Fetch]:
        """Return buffered records, at most max.poll.records. Raise an error of a partition if there is nothing else.

        Raise UnsupportedVersionError if a broker has no usable version of Fetch (NET-CON-04). Java only logs that, and
        asks again without a pause.
        """
        fetch = yield from self._collector.collect()
        mismatch = self._mismatch
        if mismatch is not None and fetch.is_empty:
            self._mismatch = None
            raise mismatch
        return fetch

    @property
    def has_available_fetches(self) -> bool:
        """Whether ``collect`` would find data of a partition that is being read."""
        return self._buffer.has(lambda fetch: self._subscriptions.is_fetchable(fetch.partition))

    def clear_buffered_data_for_unassigned(self, assigned: Collection[TopicPartition]) -> None:
        """Drop the data of all other partitions."""
        self._mismatch = None
        self._buffer.retain_all(assigned)

    def close(self, timer: Timer) -> Call[None]:
        """End the sessions, waiting at most until ``timer`` expires, and drop what is buffered (CSM-FET-10)."""
        self._client.disable_wakeups()
        futures = [self._end_session(node_id, session) for node_id, session in self._sessions.items()]
        self._sessions = {}
        for future in futures:
            if future is not None:
                yield from self._client.await_future(future, timer, wakeup=False)
        self._buffer.close()

    def _end_session(self, node_id: int, session: FetchSessionHandler) -> RequestFuture[Message] | None:
        now_ms = self._clock.now_ms
        is_reachable = node_id in self._metadata.nodes and not self._client.is_unavailable(node_id, now_ms)
        if session.session_id == NO_SESSION or not is_reachable:
            return None
        session.notify_close()
        return self._send(node_id, session.build({}), now_ms)

    # Requests

    def send_fetches(self, now_ms: int) -> int:
        """Queue a request to each broker that can have one now. Return their number.

        Raise the AuthenticationError of a broker that refused the credentials.
        """
        wanted = self._partitions_by_node(now_ms)
        for node_id, partitions in wanted.items():
            session = self._sessions.setdefault(node_id, self.session_component())
            data = session.build(partitions)
            self._nodes_with_pending.add(node_id)
            self._send(node_id, data, now_ms).add_listener(
                partial(self._handle_success, node_id, session, data),
                partial(self._handle_failure, node_id, session),
            )
        return len(wanted)

    def _send(self, node_id: int, data: FetchRequestData, now_ms: int) -> RequestFuture[Message]:
        self._trace(
            FetchSent(
                at_ms=now_ms,
                node=node_id,
                session_id=data.metadata.session_id,
                session_epoch=data.metadata.epoch,
                partitions=len(data.to_send),
                forgotten=len(data.to_forget),
            )
        )
        return self._client.send(
            node_id,
            Api.FETCH,
            fetch_request(data, self._settings),
            now_ms,
            lowest=LOWEST,
            highest=None if data.uses_topic_ids else BY_NAME_HIGHEST,
        )

    def _partitions_by_node(self, now_ms: int) -> dict[int, dict[TopicPartition, FetchPartition]]:
        """Return what to ask of each node, in the order in which the partitions are read."""
        buffered = self._buffer.buffered_partitions()
        unbuffered = self._subscriptions.fetchable(lambda partition: partition not in buffered)
        if not unbuffered:
            return {}
        busy = {self._node_for(each, now_ms) for each in buffered if self._subscriptions.is_fetchable(each)}
        busy |= self._nodes_with_pending
        wanted: dict[int, dict[TopicPartition, FetchPartition]] = {}
        for partition in unbuffered:
            node_id = self._node_for(partition, now_ms)
            if node_id is None or node_id in busy:
                continue
            if self._client.is_unavailable(node_id, now_ms):
                self._client.raise_auth_failure(node_id)
            else:
                wanted.setdefault(node_id, {})[partition] = self._question(partition)
        return wanted

    def _question(self, partition: TopicPartition) -> FetchPartition:
        position = self._subscriptions.position(partition)
        assert position is not None, "a fetchable partition has a position"
        return FetchPartition(
            self._metadata.topic_id(partition[0]),
            position.offset,
            position.leader.epoch,
            self._settings.max_partition_bytes,
        )

    def _node_for(self, partition: TopicPartition, now_ms: int) -> int | None:
        """Return the node to fetch from. None if there is no leader or no address, and metadata is then requested."""
        state = self._subscriptions.state(partition)
        leader = state.position.leader.node_id if state and state.position else None
        if state is None or leader not in self._metadata.nodes:
            self._metadata.request_update()
            return None
        preferred = state.preferred_replica_at(now_ms)
        if preferred is None:
            return leader
        known = self._metadata.current_leader(partition)
        is_online = preferred in known.replicas and preferred not in known.offline_replicas
        if is_online and preferred in self._metadata.nodes:
            return preferred
        self._metadata.request_update()
        self._subscriptions.clear_preferred_replica(partition)
        return leader

    # Responses

    def _handle_success(
        self, node_id: int, session: FetchSessionHandler, data: FetchRequestData, body: Message
    ) -> None:
        self._nodes_with_pending.discard(node_id)
        answer = fetch_answer(body, session.topic_names)
        usable = session.handle_response(answer)
        self._trace_answer(node_id, answer, usable=usable)
        if not usable:
            if answer.error.name == "FETCH_SESSION_TOPIC_ID_ERROR":
                self._metadata.request_update()
            return
        tally = FetchTally(node_id, len(answer.partitions), self._clock, self._trace)
        for partition, part in answer.partitions.items():
            offset = data.partitions[partition].fetch_offset
            completed = self.completed_component(partition, part, offset, self._settings)
            completed.on_end = tally.add
            self._buffer.add(completed)
        self._learn_leaders(answer)

    def _learn_leaders(self, answer: FetchAnswer) -> None:
        """Adopt the leaders that the response names (KIP-951, MET-09), and validate the positions there."""
        leaders = {
            partition: (part.leader_id, part.leader_epoch)
            for partition, part in answer.partitions.items()
            if part.error_code
            and part.error.name in _OTHER_LEADER
            and part.leader_id >= 0 <= part.leader_epoch
        }
        if leaders:
            moved = self._metadata.update_partition_leadership(leaders, answer.nodes, self._clock.now_ms)
            for partition in moved:
                validate_position(partition, self._client, self._metadata, self._subscriptions)

    def _handle_failure(self, node_id: int, session: FetchSessionHandler, error: Exception) -> None:
        self._nodes_with_pending.discard(node_id)
        session.handle_error()
        if isinstance(error, UnsupportedVersionError):
            self._mismatch = error
        for partition in session.partitions:
            self._subscriptions.clear_preferred_replica(partition)
        self._trace(
            FetchAnswered(
                at_ms=self._clock.now_ms,
                node=node_id,
                session_id=session.session_id,
                partitions=0,
                size_bytes=0,
                usable=False,
                error=error_name(error),
            )
        )

    def _trace_answer(self, node_id: int, answer: FetchAnswer, *, usable: bool) -> None:
        self._trace(
            FetchAnswered(
                at_ms=self._clock.now_ms,
                node=node_id,
                session_id=answer.session_id,
                partitions=len(answer.partitions),
                size_bytes=answer.size_bytes,
                usable=usable,
                error=answer.error.name if answer.error.code else "",
            )
        )
