"""A cluster in memory and in virtual time, and a producer that runs on it: fakes that behave, no mocks.

``ScriptedCluster`` is the Selector port with brokers behind it. The brokers keep partition logs and producer state as
Kafka's do (the last five batches of a producer are remembered, sequences and epochs are checked). ``script`` changes
what happens to single requests. ``World`` runs a ProducerCore on it: time jumps from one deadline to the next, so a
test of minutes takes milliseconds and never waits.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

from clients.reference.config import ProducerConfig
from clients.reference.delivery import Delivery
from clients.reference.ports import Address, ChannelState, Disconnection, Node, Polled
from clients.reference.producer import Components, ProducerCore
from clients.reference.trace import TraceEvent
from harness.wire.apis import Api, api_name
from harness.wire.error_table import BY_NAME
from harness.wire.frames import FrameReader, frame
from harness.wire.messages import decode_request, decode_response, encode_response, message_class
from harness.wire.records import BatchHeader, RecordBatch, read_batches, read_headers

VERSIONS: dict[int, tuple[int, int]] = {
    Api.PRODUCE: (0, 13),
    Api.METADATA: (0, 13),
    Api.API_VERSIONS: (0, 4),
    Api.INIT_PRODUCER_ID: (0, 5),
}
MAX_SEQUENCE = 2**31
MAX_IDLE_ROUNDS = 200
LAG_MS = 2_000
WAIT_S = 20


def message(api: Api, version: int, **values: Any) -> Any:
    """A response message, from plain values: tuples of dicts become the nested messages of that version."""
    return _build(message_class(api, version, "response"), values)


def _build(message_type: Any, values: dict[str, Any]) -> Any:
    module = sys.modules[message_type.__module__]
    made = {}
    for name in (each.name for each in fields(message_type)):
        if name not in values:
            continue
        value = values[name]
        if (
            isinstance(value, tuple)
            and value
            and isinstance(value[0], tuple)
            and isinstance(value[0][0], str)
        ):
            value = tuple(_build(getattr(module, nested), content) for nested, content in value)
        made[name] = ErrorCode(value) if name == "error_code" else value
    return message_type(**made)


@dataclass
class Seen:
    """One request as a broker saw it."""

    at_ms: int
    node_id: int
    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    body: Any
    frame: bytes

    @property
    def batches(self) -> list[BatchHeader]:
        return [header for _, _, data in produced(self.body) for header in read_headers(data)]

    @property
    def payloads(self) -> list[bytes]:
        return [bytes(data) for _, _, data in produced(self.body)]


def produced(body: Any) -> Iterator[tuple[Any, int, bytes]]:
    """(topic name or id, partition, record batch) of a Produce request."""
    for topic in body.topic_data:
        for partition in topic.partition_data:
            yield getattr(topic, "name", None) or topic.topic_id, partition.index, partition.records


# What a script may say about a request; None lets the broker answer as it should. As on TCP, what follows a lost
# request or answer on the same connection is lost too.
HOLD = "hold"  # do it, swallow the answer
LOSE = "lose"  # never arrived
LATE = "late"  # the broker gets to it, and to all that follows on the connection, two seconds later
CLOSE_AFTER = "close-after"  # do it, then close instead of an answer
CLOSE_BEFORE = "close-before"  # close, nothing done
Verdict = str | int | bytes | Callable[[bytes], bytes] | None
Script = Callable[[Seen], Verdict]


@dataclass
class Log:
    """A partition: its batches with offsets, and what the broker remembers of each producer."""

    batches: list[tuple[int, BatchHeader, RecordBatch]] = field(default_factory=list)
    next_offset: int = 0
    remembered: dict[int, deque[tuple[int, int, int, int]]] = field(default_factory=dict)

    def append(self, data: bytes) -> tuple[int, int]:
        """(error code, base offset), by the rules of ProducerAppendInfo."""
        (header,) = read_headers(data)
        if header.producer_id >= 0:
            known = self.remembered.setdefault(header.producer_id, deque(maxlen=5))
            for epoch, first, last, offset in known:
                if (epoch, first, last) == (
                    header.producer_epoch,
                    header.base_sequence,
                    header.last_sequence,
                ):
                    return 0, offset
            if known:
                epoch, _, last, _ = known[-1]
                if header.producer_epoch < epoch:
                    return BY_NAME["INVALID_PRODUCER_EPOCH"].code, -1
                due = 0 if header.producer_epoch > epoch else (last + 1) % MAX_SEQUENCE
                if header.base_sequence != due:
                    return BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"].code, -1
            if known and header.producer_epoch > known[-1][0]:
                known.clear()
            known.append(
                (header.producer_epoch, header.base_sequence, header.last_sequence, self.next_offset)
            )
        (batch,) = read_batches(data)
        assert batch.crc_ok
        offset = self.next_offset
        self.batches.append((offset, header, batch))
        self.next_offset += header.record_count
        return 0, offset

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for _, _, batch in self.batches for record in batch.records]


@dataclass(eq=False)
class Connection:
    """A client's connection: what it will see, each at its time."""

    node: Node
    broker_id: int
    is_deaf: bool = False
    is_mute: bool = False
    is_unread: bool = False
    lag_ms: int = 0
    state: ChannelState = ChannelState.NOT_CONNECTED

    def happen(self, at_ms: int, kind: str, data: bytes = b"") -> None:
        self.events.append((at_ms, kind, data))
        self.events = deque(sorted(self.events, key=lambda event: event[0]))

    events: deque[tuple[int, str, bytes]] = field(default_factory=deque)


