"""A network under the control of a property: the Selector port, and answers in the bytes of real brokers.

``Wire`` records what the client did (connects, frames, closes), and its ``poll`` returns what a property has put
there. Nothing happens by itself, and nothing takes time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.ports import Address, ChannelState, Disconnection, Polled
from harness.wire.apis import Api
from harness.wire.makers import make, nested
from harness.wire.messages import decode_request, encode_response, message_class

OFFERED: Mapping[int, tuple[int, int]] = {
    Api.PRODUCE: (3, 11),
    Api.METADATA: (4, 12),
    Api.API_VERSIONS: (0, 4),
    Api.INIT_PRODUCER_ID: (0, 4),
}
"""What the brokers of properties offer. Produce is offered by name, so that no property needs topic ids."""

SIZE_BYTES = 4


@dataclass(slots=True)
class Request:
    """One frame that the client wrote."""

    node_id: int
    api: Api
    version: int
    correlation_id: int
    body: Any

    def answer(self, message: Any, correlation_id: int | None = None) -> bytes:
        """Return the payload of a response to the request."""
        given = self.correlation_id if correlation_id is None else correlation_id
        return encode_response(message, given)[SIZE_BYTES:]


@dataclass(slots=True)
class Wire:
    """The Selector port. ``requests`` are the unanswered ones by node, oldest first."""

    addresses: dict[str, tuple[Address, ...]] = field(default_factory=dict)
    requests: dict[int, deque[Request]] = field(default_factory=dict)
    connects: list[tuple[int, Address]] = field(default_factory=list)
    open: dict[int, bool] = field(default_factory=dict)  # node id -> True if connected, False if connecting
    frames: list[Request] = field(default_factory=list)
    polled: Polled = field(default_factory=Polled)
    holds_writes: bool = False
    writing: list[int] = field(default_factory=list)

    # the port

    def resolve(self, host: str, port: int) -> tuple[Address, ...]:
        return self.addresses.get(host, ((host, port),))

    def connect(self, node_id: int, address: Address) -> None:
        assert node_id not in self.open, f"a second connection to node {node_id}"
        self.connects.append((node_id, address))
        self.open[node_id] = False

    def send(self, node_id: int, data: bytes) -> None:
        assert self.open.get(node_id), f"a frame for node {node_id}, which is not connected"
        assert node_id not in self.writing, f"a second frame while one to node {node_id} is being written"
        header, body = decode_request(data[SIZE_BYTES:])
        request = Request(node_id, Api(header.api_key), header.api_version, header.correlation_id, body)
        self.frames.append(request)
        self.requests.setdefault(node_id, deque()).append(request)
        self.writing.append(node_id)
        if not self.holds_writes:
            self.wrote()

    def poll(self) -> Polled:
        polled, self.polled = self.polled, Polled()
        return polled

    def close(self, node_id: int) -> None:
        self._gone(node_id)

    # what a property can make happen

    def connected(self, node_id: int) -> None:
        """The connection is made."""
        self.open[node_id] = True
        self.polled.connected.append(node_id)

    def ended(self, node_id: int, state: ChannelState = ChannelState.READY) -> None:
        """The connection ends, or could not be made."""
        self._gone(node_id)
        self.polled.disconnected[node_id] = Disconnection(state, "caused by the property")

    def wrote(self, node_id: int | None = None) -> None:
        """All bytes in progress are written, to all nodes or to one."""
        done = [each for each in self.writing if node_id in (None, each)]
        self.polled.completed_sends.extend(done)
        self.writing[:] = [each for each in self.writing if each not in done]

    def received(self, node_id: int, payload: bytes) -> None:
        """The answer to the oldest request arrives, or a false one."""
        if queue := self.requests.get(node_id):
            queue.popleft()
        self.polled.received.append((node_id, payload))

    def _gone(self, node_id: int) -> None:
        self.open.pop(node_id, None)
        self.requests.pop(node_id, None)
        polled = self.polled
        if node_id in self.writing:
            self.writing.remove(node_id)
        polled.completed_sends[:] = [each for each in polled.completed_sends if each != node_id]
        polled.connected[:] = [each for each in polled.connected if each != node_id]
        polled.received[:] = [each for each in polled.received if each[0] != node_id]


def config(**settings: Any) -> ProducerConfig:
    """Return a configuration from settings by Java name with underscores."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return ProducerConfig.from_mapping({"bootstrap.servers": "boot:9092", "client.id": "law"} | named)


def response(api: Api, version: int, **values: Any) -> Any:
    """Return a response message. ``throttle_ms`` and ``error_code`` are plain numbers."""
    values["throttle_time"] = timedelta(milliseconds=values.pop("throttle_ms", 0))
    values["error_code"] = ErrorCode(values.get("error_code", 0))
    return make(message_class(api, version, "response"), **values)


def api_versions(version: int, *, error_code: int = 0, throttle_ms: int = 0) -> Any:
    """Return what a broker offers."""
    message = message_class(Api.API_VERSIONS, version, "response")
    entry = nested(message, "ApiVersion")
    keys = tuple(
        make(entry, api_key=int(key), min_version=low, max_version=high)
        for key, (low, high) in OFFERED.items()
    )
    return response(Api.API_VERSIONS, version, error_code=error_code, throttle_ms=throttle_ms, api_keys=keys)


#: The answer for one topic: error code, and (index, leader, epoch) of its partitions.
TopicAnswer = tuple[int, Iterable[tuple[int, int, int]]]


def metadata(
    version: int,
    nodes: Mapping[int, Address],
    topics: Mapping[str, TopicAnswer],
    *,
    topic_ids: Mapping[str, Any] | None = None,
    error_code: int = 0,
) -> Any:
    """Return a Metadata response: the cluster as a broker shows it."""
    message = message_class(Api.METADATA, version, "response")
    broker, topic, partition = (
        nested(message, f"MetadataResponse{name}") for name in ("Broker", "Topic", "Partition")
    )
    shown = tuple(
        make(
            topic,
            error_code=ErrorCode(code),
            name=name,
            topic_id=(topic_ids or {}).get(name),
            is_internal=False,
            partitions=tuple(
                make(
                    partition,
                    error_code=ErrorCode(0 if leader >= 0 else 5),
                    partition_index=index,
                    leader_id=leader,
                    leader_epoch=epoch,
                    replica_nodes=(),
                    isr_nodes=(),
                    offline_replicas=(),
                )
                for index, leader, epoch in partitions
            ),
        )
        for name, (code, partitions) in topics.items()
    )
    brokers = tuple(
        make(broker, node_id=node_id, host=host, port=port) for node_id, (host, port) in nodes.items()
    )
    return response(
        Api.METADATA,
        version,
        error_code=error_code,
        brokers=brokers,
        cluster_id="prop",
        controller_id=-1,
        topics=shown,
    )


def metadata_versions() -> tuple[int, int]:
    """Return the versions of Metadata that properties answer in."""
    return OFFERED[Api.METADATA]
