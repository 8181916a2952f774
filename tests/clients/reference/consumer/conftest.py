"""A bench for the reading side of the consumer: its real components over a network that a test answers by hand.

Requests and responses pass through their bytes, so a message that the wire cannot carry fails the test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from clients.reference.common.requests import ClientRequest, ClientResponse
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Invoke, Timer, Wait
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.deserializers import Deserializers
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.reference.consumer.offsets.offset_fetcher import OffsetFetcher
from clients.reference.consumer.offsets.position_validator import PositionValidator
from clients.reference.consumer.subscription.positions import FetchPosition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.telemetry.trace import TraceEvent
from harness.wire.apis import Api
from harness.wire.messages import (
    client_versions,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    make,
    message_class,
    nested,
)
from tests.clients.reference.consumer.coordinator.conftest import group

__all__ = ["group"]

Partition = tuple[str, int]
TOPIC_IDS = {"t": UUID(int=1), "u": UUID(int=2)}
WALL_MS = 1_700_000_000_000


class Sent(NamedTuple):
    """A request that was sent and not answered."""

    request: ClientRequest
    body: Any

    @property
    def node(self) -> int:
        return self.request.node_id

    @property
    def partitions(self) -> dict[Partition, Any]:
        """The partitions in the request, whose topics have names or the ids of TOPIC_IDS."""
        names = {topic_id: name for name, topic_id in TOPIC_IDS.items()}
        found = {}
        for topic in self.body.topics:
            name = getattr(topic, "name", None) or getattr(topic, "topic", None) or names[topic.topic_id]
            for part in topic.partitions:
                index = part.partition_index if hasattr(part, "partition_index") else part.partition
                found[name, int(index)] = part
        return found


class Network:
    """In the place of NetworkClient: connected to all nodes except ``down``, at the ``versions`` that brokers offer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.sent: list[Sent] = []
        self.versions: dict[Api, int] = {}
        self.down: set[int] = set()
        self.refused: dict[int, Exception] = {}
        self.unknown_versions = False
        self.connects: list[int] = []

    def ready(self, node_id: int, now_ms: int) -> bool:
        self.connects.append(node_id)
        return node_id not in self.down

    def send(self, request: ClientRequest, now_ms: int) -> None:
        lowest, version = client_versions(request.api)
        version = min(version, self.versions.get(request.api, version), request.highest or version)
        if version < max(lowest, request.lowest or lowest):
            request.on_complete(ClientResponse(None, version_mismatch="no version in common"), now_ms)
            return
        payload = encode_request(request.build(version), 1, "client")[4:]
        self.sent.append(Sent(request, decode_request(payload)[1]))

    def take(self, api: Api) -> list[Sent]:
        """Remove and return the requests of an API."""
        taken = [each for each in self.sent if each.request.api is api]
        self.sent = [each for each in self.sent if each.request.api is not api]
        return taken

    def reply(self, sent: Sent, body: Any) -> None:
        """Complete a request, with a body or (for None) the end of its connection."""
        if body is not None:
            payload = encode_response(body, 1)[4:]
            body = decode_response(payload, body.__api_key__, body.__version__)[1]
        sent.request.on_complete(ClientResponse(body, disconnected=body is None), self._clock.now_ms)

    def supports(self, node_id: int, api: Api, lowest: int) -> bool | None:
        return None if self.unknown_versions else self.versions.get(api, lowest) >= lowest

    def connection_failed(self, node_id: int) -> bool:
        return node_id in self.down

    def authentication_error(self, node_id: int) -> Exception | None:
        return self.refused.get(node_id)

    def usable_at_ms(self, node_id: int, now_ms: int) -> int | None:
        return now_ms + 50 if node_id in self.down else 0

    def node(self, node_id: int) -> int:
        return node_id

    def in_flight_count(self, node_id: int) -> int:
        return sum(each.node == node_id for each in self.sent)

    def has_in_flight(self) -> bool:
        return bool(self.sent)

    def poll(self, now_ms: int) -> None:
        pass

    def next_deadline_ms(self) -> int | None:
        return None

    def maybe_update(self, now_ms: int) -> int | None:
        return None


