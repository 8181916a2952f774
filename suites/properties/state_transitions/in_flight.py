"""Requests in flight: which may be written, which answer ends which request, and how the others end."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from clients.reference.common.requests import ClientRequest, ClientResponse, metadata_request, produce_request
from clients.reference.errors import IllegalStateError
from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import TraceEvent
from harness.wire.apis import Api
from suites.checks.trace.in_flight import InFlight
from suites.checks.trace.transition import Transitions
from suites.properties.property import stateful_property
from suites.properties.state_transitions import wire
from suites.properties.walks.in_flight import WALKS

NODES = (1, 2)
NEVER_MS = 10**12
ENDS = ("disconnect", "close", "lost", "unasked")
ANSWERED, LOST, TIMED_OUT, WRITTEN = "answered", "lost", "timed out", "written"
PRODUCE_VERSION = wire.OFFERED[Api.PRODUCE][1]


@dataclass(slots=True)
class Expected:
    """One request: its node, its timeout, and how it has ended, in the order of its ends."""

    node_id: int
    timeout_ms: int
    expects_response: bool
    sent_ms: int
    correlation_id: int
    throttled_ms: int = 0
    ends: list[str] = field(default_factory=list)


@stateful_property(
    "NET-INF-01",
    "NET-INF-02",
    "NET-INF-03",
    "NET-INF-04",
    "NET-INF-05",
    "NET-INF-06",
    "NET-INF-07",
    "NET-INF-08",
    "NET-TMO-01",
    "NET-TMO-02",
    "NET-TMO-04",
    "NET-CON-12",
    walks=WALKS,
)
class RequestsEndOnceAndInOrder(RuleBasedStateMachine):
    """Each request ends exactly once: by its own answer, when written, or with its connection."""

    components = Components()

    @initialize(limit=st.integers(1, 5), raises=st.booleans())
    def begin(self, limit: int, raises: bool) -> None:
        self.limit, self.raises = limit, raises
        self.config = wire.config(
            max_in_flight_requests_per_connection=limit,
            reconnect_backoff_ms=0,
            reconnect_backoff_max_ms=0,
            connections_max_idle_ms=-1,
            metadata_max_age_ms=NEVER_MS,
            metadata_recovery_strategy="none",
        )
        self.now_ms = 1_000
        self.events: list[TraceEvent] = []
        self.wire = wire.Wire()
        self.queues: dict[int, list[Expected]] = {node_id: [] for node_id in NODES}
        self.throttled_until_ms = dict.fromkeys(NODES, 0)
        self.dropped: list[Expected] = []
        self.ended: list[tuple[Expected, str]] = []
        self.due: list[tuple[Expected, str]] = []
        self.metadata = self.components.metadata(self.config, float, self.events.append)
        self._know_nodes()
        self.client = self.components.network_client(
            self.config, self.wire, self.metadata, float, self.events.append
        )
        for node_id in NODES:
            self._connect(node_id)
        self._calm()

    def _know_nodes(self) -> None:
        question = self.metadata.next_question(self.now_ms)
        nodes = {node_id: (f"node{node_id}", 9092) for node_id in NODES}
        self.metadata.update(question, wire.metadata(wire.metadata_versions()[1], nodes, {}), self.now_ms)

    def _calm(self) -> None:
        if self.metadata.is_asking or self.metadata.next_update_ms() < NEVER_MS // 2:
            self._know_nodes()

    def _connect(self, node_id: int) -> None:
        """Connect as quickly as possible. The states of a connection have their own property."""
        self.round()
        self._calm()
        self.client.ready(node_id, self.now_ms)
        if node_id in self.wire.open:
            self.wire.connected(node_id)
            self.client.poll(self.now_ms)
            self.wire.wrote(node_id)
            asked = self.wire.requests[node_id][0]
            self.wire.received(node_id, asked.answer(wire.api_versions(asked.version)))
            self.client.poll(self.now_ms)

    # actions of the application

    @rule(
        node_id=st.sampled_from(NODES),
        timeout_ms=st.sampled_from([1, 50, 1_000, 30_000]),
        expects_response=st.sampled_from([True, True, True, False]),
        is_careful=st.sampled_from([True, True, True, False]),
    )
    def send(self, node_id: int, timeout_ms: int, expects_response: bool, is_careful: bool) -> None:
        """A request to a node that has no room, or is not ready, is a defect of the caller."""
        if is_careful:
            self.connect(node_id)
        self._calm()
        expected = Expected(node_id, timeout_ms, expects_response, self.now_ms, 0)
        may = self._may_send(node_id)
        assert self.client.can_send_request(node_id, self.now_ms) is may
        before = len(self.wire.frames)
        try:
            accepted = self.client.send(self._request(expected), self.now_ms)
        except IllegalStateError:
            assert not may, "a ready node refused a request"
            assert len(self.wire.frames) == before
            return
        assert accepted and may, "a request was taken for a node that is not ready"
        [frame] = self.wire.frames[before:]
        expected.correlation_id = frame.correlation_id
        self.queues[node_id].append(expected)

    def _may_send(self, node_id: int) -> bool:
        queue = self.queues[node_id]
        writes = node_id in self.wire.writing or node_id in self.wire.polled.completed_sends
        return (
            node_id in self.wire.open
            and self.now_ms >= self.throttled_until_ms[node_id]
            and (not queue or (len(queue) < self.limit and not writes))
        )

    def _request(self, expected: Expected) -> ClientRequest:
        def on_complete(response: ClientResponse, now_ms: int) -> None:
            lost = TIMED_OUT if response.timed_out else LOST
            how = lost if response.disconnected else ANSWERED if response.body is not None else WRITTEN
            self.ended.append((expected, how))
            if self.raises:
                raise RuntimeError("a callback that raises does not stop the others")

        if expected.expects_response:
            api, build = Api.METADATA, metadata_request(["t"], allow_auto_topic_creation=False)
        else:
            api, build = Api.PRODUCE, produce_request([], acks=0, timeout_ms=1)
        return ClientRequest(
            expected.node_id,
            api,
            build,
            on_complete,
            timeout_ms=expected.timeout_ms,
            expects_response=expected.expects_response,
        )

    @rule(node_id=st.sampled_from(NODES), how=st.sampled_from(ENDS))
    def end(self, node_id: int, how: str) -> None:
        """disconnect() ends the requests in flight in the next round, as a loss does. close() drops them silently."""
        if how == "disconnect":
            self.client.disconnect(node_id, self.now_ms, "requested by the property")
            self._lose(node_id, LOST)
        elif how == "close":
            self.client.close_node(node_id, self.now_ms)
            self.dropped += self.queues[node_id]
            self.queues[node_id] = []
            self.throttled_until_ms[node_id] = 0
        elif node_id in self.wire.open and how == "lost":
            self.wire.ended(node_id)
            self._lose(node_id, LOST)
            self.round()
        elif node_id in self.wire.open and not self.queues[node_id]:
            self.wire.polled.received.append((node_id, b"\x00\x00\x00\x07"))
            self.round()
            assert node_id not in self.wire.open, "a response to nothing was taken"

    # events of the network

    @rule(hold=st.booleans())
    def write(self, hold: bool) -> None:
        """Frames are written now, or the next ones stay half written for a while."""
        self.wire.holds_writes = hold
        if not hold:
            self.wire.wrote()

    @rule(
        node_id=st.sampled_from(NODES),
        throttle_ms=st.sampled_from([0, 0, 1, 700]),
        known=st.sampled_from([True, True, True, False]),
    )
    def answer(self, node_id: int, throttle_ms: int, known: bool) -> None:
        """The oldest request is answered: it ends, and no other does. Any other frame ends the connection."""
        queue = self.queues[node_id]
        if node_id not in self.wire.open or not queue or not queue[0].expects_response:
            return
        self._settle_writes()
        if not queue or not queue[0].expects_response:
            return
        frame = self.wire.requests[node_id][0]
        message = wire.response(
            Api.METADATA, frame.version, brokers=(), topics=(), throttle_ms=throttle_ms, controller_id=1
        )
        given = frame.correlation_id if known else frame.correlation_id + 1
        self.wire.received(node_id, frame.answer(message, given))
        if not known:
            self._lose(node_id, LOST)
            self.round()
            return
        self.due.append((queue.pop(0), ANSWERED))
        if throttle_ms:
            until_ms = self.now_ms + throttle_ms
            self.throttled_until_ms[node_id] = max(self.throttled_until_ms[node_id], until_ms)
            for waiting in queue:
                waiting.throttled_ms += throttle_ms
        self.round()

    @rule(count=st.integers(1, 5))
    def answers(self, count: int) -> None:
        """Answer ``count`` requests of each node."""
        self.write(hold=False)
        for node_id in NODES * count:
            self.answer(node_id, 0, True)

    def _settle_writes(self) -> None:
        """Write everything first, since no request is answered before it was written."""
        self.wire.wrote()
        self.round()
        for node_id in NODES:  # an acks=0 request leaves no open request at the broker
            waits = {each.correlation_id for each in self.queues[node_id]}
            frames = self.wire.requests.get(node_id)
            while frames and frames[0].correlation_id not in waits:
                frames.popleft()

    def _lose(self, node_id: int, how: str) -> None:
        self.due += [(request, how) for request in self.queues[node_id]]
        self.queues[node_id] = []

    # rounds

    @rule()
    def round(self) -> None:
        """Requests that were written and expect no answer end.

        Then a request that waited too long ends its connection.
        """
        written = [
            (self.queues[node_id].pop(), WRITTEN)
            for node_id in self.wire.polled.completed_sends
            if self.queues[node_id] and not self.queues[node_id][-1].expects_response
        ]
        self.due = written + self.due
        for node_id in NODES:
            if any(self._is_late(request) for request in self.queues[node_id]):
                self._lose(node_id, TIMED_OUT)
        self.client.poll(self.now_ms)
        self._check_ends()

    def _is_late(self, request: Expected) -> bool:
        return self.now_ms - request.sent_ms > request.timeout_ms + request.throttled_ms

    @rule(passed_ms=st.sampled_from([0, 1, 2, 49, 50, 51, 999, 1_000, 1_001]))
    def wait(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        self.round()

    def connect(self, node_id: int) -> None:
        """Connect as an application does that waits until the node is ready, if waiting helps."""
        self.round()
        if node_id not in self.wire.open:
            self._connect(node_id)
            self._calm()

    def _check_ends(self) -> None:
        """Everything that is due has ended correctly, and for each node in the order of sending."""
        for request, how in self.ended:
            request.ends.append(how)
            assert len(request.ends) == 1, f"{request} ended twice"
        for node_id in NODES:
            ended = [(r.correlation_id, how) for r, how in self.ended if r.node_id == node_id]
            due = [(r.correlation_id, how) for r, how in self.due if r.node_id == node_id]
            assert sorted(ended) == sorted(due), f"node {node_id}: {ended} ended, expected {due}"
            lost = [number for number, how in ended if how in (LOST, TIMED_OUT)]
            assert lost == sorted(lost), f"node {node_id}: lost in the order {lost}"
        self.ended.clear()
        self.due.clear()

    @invariant()
    def what_was_dropped_never_ends(self) -> None:
        assert not [request for request in self.dropped if request.ends]

    def teardown(self) -> None:
        if hasattr(self, "events"):
            self.due and self.round()
            ids = [frame.correlation_id for frame in self.wire.frames]
            assert ids == list(range(len(ids))), "correlation ids count up by one"
            assert not (breaches := Transitions().watch(self.events)), breaches[0]
            watch = InFlight(self.limit, answers_produce=False, backoff_ms=0, backoff_max_ms=0)
            assert not watch.watch(self.events), watch.breaches[0]
