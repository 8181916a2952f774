"""An idempotent producer against a broker that checks its sequences: one copy of each record, in order, always."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from clients.reference.errors import SendError
from clients.reference.producer.producer import Components, ProducerCore
from clients.reference.producer.producer_batch import RecordMetadata
from clients.reference.producer.send_handle import Delivery
from clients.reference.telemetry.trace import TraceEvent
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from harness.wire.records import read_batches
from suites.checks.trace.bookkeeping import UNLIMITED, Bookkeeping
from suites.checks.trace.in_flight import InFlight
from suites.checks.trace.sequence import Sequences
from suites.checks.trace.transition import Transitions
from suites.properties.property import stateful_property
from suites.properties.state_transitions import strict_broker as broker
from suites.properties.state_transitions import wire
from suites.properties.walks.idempotence import WALKS

TOPIC, NODE, PARTITIONS = "t", 1, 2
MAX_ROUNDS, DELIVERY_TIMEOUT_MS, REQUEST_TIMEOUT_MS = 200, 1_500, 400
BATCH_BYTES = 100
STORES, REFUSES, STORES_AND_REFUSES, REJECTS, TOO_LARGE, LIES, FORGOT = (
    "stores",
    "refuses",
    "stores and refuses",
    "rejects",
    "too large",
    "lies",
    "forgot",
)
FATE = st.sampled_from(
    [STORES, STORES, STORES, REFUSES, STORES_AND_REFUSES, REJECTS, TOO_LARGE, LIES, FORGOT]
)
NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND, INVALID_RECORD, MESSAGE_TOO_LARGE = 19, 20, 87, 10
FIRST_EPOCH = st.sampled_from([0, 0, 32_766, 32_767])


@dataclass(slots=True)
class Sent:
    """A record. Its number is its value, and its place in the order of its partition."""

    number: int
    partition: int
    delivery: Delivery
    told: list[bool] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)

    def tell(self, metadata: RecordMetadata, error: SendError | None) -> None:
        """Handle the record's callback."""
        self.told.append(error is None)
        if error is None:
            self.offsets.append(metadata.offset)


