"""One round of ConsumerNetworkClient: its order, and the outcome of requests and wakeups."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from clients.reference.common.requests import ClientRequest, ClientResponse
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Clock, Timer, Wait
from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.errors import DisconnectError, TimeoutError, WakeupError
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.errors import AuthenticationError
from harness.wire.apis import Api
from suites.properties.property import consumer_property, example

NODES = st.integers(1, 3)
REQUEST_TIMEOUT_MS, BACKOFF_MS, HEARTBEAT_MS, LONGEST_POLL_MS = 1_000, 100, 3_000, 5_000


class Answered(NamedTuple):
    """A response, and when in the round the client may have read it."""

    node: int
    request: ClientRequest


class NodesByHand:
    """In the place of NetworkClient and MetadataUpdater. ``ready``, ``failed`` and ``gone`` are nodes."""

    def __init__(self) -> None:
        self.ready_nodes: set[int] = {1, 2, 3}
        self.failed: dict[int, Exception | None] = {}
        self.gone: set[int] = set()
        self.sent: list[Answered] = []
        self.answers: list[tuple[ClientRequest, ClientResponse]] = []
        self.order: list[str] = []
        self.disconnected: list[int] = []

    def ready(self, node_id: int, now_ms: int) -> bool:
        """Return whether a request can be sent."""
        return node_id in self.ready_nodes and node_id not in self.failed

    def send(self, request: ClientRequest, now_ms: int) -> None:
        """Send."""
        self.order.append("send")
        self.sent.append(Answered(request.node_id, request))

    def poll(self, now_ms: int) -> None:
        """Read what has come."""
        self.order.append("read")
        answers, self.answers = self.answers, []
        for request, response in answers:
            request.on_complete(response, now_ms)

    def disconnect(self, node_id: int, now_ms: int, why: str) -> None:
        """Close a connection."""
        self.disconnected.append(node_id)

    def connection_failed(self, node_id: int) -> bool:
        """Return whether a node's connection has failed."""
        return node_id in self.failed

    def authentication_error(self, node_id: int) -> Exception | None:
        """Return why a node refused the credentials."""
        return self.failed.get(node_id)

    def node(self, node_id: int) -> int | None:
        """Return the node."""
        return None if node_id in self.gone else node_id

    def usable_at_ms(self, node_id: int, now_ms: int) -> int | None:
        """Return when a node may be tried again."""
        return 0

    def in_flight_count(self, node_id: int) -> int:
        """Return the number of requests without a response."""
        return sum(each.node == node_id for each in self.sent)

    def has_in_flight(self) -> bool:
        """Return whether any request has no response."""
        return bool(self.sent)

    def next_deadline_ms(self) -> int | None:
        """Return None: nothing is due."""
        return None

    def maybe_update(self, now_ms: int) -> int | None:
        """Return None: metadata are up to date."""
        return None


class Rounds:
    """A ConsumerNetworkClient over nodes by hand. ``ended`` are (number of the request, outcome)."""

    def __init__(self, components: Components) -> None:
        config = ConsumerConfig.from_mapping(
            {
                "bootstrap.servers": "broker:9092",
                "request.timeout.ms": REQUEST_TIMEOUT_MS,
                "retry.backoff.ms": BACKOFF_MS,
                "default.api.timeout.ms": 60_000,
            }
        )
        self.clock = Clock(0)
        subscriptions = SubscriptionState("earliest", self.clock, lambda _: None)
        metadata = ConsumerMetadata(config, subscriptions, lambda: 0.0, lambda _: None)
        self.nodes = NodesByHand()
        nodes: Any = self.nodes
        self.client: ConsumerNetworkClient = components.consumer_network_client(
            config, nodes, metadata, nodes
        )
        self.ended: list[tuple[int, Any]] = []
        self.count = 0

    def send(self, node_id: int, **given: Any) -> RequestFuture[Any]:
        """Queue a request."""
        number, self.count = self.count, self.count + 1
        future = self.client.send(node_id, Api.HEARTBEAT, lambda version: None, self.clock.now_ms, **given)
        future.add_listener(
            lambda value: self.ended.append((number, value)), lambda error: self.ended.append((number, error))
        )
        return future

    def poll(self, **given: Any) -> None:
        """Run one round."""
        self.nodes.order.clear()
        self.client.poll(self.clock.now_ms, **given)

    def answer(self, sent: Answered) -> None:
        """Let a response come in the next round."""
        self.nodes.sent.remove(sent)
        self.nodes.answers.append((sent.request, ClientResponse("body", disconnected=False)))