class Bench:
    """A consumer's reading side, with partitions assigned by hand. Settings have Java's names, with underscores.

    ``answer`` is called for each request while a call waits, and returns a body, None for a lost connection, or
    ``...`` for no answer.
    """

    def __init__(self, deserializers: Deserializers | None = None, **given: Any) -> None:
        settings = {"bootstrap.servers": "broker:9092"} | {k.replace("_", "."): v for k, v in given.items()}
        self.config = ConsumerConfig.from_mapping(settings)
        self.clock = Clock(1_000)
        self.events: list[TraceEvent] = []
        trace = self.events.append
        self.subscriptions = SubscriptionState(self.config.auto_offset_reset, self.clock, trace)
        self.metadata = ConsumerMetadata(self.config, self.subscriptions, lambda: 0.0, trace)
        self.network = Network(self.clock)
        network: Any = self.network
        self.client = ConsumerNetworkClient(self.config, network, self.metadata, network)
        parts = (self.config, self.client, self.metadata, self.subscriptions)
        self.fetcher = Fetcher(*parts, deserializers or Deserializers(), self.clock, trace)
        self.offsets = OffsetFetcher(*parts, self.clock, lambda: WALL_MS, trace)
        self.validator = PositionValidator(*parts, self.clock, trace)
        self.answer: Callable[[Sent], Any] = lambda sent: ...
        self.leaders: dict[Partition, tuple[int, int]] = {}

    # The cluster

    def led(self, leaders: Mapping[Partition, tuple[int, int]], **more: Any) -> None:
        """Receive metadata with these (leader, epoch) of partitions, and nodes 1 to 3. ``offline`` replicas are 3."""
        self.leaders = dict(leaders)
        kind = message_class(Api.METADATA, 12, "response")
        topic, partition = nested(kind, "MetadataResponseTopic"), nested(kind, "MetadataResponsePartition")
        broker = nested(kind, "MetadataResponseBroker")
        topics = []
        for name in dict.fromkeys(each for each, _ in leaders):
            self.metadata.add(name, self.clock.now_ms)
            parts = [
                make(
                    partition,
                    error_code=0,
                    partition_index=index,
                    leader_id=node,
                    leader_epoch=epoch,
                    replica_nodes=(1, 2, 3),
                    isr_nodes=(1, 2, 3),
                    offline_replicas=more.get("offline", ()),
                )
                for (each, index), (node, epoch) in leaders.items()
                if each == name
            ]
            topic_id = more.get("ids", TOPIC_IDS)[name]
            topics.append(
                make(
                    topic,
                    error_code=0,
                    name=name,
                    topic_id=topic_id,
                    is_internal=False,
                    partitions=tuple(parts),
                )
            )
        brokers = tuple(
            make(broker, node_id=node, host="h", port=9000 + node, rack=None) for node in (1, 2, 3)
        )
        body = make(
            kind, brokers=brokers, topics=tuple(topics), cluster_id="c", controller_id=1, throttle_time=_ms(0)
        )
        self.metadata.update(self.metadata.next_question(self.clock.now_ms), body, self.clock.now_ms)

    def assign(self, offsets: Mapping[Partition, int | None], epoch: int | None = None) -> None:
        """Assign partitions, each with a position unless its offset is None."""
        self.subscriptions.assign_from_user(offsets)
        for partition, offset in offsets.items():
            if offset is not None:
                leader = self.metadata.leader_and_epoch(partition)
                self.subscriptions.seek_validated(partition, FetchPosition(offset, epoch, leader))

    # Steps

    def round(self) -> None:
        """Run one round of the network."""
        self.client.poll(self.clock.now_ms)

    def fetch(self) -> list[Sent]:
        """Send what can be fetched, and return the requests."""
        self.fetcher.send_fetches(self.clock.now_ms)
        self.round()
        return self.network.take(Api.FETCH)

    def requests(self, api: Api) -> list[Sent]:
        """Send what is queued, and return the requests of an API."""
        self.round()
        return self.network.take(api)

    def reply(self, sent: Sent, body: Any) -> None:
        """Complete a request, and run the listeners."""
        self.network.reply(sent, body)
        self.round()

    def collect(self) -> Any:
        return self.run(self.fetcher.collect())

    def timer(self, timeout_ms: int) -> Timer:
        return Timer(self.clock, timeout_ms)

    def run(self, call: Call[Any]) -> Any:
        """Run a call. While it waits, requests are answered, and without an answer the time passes."""
        step: Any = None
        error: BaseException | None = None
        while True:
            try:
                wanted = call.send(step) if error is None else call.throw(error)
            except StopIteration as end:
                return end.value
            error = None
            if isinstance(wanted, Invoke):
                try:
                    step = wanted.call()
                except Exception as raised:
                    error = raised
            else:
                step = self._wait(wanted)

    def _wait(self, wanted: Wait) -> int:
        self.round()
        answered = False
        for sent in list(self.network.sent):
            body = self.answer(sent)
            if body is not ...:
                self.network.sent.remove(sent)
                self.network.reply(sent, body)
                answered = True
        if self.metadata.is_update_requested and self.metadata.next_update_ms() <= self.clock.now_ms:
            self.led(self.leaders)
            answered = True
        if not answered and wanted.until_ms is not None:
            self.clock.now_ms = max(self.clock.now_ms + 1, min(wanted.until_ms, self.clock.now_ms + 100))
        self.round()
        return self.clock.now_ms

    def told(self, kind: type[TraceEvent]) -> list[Any]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