class ScriptedCluster:
    """Brokers 1..n at host "b<i>"; every address answers after ``latency_ms``, where ``is_up`` allows."""

    def __init__(self, brokers: int = 1, latency_ms: int = 2) -> None:
        self.now_ms = 1_000
        self.latency_ms = latency_ms
        self.brokers = {i: Node(i, f"b{i}", 9092) for i in range(1, brokers + 1)}
        self.topics: dict[str, tuple[UUID, dict[int, tuple[int, int]]]] = {}
        self.topic_errors: dict[str, str] = {}
        self.logs: dict[tuple[str, int], Log] = {}
        self.versions = dict(VERSIONS)
        self.seen: list[Seen] = []
        self.script: Script = lambda seen: None
        # None connects, else why not; "" never ends, a Disconnection says how far the connection comes
        self.accepts: Callable[[Node], str | Disconnection | None] = lambda node: None
        self.connects: list[tuple[int, Node]] = []
        self.closed: list[tuple[int, int]] = []
        self.names: dict[str, tuple[Address, ...]] = {}
        self.next_producer_id = (4_000, 0)
        self.auto_create: int | None = None
        self._connections: dict[int, Connection] = {}
        self._late: deque[tuple[int, Connection, Seen, Verdict]] = deque()

    def add_topic(self, name: str, leaders: list[int], epoch: int = 0) -> None:
        topic_id = UUID(int=0x1000 + len(self.topics))
        self.topics[name] = (topic_id, {i: (leader, epoch) for i, leader in enumerate(leaders)})

    def log(self, topic: str, partition: int = 0) -> Log:
        return self.logs.setdefault((topic, partition), Log())

    def requests(self, api: Api) -> list[Seen]:
        return [seen for seen in self.seen if seen.api is api]

    def next_event_ms(self) -> int | None:
        times = [connection.events[0][0] for connection in self._connections.values() if connection.events]
        times += [at_ms for at_ms, *_ in self._late]
        return min(times, default=None)

    def drop(self, node_id: int) -> None:
        """The network ends a connection now."""
        connection = self._connections[node_id]
        connection.events.clear()
        connection.happen(self.now_ms, "end", b"reset")

    @staticmethod
    def edit(seen: Seen, change: Callable[[Any], Any]) -> Verdict:
        """A verdict: answer, but with the response message changed on the way."""

        def edited(payload: bytes) -> bytes:
            correlation_id, body = decode_response(payload, seen.api, seen.version)
            return encode_response(change(body), correlation_id)[4:]

        return edited

    def outstanding(self, node_id: int) -> bool:
        return node_id in self._connections

    # the port

    def resolve(self, host: str, port: int) -> tuple[Address, ...]:
        return self.names.get(host, ((host, port),))

    def connect(self, node_id: int, address: Address) -> None:
        node = Node(node_id, *address)
        self.connects.append((self.now_ms, node))
        connection = self._connections[node.id] = Connection(node, int(node.host[1:]))
        why_not = self.accepts(node)
        if why_not is None:
            connection.happen(self.now_ms + self.latency_ms, "connected")
        elif isinstance(why_not, Disconnection):
            connection.state = why_not.state
            connection.happen(self.now_ms + self.latency_ms, "end", why_not.detail.encode())
        elif why_not:
            connection.happen(self.now_ms + self.latency_ms, "end", why_not.encode())

    def send(self, node_id: int, data: bytes) -> None:
        connection = self._connections[node_id]
        connection.happen(self.now_ms, "sent", b"")
        self._receive(connection, data)

    def poll(self) -> Polled:
        polled = Polled()
        while self._late and self._late[0][0] <= self.now_ms:
            _, *waited = self._late.popleft()
            self._answer(*waited)
        for node_id, connection in list(self._connections.items()):
            had_frame = False
            while connection.events and connection.events[0][0] <= self.now_ms:
                _, kind, data = connection.events[0]
                if kind == "frame" and (had_frame or connection.is_unread):
                    break
                if kind == "end" and had_frame:
                    break
                connection.events.popleft()
                if kind == "connected":
                    connection.state = ChannelState.READY
                    polled.connected.append(node_id)
                elif kind == "sent":
                    polled.completed_sends.append(node_id)
                elif kind == "frame":
                    had_frame = True
                    polled.received.append((node_id, data))
                else:
                    polled.disconnected[node_id] = Disconnection(connection.state, data.decode())
                    del self._connections[node_id]
                    break
        return polled

    def close(self, node_id: int) -> None:
        if self._connections.pop(node_id, None):
            self.closed.append((self.now_ms, node_id))

    def mute(self, node_id: int) -> None:
        self._connections[node_id].is_unread = True

    def unmute(self, node_id: int) -> None:
        self._connections[node_id].is_unread = False

    def serve(self, payload: bytes) -> list[tuple[str, bytes]]:
        """For a driver with sockets: what becomes of one request, at once; nothing where its answer is lost."""
        connection = Connection(self.brokers[1], 1)
        self._receive(connection, frame(payload))
        return [(kind, data) for _, kind, data in connection.events]

    # the brokers

    def _receive(self, connection: Connection, data: bytes) -> None:
        header, body = decode_request(data[4:])
        seen = Seen(
            self.now_ms,
            connection.broker_id,
            Api(header.api_key),
            header.api_version,
            header.correlation_id,
            header.client_id,
            body,
            data,
        )
        self.seen.append(seen)
        verdict = self.script(seen)
        if verdict == LATE:
            connection.lag_ms = LAG_MS
        if connection.lag_ms:
            self._late.append((self.now_ms + connection.lag_ms, connection, seen, verdict))
        else:
            self._answer(connection, seen, verdict)

    def _answer(self, connection: Connection, seen: Seen, verdict: Verdict) -> None:
        at_ms = self.now_ms + self.latency_ms
        connection.is_deaf |= verdict == LOSE
        connection.is_mute |= verdict == HOLD
        if connection.is_deaf:
            return
        connection.is_deaf |= verdict in (CLOSE_BEFORE, CLOSE_AFTER)
        if verdict == CLOSE_BEFORE:
            connection.happen(at_ms, "end", b"closed")
            return
        if isinstance(verdict, bytes):
            connection.happen(at_ms, "frame", verdict)
            return
        error = verdict if isinstance(verdict, int) else 0
        response = getattr(self, f"_{api_name(seen.api).lower()}")(seen, error)
        if response is None or connection.is_mute:
            return
        if verdict == CLOSE_AFTER:
            connection.happen(at_ms, "end", b"closed")
            return
        payload = encode_response(response, seen.correlation_id)[4:]
        connection.happen(at_ms, "frame", verdict(payload) if callable(verdict) else payload)

    def _apiversions(self, seen: Seen, error: int) -> Any:
        keys = tuple(
            ("ApiVersion", {"api_key": int(key), "min_version": low, "max_version": high})
            for key, (low, high) in self.versions.items()
        )
        highest = self.versions[Api.API_VERSIONS][1]
        if seen.version > highest:
            return message(Api.API_VERSIONS, 0, error_code=35, api_keys=keys)
        return message(
            Api.API_VERSIONS, seen.version, error_code=error, api_keys=keys, throttle_time=timedelta(0)
        )

    def _metadata(self, seen: Seen, error: int) -> Any:
        topics = []
        for asked in seen.body.topics or ():
            name = asked.name
            if self.auto_create and name not in self.topics and name not in self.topic_errors:
                self.add_topic(name, [1] * self.auto_create)
            topics.append(("MetadataResponseTopic", self._topic(name)))
        return message(
            Api.METADATA,
            seen.version,
            throttle_time=timedelta(0),
            brokers=tuple(
                ("MetadataResponseBroker", {"node_id": node.id, "host": node.host, "port": node.port})
                for node in (self.brokers.values() if not error else ())
            ),
            cluster_id="c",
            controller_id=1,
            topics=tuple(topics),
            error_code=error,
        )

    def _topic(self, name: str) -> dict[str, Any]:
        failure = self.topic_errors.get(name)
        if failure is None and name not in self.topics:
            failure = "UNKNOWN_TOPIC_OR_PARTITION"
        if failure:
            code = BY_NAME[failure].code
            return {"error_code": code, "name": name, "topic_id": UUID(int=0), "partitions": ()}
        topic_id, partitions = self.topics[name]
        listed = tuple(
            (
                "MetadataResponsePartition",
                {
                    "error_code": 0 if leader in self.brokers else 5,
                    "partition_index": index,
                    "leader_id": leader,
                    "leader_epoch": epoch,
                    "replica_nodes": (),
                    "isr_nodes": (),
                    "offline_replicas": (),
                },
            )
            for index, (leader, epoch) in partitions.items()
        )
        return {
            "error_code": 0,
            "name": name,
            "topic_id": topic_id,
            "is_internal": False,
            "partitions": listed,
        }

    def _initproducerid(self, seen: Seen, error: int) -> Any:
        producer_id, epoch = self.next_producer_id
        if not error:
            self.next_producer_id = (producer_id + 1, 0)
        return message(
            Api.INIT_PRODUCER_ID,
            seen.version,
            throttle_time=timedelta(0),
            error_code=error,
            producer_id=-1 if error else producer_id,
            producer_epoch=-1 if error else epoch,
        )

    def _produce(self, seen: Seen, error: int) -> Any:
        names = {topic_id: name for name, (topic_id, _) in self.topics.items()}
        by_topic: dict[Any, list[Any]] = {}
        for topic, partition, data in produced(seen.body):
            name = names.get(topic, topic)
            code, offset = (error, -1) if error else self._append(seen.node_id, name, partition, data)
            content = {"index": partition, "error_code": code, "base_offset": offset, "record_errors": ()}
            by_topic.setdefault(topic, []).append(("PartitionProduceResponse", content))
        if seen.body.acks == 0:
            return None
        topics = tuple(
            ("TopicProduceResponse", {"name": topic, "topic_id": topic, "partition_responses": tuple(found)})
            for topic, found in by_topic.items()
        )
        return message(Api.PRODUCE, seen.version, responses=topics, throttle_time=timedelta(0))

    def _append(self, broker_id: int, topic: str, partition: int, data: bytes) -> tuple[int, int]:
        if topic not in self.topics:
            return BY_NAME["UNKNOWN_TOPIC_OR_PARTITION"].code, -1
        if self.topics[topic][1][partition][0] != broker_id:
            return BY_NAME["NOT_LEADER_OR_FOLLOWER"].code, -1
        return self.log(topic, partition).append(data)