@stateful_property(
    "PRD-IDM-01",
    "PRD-IDM-02",
    "PRD-IDM-03",
    "PRD-IDM-05",
    "PRD-IDM-07",
    "PRD-IDM-09",
    "PRD-IDM-10",
    "PRD-IDM-11",
    "PRD-IDM-13",
    "PRD-IDM-14",
    "PRD-EXP-03",
    "PRD-EXP-06",
    "PRD-EXP-07",
    "PRD-SPL-01",
    "PRD-SPL-04",
    "PRD-FIN-04",
    "PRD-SND-04",
    walks=WALKS,
)
class EachRecordIsStoredOnceAndInOrder(RuleBasedStateMachine):
    """Whatever brokers and networks do, the log has each acknowledged record once, in the order of sending."""

    components = Components()

    @initialize(limit=st.integers(1, 5), first_epoch=FIRST_EPOCH, linger_ms=st.sampled_from([0, 0, 5]))
    def begin(self, limit: int, first_epoch: int, linger_ms: int) -> None:
        self.limit = limit
        self.config = wire.config(
            max_in_flight_requests_per_connection=limit,
            batch_size=BATCH_BYTES,
            linger_ms=linger_ms,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            retry_backoff_ms=10,
            retry_backoff_max_ms=40,
            reconnect_backoff_ms=10,
            reconnect_backoff_max_ms=40,
            connections_max_idle_ms=-1,
            metadata_recovery_strategy="none",
        )
        self.now_ms = 1_000
        self.next_ms: int | None = None
        self.producer_ids = [(7, first_epoch)]
        self.events: list[TraceEvent] = []
        self.wire = wire.Wire()
        self.log = {index: broker.Partition() for index in range(PARTITIONS)}
        self.late: list[wire.Request] = []
        self.sent: list[Sent] = []
        self.core = ProducerCore(
            self.config, self.wire, jitter=float, trace=self.events.append, components=self.components
        )

    # the application

    @rule(partition=st.integers(0, PARTITIONS - 1), count=st.integers(1, 4))
    def send(self, partition: int, count: int) -> None:
        for _ in range(count):
            number = len(self.sent)
            sent = Sent(number, partition, Delivery(0))
            sent.delivery, _ = self.core.send(
                TOPIC,
                None,
                b"%03d" % number,
                timestamp_ms=1_700_000_000_000,
                now_ms=self.now_ms,
                partition=partition,
                callback=sent.tell,
            )
            self.sent.append(sent)
        self.rounds()

    # the network and the broker

    @rule()
    def rounds(self) -> None:
        """Let the client do everything that it can do now. All requests except Produce are answered at once."""
        for _ in range(MAX_ROUNDS):
            self.next_ms = self.core.run_once(self.now_ms)
            self.core.publish(self.now_ms)
            if not self._something_happens() and (self.next_ms is None or self.next_ms > self.now_ms):
                return
        raise AssertionError("the client spins")

    def _something_happens(self) -> bool:
        self.wire.wrote()
        for node_id, is_connected in list(self.wire.open.items()):
            if not is_connected:
                self.wire.connected(node_id)
            elif (queue := self.wire.requests.get(node_id)) and queue[0].api is not Api.PRODUCE:
                self.wire.received(node_id, queue[0].answer(self._answer(queue[0])))
        polled = self.wire.polled
        return bool(polled.connected or polled.completed_sends or polled.received or polled.disconnected)

    def _answer(self, request: wire.Request) -> object:
        if request.api is Api.API_VERSIONS:
            return wire.api_versions(request.version)
        if request.api is Api.METADATA:
            topics = {TOPIC: (0, [(index, NODE, 0) for index in range(PARTITIONS)])}
            return wire.metadata(request.version, {NODE: ("node1", 9092)}, topics)
        producer_id, epoch = self.producer_ids[-1]
        self.producer_ids.append((producer_id + 1, 0))
        return wire.response(
            Api.INIT_PRODUCER_ID, request.version, producer_id=producer_id, producer_epoch=epoch
        )

    def _waiting(self) -> list[wire.Request]:
        """Return the Produce requests that the broker has not answered, oldest first."""
        return list(self.wire.requests.get(NODE, ()))

    @rule(fates=st.tuples(FATE, FATE))
    def answer(self, fates: tuple[str, str]) -> None:
        """The broker answers the oldest Produce request, with a separate result per partition."""
        if self._waiting():
            request = self._waiting()[0]
            results = []
            for topic, index, records in broker.batches_of(request.body):
                code, offset, log_start = self._result(fates[index], index, records)
                results.append((topic, index, code, offset, log_start))
            self.wire.received(NODE, request.answer(broker.produce_response(request.version, results)))
            self.rounds()

    def _result(self, disposition: str, index: int, records: bytes) -> tuple[int, int, int]:
        """Return (error code, offset, log start) as the property decides, with no false claim about stored records.

        Nor about records that are still to be stored: a broker that has lost its place refuses the late copy
        of a batch too.
        """
        log = self.log[index]
        [batch] = read_batches(records)
        is_stored = bytes(batch.records[0].value or b"") in log.values
        if disposition == REFUSES:
            return NOT_ENOUGH_REPLICAS, -1, 0
        if disposition == REJECTS and not is_stored:
            return INVALID_RECORD, -1, 0
        if disposition == TOO_LARGE and not is_stored:
            return MESSAGE_TOO_LARGE, -1, 0
        if disposition in (LIES, FORGOT) and not is_stored and not self.late:
            return (broker.OUT_OF_ORDER if disposition == LIES else broker.UNKNOWN_PRODUCER), -1, 0
        code, offset = log.append(records)
        if disposition == STORES_AND_REFUSES and code == 0:
            return NOT_ENOUGH_REPLICAS_AFTER_APPEND, -1, 0
        return code, offset, 0

    @rule(reached=st.integers(0, 3), comes_later=st.booleans())
    def lose(self, reached: int, comes_later: bool) -> None:
        """The connection ends. Some requests reached the broker before, the others never or later."""
        if NODE in self.wire.open:
            waiting = self._waiting()
            for request in waiting[:reached]:
                self._store(request)
            if comes_later:
                self.late += waiting[reached:]
            self.wire.ended(NODE)
            self.rounds()

    @rule()
    def arrive_late(self) -> None:
        """A request from a connection that ended long ago is still processed."""
        if self.late:
            self._store(self.late.pop(0))

    def _store(self, request: wire.Request) -> None:
        if request.api is Api.PRODUCE:
            for _, index, records in broker.batches_of(request.body):
                self.log[index].append(records)

    @rule(passed_ms=st.sampled_from([1, 5, 10, 20, 45, 401, 900]))
    def wait(self, passed_ms: int) -> None:
        """Backoffs end, and sometimes a request or a batch times out."""
        self.now_ms += passed_ms
        before = self._waiting()
        self.rounds()
        if NODE not in self.wire.open:
            self.late += before[:1]

    # invariants

    @invariant()
    def the_log_has_each_record_once_and_in_order(self) -> None:
        """The log has each record once and in order.

        A new producer id cannot keep out a late request of the old one. Unacknowledged records may then be late.
        """
        acked = {b"%03d" % sent.number for sent in self.sent if sent.told == [True]}
        has_new_id = len(self.producer_ids) > 2
        for index, log in self.log.items():
            assert len(log.values) == len(set(log.values)), f"partition {index} has {log.values}"
            ordered = [value for value in log.values if not has_new_id or value in acked]
            assert ordered == sorted(ordered), f"partition {index} has {ordered}"

    @invariant()
    def what_was_told_is_true(self) -> None:
        for sent in self.sent:
            assert len(sent.told) <= 1, f"record {sent.number} was told {sent.told}"
            if sent.told:
                value, log = b"%03d" % sent.number, self.log[sent.partition].values
                if sent.told[0]:
                    assert value in log, f"record {sent.number} is lost"
                    told = [*sent.offsets, sent.delivery.metadata.offset]
                    assert told == 2 * [log.index(value)], f"record {sent.number} is not at {told}"
                elif sent.delivery.error and sent.delivery.error.outcome is Outcome.FAIL:
                    assert value not in log, f"record {sent.number} was certainly not stored, and is"

    def teardown(self) -> None:
        """Nothing fails any more: every record ends, and the trace is consistent."""
        if not hasattr(self, "core"):
            return
        end_ms = self.now_ms + 4 * DELIVERY_TIMEOUT_MS
        while not all(sent.told for sent in self.sent):
            if self._waiting():
                self.answer((STORES, STORES))
            else:
                assert self.next_ms is not None and self.now_ms < end_ms, "some records never end"
                self.now_ms = max(self.next_ms, self.now_ms + 1)
                self.rounds()
        self.the_log_has_each_record_once_and_in_order()
        self.what_was_told_is_true()
        assert self.core.pool.available_bytes == self.core.pool.total_bytes or self._waiting()
        self._check_trace()

    def _check_trace(self) -> None:
        books = Bookkeeping(
            retries=UNLIMITED,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            one_in_flight=self.limit == 1,
            answers=True,
        )
        queues = InFlight(self.limit, answers_produce=True, backoff_ms=10, backoff_max_ms=40)
        for monitor in (Transitions(), Sequences(), books, queues):
            assert not monitor.watch(self.events), monitor.breaches[0]