def fetch_response(
    sent: Sent,
    parts: Mapping[Partition, Mapping[str, Any]],
    *,
    session_id: int = 0,
    error: int = 0,
    **more: Any,
) -> Any:
    """Return a Fetch response with these partitions: their fields, and ``leader`` for (id, epoch) of another leader."""
    kind = message_class(Api.FETCH, sent.body.__version__, "response")
    topic, partition = nested(kind, "FetchableTopicResponse"), nested(kind, "PartitionData")
    topics = []
    for name in dict.fromkeys(each for each, _ in parts):
        of_topic = [(index, fields) for (each, index), fields in parts.items() if each == name]
        made = tuple(_fetched(kind, partition, index, dict(fields)) for index, fields in of_topic)
        topics.append(make(topic, topic=name, topic_id=TOPIC_IDS[name], partitions=made))
    return make(
        kind, throttle_time=_ms(0), error_code=error, session_id=session_id, responses=tuple(topics), **more
    )


def _fetched(kind: Any, partition: Any, index: int, fields: dict[str, Any]) -> Any:
    if "leader" in fields:
        node, epoch = fields.pop("leader")
        fields["current_leader"] = make(nested(kind, "LeaderIdAndEpoch"), leader_id=node, leader_epoch=epoch)
    aborted = [
        make(nested(kind, "AbortedTransaction"), producer_id=producer, first_offset=first)
        for producer, first in fields.pop("aborted", ())
    ]
    known = {
        "error_code": 0,
        "high_watermark": 100,
        "last_stable_offset": 100,
        "log_start_offset": 0,
        "preferred_read_replica": -1,
        "records": b"",
    }
    return make(partition, partition_index=index, aborted_transactions=tuple(aborted), **(known | fields))


def list_response(sent: Sent, parts: Mapping[Partition, Mapping[str, Any]]) -> Any:
    """Return a ListOffsets response with these partitions."""
    kind = message_class(Api.LIST_OFFSETS, sent.body.__version__, "response")
    topic, partition = nested(kind, "ListOffsetsTopicResponse"), nested(kind, "ListOffsetsPartitionResponse")
    known = {"error_code": 0, "timestamp": -1, "offset": -1, "leader_epoch": -1}
    topics = tuple(
        make(topic, name=name, partitions=(make(partition, partition_index=index, **(known | fields)),))
        for (name, index), fields in parts.items()
    )
    return make(kind, throttle_time=_ms(0), topics=topics)


def epoch_response(sent: Sent, parts: Mapping[Partition, Mapping[str, Any]]) -> Any:
    """Return an OffsetForLeaderEpoch response with these partitions."""
    kind = message_class(Api.OFFSET_FOR_LEADER_EPOCH, sent.body.__version__, "response")
    topic, partition = nested(kind, "OffsetForLeaderTopicResult"), nested(kind, "EpochEndOffset")
    known = {"error_code": 0, "leader_epoch": -1, "end_offset": -1}
    topics = tuple(
        make(topic, topic=name, partitions=(make(partition, partition=index, **(known | fields)),))
        for (name, index), fields in parts.items()
    )
    return make(kind, throttle_time=_ms(0), topics=topics)


def _ms(count: int) -> Any:
    return timedelta(milliseconds=count)


class Responses(NamedTuple):
    """The makers of responses."""

    fetch: Callable[..., Any] = fetch_response
    list_offsets: Callable[..., Any] = list_response
    leader_epochs: Callable[..., Any] = epoch_response


@pytest.fixture(scope="session")
def bench() -> type[Bench]:
    return Bench


@pytest.fixture(scope="session")
def responses() -> Responses:
    return Responses()