class World:
    """A producer on a scripted cluster, in virtual time."""

    def __init__(
        self,
        cluster: ScriptedCluster,
        *,
        components: Components | None = None,
        jitter: float = 0.0,
        **settings: Any,
    ) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.config = ProducerConfig.from_mapping({"bootstrap.servers": "b1:9092", **named})
        self.cluster = cluster
        self.events: list[TraceEvent] = []
        self.core = ProducerCore(
            self.config, cluster, jitter=lambda: jitter, trace=self.events.append, components=components
        )
        self._numbers = count()

    @property
    def now_ms(self) -> int:
        return self.cluster.now_ms

    def send(self, topic: str = "t", **given: Any) -> Delivery:
        """A record of partition 0 with a value of its own, unless told otherwise."""
        number = next(self._numbers)
        given = {
            "partition": 0,
            "value": b"v%d" % number,
            "key": None,
            "timestamp_ms": 1_700_000_000_000,
        } | given
        delivery, _ = self.core.send(topic, given.pop("key"), given.pop("value"), now_ms=self.now_ms, **given)
        return delivery

    def step(self) -> int | None:
        """One round; gives the time of the next thing to happen."""
        deadline_ms = self.core.run_once(self.now_ms)
        self.core.publish(self.now_ms)
        times = [time for time in (deadline_ms, self.cluster.next_event_ms()) if time is not None]
        return max(min(times), self.now_ms) if times else None

    def run_until(self, reached: Callable[[], bool], *, limit_ms: int = 3_600_000) -> None:
        """Go on until ``reached``; fails where nothing is left to happen, or where rounds stop moving time."""
        end_ms = self.now_ms + limit_ms
        idle = 0
        while not reached():
            next_ms = self.step()
            if reached():
                return
            assert next_ms is not None, "nothing will ever happen again"
            assert next_ms <= end_ms, f"not reached within {limit_ms} ms"
            idle = idle + 1 if next_ms == self.now_ms else 0
            assert idle < MAX_IDLE_ROUNDS, "the core spins"
            self.cluster.now_ms = next_ms

    def run_for(self, duration_ms: int) -> None:
        """Go on for that long."""
        end_ms = self.now_ms + duration_ms
        idle = 0
        while True:
            next_ms = self.step()
            idle = idle + 1 if next_ms == self.now_ms else 0
            assert idle < MAX_IDLE_ROUNDS, "the core spins"
            if next_ms is None or next_ms > end_ms:
                self.cluster.now_ms = end_ms
                self.step()
                return
            self.cluster.now_ms = next_ms

    def settle(self, *deliveries: Delivery) -> None:
        self.run_until(lambda: all(delivery.is_done for delivery in deliveries))

    def of(self, kind: type[TraceEvent]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def cluster() -> ScriptedCluster:
    """One broker with topic "t" of three partitions."""
    made = ScriptedCluster()
    made.add_topic("t", [1, 1, 1])
    return made


@pytest.fixture
def world(cluster: ScriptedCluster) -> Callable[..., World]:
    """Makes a producer on ``cluster``; settings by Java name with underscores."""

    def make(**given: Any) -> World:
        return World(cluster, **given)

    return make


@pytest.fixture(scope="session")
def fresh_world() -> Callable[..., World]:
    """Like ``world``, with a cluster of its own at each call: for property-based tests."""

    def make(**given: Any) -> World:
        made = ScriptedCluster()
        made.add_topic("t", [1, 1, 1])
        return World(made, **given)

    return make


class SocketBroker:
    """Serves ``cluster``'s one broker on a free port; ``deliver`` decides how answers are written."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        cluster.brokers = {1: Node(1, "127.0.0.1", self.port)}
        self.deliver: Callable[[socket.socket, bytes], None] = lambda sock, data: sock.sendall(data)
        self.held = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._start(self._accept)

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self._sockets.append(sock)
            self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        reader = FrameReader()
        answers: list[Any] = []
        try:
            while data := sock.recv(65_536):
                reader.feed(data)
                while (payload := reader.next_frame()) is not None:
                    with self._lock:
                        answers = self.cluster.serve(payload)
                    for kind, answer in answers:
                        if kind == "end":
                            return
                        self.deliver(sock, frame(answer))
                    if not answers:
                        self.held.set()
        except OSError:
            pass
        finally:
            sock.close()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in self._sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self._threads:
            thread.join(WAIT_S)


@pytest.fixture
def broker(cluster: Any) -> Iterator[SocketBroker]:
    served = SocketBroker(cluster)
    yield served
    served.close()