@consumer_property("CSM-CNC-01", targets=st.lists(NODES, min_size=1, max_size=6), wakes=st.booleans())
@example(targets=[1], wakes=True)
def a_round_reads_before_it_looks_for_a_wakeup(
    components: Components, targets: list[int], wakes: bool
) -> None:
    """send() only queues. A round sends, reads, then looks for a wakeup, and no outcome is lost by that."""
    rounds = Rounds(components)
    for node_id in targets:
        rounds.send(node_id)
    assert not rounds.nodes.sent, "send() has sent"
    rounds.poll()
    assert [each.node for each in rounds.nodes.sent] == sorted(targets, key=targets.index)
    assert rounds.nodes.order == ["send"] * len(targets) + ["read"]
    for sent in list(rounds.nodes.sent):
        rounds.answer(sent)
    if wakes:
        rounds.client.wakeup()
        try:
            rounds.poll()
        except WakeupError:
            assert not rounds.nodes.answers, "the wakeup came before the responses were read"
        else:
            raise AssertionError("a wakeup raised nothing")
    rounds.poll()
    assert sorted(number for number, _ in rounds.ended) == list(range(len(targets)))
    assert all(outcome == "body" for _, outcome in rounds.ended)


@consumer_property("CSM-CNC-01", answered=st.integers(1, 3), queued=st.integers(1, 3))
def what_a_listener_queues_is_sent_in_its_own_time(
    components: Components, answered: int, queued: int
) -> None:
    """Listeners run within a round, each future completes once, and what they queue is sent in the same or next one."""
    rounds = Rounds(components)

    def more(_: Any) -> None:
        for _ in range(queued):
            rounds.send(2)

    for _ in range(answered):
        rounds.send(1).add_listener(more, lambda _: None)
    rounds.poll()
    for sent in list(rounds.nodes.sent):
        rounds.answer(sent)
    rounds.poll()
    rounds.poll()
    assert len(rounds.ended) == answered
    assert [each.node for each in rounds.nodes.sent] == [2] * answered * queued


@consumer_property(
    "CSM-CNC-02",
    waits_ms=st.lists(st.integers(0, 2 * REQUEST_TIMEOUT_MS), min_size=1, max_size=4),
    own_ms=st.none() | st.integers(1, 5_000),
)
@example(waits_ms=[REQUEST_TIMEOUT_MS + 1], own_ms=None)
def a_request_that_cannot_be_sent_ends_after_its_timeout(
    components: Components, waits_ms: list[int], own_ms: int | None
) -> None:
    """A request that is not sent for longer than its timeout fails, and one that is sent in time does not."""
    rounds = Rounds(components)
    rounds.nodes.ready_nodes.clear()
    limit_ms = REQUEST_TIMEOUT_MS if own_ms is None else own_ms
    rounds.send(1, timeout_ms=own_ms)
    for wait_ms in waits_ms:
        rounds.clock.now_ms += wait_ms
        rounds.poll()
        is_late = rounds.clock.now_ms > limit_ms
        due_ms = rounds.client.next_deadline_ms()
        assert is_late or (due_ms is not None and due_ms <= limit_ms + 1), (
            "no timer is set for the end of the request"
        )
        assert bool(rounds.ended) is is_late, f"after {rounds.clock.now_ms} of {limit_ms} ms: {rounds.ended}"
    assert not rounds.nodes.sent
    assert all(isinstance(outcome, TimeoutError) for _, outcome in rounds.ended)
    rounds.nodes.ready_nodes.add(1)
    rounds.poll()
    assert len(rounds.nodes.sent) + len(rounds.ended) == 1, "a request was sent that had failed"


