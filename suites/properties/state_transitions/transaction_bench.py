"""A bench for transactions: a producer on a controlled network, with a leader of all partitions and a coordinator.

Every request is answered at once by a strict coordinator, unless ``fates`` has something else for the next requests of
an API: an error code, LOST (the request never arrives), UNANSWERED (it takes effect, and its response is lost), or HELD
(no answer until ``release``). The first two of the three end the connection.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from kio.schema.errors import ErrorCode

from clients.reference.common.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from clients.reference.producer.producer import Components, ProducerCore
from clients.reference.producer.producer_batch import Callback
from clients.reference.producer.send_handle import Delivery
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.reference.telemetry.trace import TraceEvent
from harness.wire.apis import Api
from harness.wire.makers import make, nested
from harness.wire.messages import message_class
from suites.properties.state_transitions import strict_broker, wire
from suites.properties.state_transitions.strict_coordinator import StrictCoordinator

TOPIC, PARTITIONS, GROUP = "t", 3, "g"
LEADER, COORDINATOR = 1, 2
NODES = {LEADER: ("node1", 9092), COORDINATOR: ("node2", 9092)}
START_MS, MAX_ROUNDS, A_MINUTE_MS = 1_000, 300, 60_000
LOST, UNANSWERED, HELD = "lost", "unanswered", "held"
Fate = int | str
TRANSACTION_APIS = (
    Api.INIT_PRODUCER_ID,
    Api.ADD_PARTITIONS_TO_TXN,
    Api.ADD_OFFSETS_TO_TXN,
    Api.TXN_OFFSET_COMMIT,
    Api.END_TXN,
)
OFFERED = {
    **wire.OFFERED,
    Api.FIND_COORDINATOR: (0, 6),
    Api.ADD_PARTITIONS_TO_TXN: (0, 5),
    Api.ADD_OFFSETS_TO_TXN: (0, 4),
    Api.TXN_OFFSET_COMMIT: (0, 5),
    Api.END_TXN: (0, 5),
}


class Bench:
    """One transactional producer. Times are in milliseconds from START_MS, and pass only in ``wait``."""

    def __init__(self, components: Components, *, is_v2: bool = True, **settings: Any) -> None:
        defaults = {
            "transactional_id": "tx",
            "linger_ms": 0,
            "retry_backoff_ms": 40,
            "retry_backoff_max_ms": 40,
            "reconnect_backoff_ms": 10,
            "reconnect_backoff_max_ms": 40,
            "request_timeout_ms": 400,
            "delivery_timeout_ms": 1_500,
            "connections_max_idle_ms": -1,
            "metadata_recovery_strategy": "none",
        }
        self.config = wire.config(**defaults | settings)
        self.coordinator = StrictCoordinator(is_v2)
        self.wire = wire.Wire()
        self.events: list[TraceEvent] = []
        self.fates: defaultdict[Api, deque[Fate]] = defaultdict(deque)
        self.seen: list[tuple[Api, Any]] = []
        self.times: list[int] = []
        self.now_ms = START_MS
        self.next_ms: int | None = None
        self.core = ProducerCore(
            self.config, self.wire, jitter=float, trace=self.events.append, components=components
        )

    # the application

    @property
    def transactions(self) -> TransactionalManager:
        return self.core.transactions

    def called(self, begin: Callable[[int], TransactionalRequestResult]) -> TransactionalRequestResult:
        """Begin a call, and let the client do what it can do at once."""
        result = begin(self.now_ms)
        self.rounds()
        return result

    def begin(self) -> None:
        self.transactions.begin(self.now_ms)

    def initialized(self) -> Bench:
        """Initialize the producer, which must succeed."""
        result = self.called(self.transactions.initialize)
        assert self.wait(lambda: result.is_completed) and result.error is None, result.error
        result.take()
        return self

    def send(self, value: bytes = b"x", partition: int = 0, callback: Callback | None = None) -> Delivery:
        delivery, _ = self.core.send(
            TOPIC,
            None,
            value,
            timestamp_ms=1_700_000_000_000,
            now_ms=self.now_ms,
            partition=partition,
            callback=callback,
        )
        return delivery

    def send_offsets(self, offset: int, **member: Any) -> TransactionalRequestResult:
        offsets = {("in", 0): OffsetAndMetadata(offset)}
        group = ConsumerGroupMetadata(GROUP, **member)
        return self.called(lambda at_ms: self.transactions.send_offsets(offsets, group))

    def commit(self) -> TransactionalRequestResult:
        return self._finished(self.called(self.transactions.begin_commit))

    def abort(self) -> TransactionalRequestResult:
        return self._finished(self.called(self.transactions.begin_abort))

    def _finished(self, result: TransactionalRequestResult) -> TransactionalRequestResult:
        """Wait for a result, and take it as an application does."""
        if self.wait(lambda: result.is_completed):
            result.is_acked = True
        return result

    # time

    def wait(self, seen: Callable[[], bool], limit_ms: int = A_MINUTE_MS) -> bool:
        """Let time pass until ``seen()``, at most ``limit_ms``. Return whether it was seen."""
        end_ms = self.now_ms + limit_ms
        self.rounds()
        while not seen():
            if self.next_ms is None or self.next_ms > end_ms:
                self.now_ms = end_ms
                self.rounds()
                return seen()
            self.now_ms = max(self.next_ms, self.now_ms + 1)
            self.rounds()
        return True

    def rounds(self) -> None:
        """Let the client and the node do everything that they can do now."""
        for _ in range(MAX_ROUNDS):
            self.next_ms = self.core.run_once(self.now_ms)
            self.core.publish(self.now_ms)
            if not self._something_happens() and (self.next_ms is None or self.next_ms > self.now_ms):
                return
        raise AssertionError("the client spins")

    # the node

    def asked(self, api: Api) -> list[Any]:
        """Return the requests of an API that arrived, in order."""
        return [body for seen, body in self.seen if seen is api]

    def is_out(self, api: Api) -> bool:
        """Return whether a request of an API was ever written."""
        return any(frame.api is api for frame in self.wire.frames)

    def release(self) -> None:
        """Answer what is held."""
        for fates in self.fates.values():
            if fates and fates[0] == HELD:
                fates.popleft()
        self.rounds()

    def waiting(self) -> list[wire.Request]:
        """Return the requests that have no answer."""
        return [request for queue in self.wire.requests.values() for request in queue]

    def _something_happens(self) -> bool:
        self.wire.wrote()
        for node_id, is_connected in list(self.wire.open.items()):
            if not is_connected:
                self.wire.connected(node_id)
            elif (queue := self.wire.requests.get(node_id)) and not self.wire.polled.received:
                self._serve(node_id, queue[0])
        polled = self.wire.polled
        return bool(polled.connected or polled.completed_sends or polled.received or polled.disconnected)

    def _serve(self, node_id: int, request: wire.Request) -> None:
        fates = self.fates[request.api]
        if fates and fates[0] == HELD:
            return
        fate = fates.popleft() if fates else 0
        if fate != LOST:
            self.seen.append((request.api, request.body))
            self.times.append(self.now_ms)
            answer = self._answer(request, fate if isinstance(fate, int) else 0)
        if fate in (LOST, UNANSWERED):
            self.wire.ended(node_id)
        else:
            self.wire.received(node_id, request.answer(answer))

    def _answer(self, request: wire.Request, code: int) -> Any:
        """Return the answer of the strict coordinator, or one with ``code``, which then has no effect."""
        api, version, body, own = request.api, request.version, request.body, self.coordinator
        if api is Api.API_VERSIONS:
            return self._api_versions(version)
        if api is Api.METADATA:
            topics = {TOPIC: (0, [(index, LEADER, 0) for index in range(PARTITIONS)])}
            return wire.metadata(version, NODES, topics)
        if api is Api.FIND_COORDINATOR:
            return _found(version, body, code)
        if api is Api.PRODUCE:
            refused = [(topic, index, code, -1, 0) for topic, index, _ in strict_broker.batches_of(body)]
            return strict_broker.produce_response(version, refused if code else own.produce(body))
        if api is Api.ADD_PARTITIONS_TO_TXN:
            return _added(version, body, code or own.add_partitions(body))
        if api is Api.TXN_OFFSET_COMMIT:
            return _offsets_committed(version, body, code or own.commit_offsets(body))
        if api is Api.ADD_OFFSETS_TO_TXN:
            return wire.response(api, version, error_code=code or own.add_offsets(body))
        answer = own.init if api is Api.INIT_PRODUCER_ID else own.end
        told, producer_id, epoch = (code, -1, -1) if code else answer(body)
        return wire.response(api, version, error_code=told, producer_id=producer_id, producer_epoch=epoch)

    def _api_versions(self, version: int) -> Any:
        message = message_class(Api.API_VERSIONS, version, "response")
        entry, features = nested(message, "ApiVersion"), {}
        keys = (
            make(entry, api_key=int(key), min_version=low, max_version=high)
            for key, (low, high) in OFFERED.items()
        )
        if version >= 3:
            feature = make(
                nested(message, "FinalizedFeatureKey"),
                name="transaction.version",
                max_version_level=2 if self.coordinator.is_v2 else 1,
                min_version_level=0,
            )
            features = {"finalized_features_epoch": 1, "finalized_features": (feature,)}
        return wire.response(Api.API_VERSIONS, version, api_keys=tuple(keys), **features)


def _found(version: int, body: Any, code: int) -> Any:
    error = ErrorCode(code)
    host, port = NODES[COORDINATOR]
    where = {"node_id": COORDINATOR, "host": host, "port": port, "error_message": None}
    if version < 4:
        return wire.response(Api.FIND_COORDINATOR, version, error_code=code, **where)
    coordinator = nested(message_class(Api.FIND_COORDINATOR, version, "response"), "Coordinator")
    [key] = body.coordinator_keys
    return wire.response(
        Api.FIND_COORDINATOR, version, coordinators=(make(coordinator, key=key, error_code=error, **where),)
    )


def _added(version: int, body: Any, code: int) -> Any:
    message = message_class(Api.ADD_PARTITIONS_TO_TXN, version, "response")
    topic_type, part_type = (
        nested(message, f"AddPartitionsToTxn{name}Result") for name in ("Topic", "Partition")
    )
    results = tuple(
        make(
            topic_type,
            name=topic.name,
            results_by_partition=tuple(
                make(part_type, partition_index=index, partition_error_code=ErrorCode(code))
                for index in topic.partitions
            ),
        )
        for topic in body.v3_and_below_topics
    )
    return wire.response(Api.ADD_PARTITIONS_TO_TXN, version, results_by_topic_v3_and_below=results)


def _offsets_committed(version: int, body: Any, code: int) -> Any:
    message = message_class(Api.TXN_OFFSET_COMMIT, version, "response")
    topic_type, part_type = (
        nested(message, f"TxnOffsetCommitResponse{name}") for name in ("Topic", "Partition")
    )
    topics = tuple(
        make(
            topic_type,
            name=topic.name,
            partitions=tuple(
                make(part_type, partition_index=part.partition_index, error_code=ErrorCode(code))
                for part in topic.partitions
            ),
        )
        for topic in body.topics
    )
    return wire.response(Api.TXN_OFFSET_COMMIT, version, topics=topics)