@consumer_property(
    "CSM-CNC-03",
    targets=st.lists(NODES, min_size=1, max_size=6),
    lost=NODES,
    how=st.sampled_from(["disconnected", "refused", "gone", "closed by the consumer"]),
)
@example(targets=[1, 2, 1], lost=1, how="disconnected")
@example(targets=[1, 2, 1], lost=1, how="refused")
def a_lost_node_fails_what_waits_for_it(
    components: Components, targets: list[int], lost: int, how: str
) -> None:
    """If a node cannot be reached, the requests that wait for it fail with the cause. Others go on waiting."""
    rounds = Rounds(components)
    rounds.nodes.ready_nodes.clear()
    refusal = AuthenticationError("authentication-failed", "wrong password")
    for node_id in targets:
        rounds.send(node_id)
    rounds.poll()
    assert not rounds.ended
    if how == "gone":
        rounds.nodes.gone.add(lost)
    elif how == "closed by the consumer":
        rounds.client.disconnect_async(lost)
    else:
        rounds.nodes.failed[lost] = refusal if how == "refused" else None
    rounds.poll()
    assert [number for number, _ in rounds.ended] == [n for n, node in enumerate(targets) if node == lost]
    for _, outcome in rounds.ended:
        assert outcome is refusal if how == "refused" else isinstance(outcome, DisconnectError), outcome
    assert rounds.client.pending(lost) == 0
    assert sum(rounds.client.pending(node) for node in (1, 2, 3)) == len(targets) - targets.count(lost)


@consumer_property(
    "CSM-CNC-04", timer_ms=st.integers(0, 10_000), in_flight=st.booleans(), is_done=st.booleans()
)
@example(timer_ms=10_000, in_flight=False, is_done=False)
@example(timer_ms=50, in_flight=True, is_done=False)
@example(timer_ms=10_000, in_flight=True, is_done=True)
def a_wait_for_the_network_has_a_bound(
    components: Components, timer_ms: int, in_flight: bool, is_done: bool
) -> None:
    """A wait ends by the timer, by the backoff if nothing is in flight, and does not block if nothing is awaited."""
    rounds = Rounds(components)
    if in_flight:
        rounds.send(1)
        rounds.poll()
    step = next(rounds.client.wait(Timer(rounds.clock, timer_ms), is_done=lambda: is_done))
    assert isinstance(step, Wait)
    longest_ms = min(HEARTBEAT_MS, LONGEST_POLL_MS) if in_flight else BACKOFF_MS
    assert step.until_ms == (0 if is_done else min(timer_ms, longest_ms))


@consumer_property(
    "CSM-CNC-07",
    "CSM-WKP-01",
    allowed=st.lists(st.booleans(), max_size=4),
    disabled=st.booleans(),
)
@example(allowed=[False, True, True], disabled=False)
@example(allowed=[True], disabled=True)
def a_wakeup_waits_until_it_is_allowed(components: Components, allowed: list[bool], disabled: bool) -> None:
    """A wakeup is raised once, by the first round that allows it, and by none once wakeups are disabled."""
    rounds = Rounds(components)
    rounds.client.wakeup()
    if disabled:
        rounds.client.disable_wakeups()
    raised = []
    for number, may_wake in enumerate(allowed):
        try:
            rounds.poll(wakeup=may_wake)
        except WakeupError:
            raised.append(number)
    due = [] if disabled or True not in allowed else [allowed.index(True)]
    assert raised == due, f"raised in the rounds {raised}, and not in {due}"


@consumer_property("CSM-CNC-07", "CSM-WKP-01", wakes=st.booleans(), in_flight=st.booleans())
@example(wakes=True, in_flight=True)
def a_wakeup_ends_a_wait_at_once(components: Components, wakes: bool, in_flight: bool) -> None:
    """A wait does not block if a wakeup is due, and then raises it. One that may not be interrupted goes on."""
    rounds = Rounds(components)
    if in_flight:
        rounds.send(1)
        rounds.poll()
    rounds.client.wakeup()
    wait = rounds.client.wait(Timer(rounds.clock, 500), wakeup=wakes)
    step = next(wait)
    assert isinstance(step, Wait)
    assert (step.until_ms == 0) is wakes
    try:
        wait.send(0)
    except WakeupError:
        assert wakes
    except StopIteration:
        assert not wakes
