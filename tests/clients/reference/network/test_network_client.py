"""Requests: versions, correlation, order, limits and timeouts, in virtual time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.common.requests import ClientRequest
from clients.reference.errors import IllegalStateError
from clients.reference.metadata.metadata import Metadata
from clients.reference.network.in_flight_requests import InFlightRequest, InFlightRequests
from clients.reference.network.network_client import NetworkClient
from clients.reference.network.request_tracker import RequestTracker
from clients.reference.ports import INT32_MAX
from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import CallbackFailed, RequestLost, no_trace
from harness.wire.apis import Api


def test_unsupported_version_is_never_sent(world):
    """NET-CON-04, PRD-SND-07: a local failure. Nothing is written, and the connection remains."""
    w = world(enable_idempotence=False)
    w.brokers.offer(Api.PRODUCE, 14, 15)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error.name == "UNSUPPORTED_VERSION"
    assert w.brokers.requests() == []
    assert w.closed == []


@pytest.mark.parametrize("highest", range(3, 14))
def test_every_produce_version_works(world, highest):
    w = world()
    w.brokers.offer(Api.PRODUCE, 0, highest)
    w.settle(w.send(), w.send(partition=1))
    assert {seen.version for seen in w.brokers.requests()} == {highest}
    assert w.brokers.values() and w.brokers.values(1)


@pytest.mark.parametrize("highest", range(4, 14))
def test_every_metadata_version_works(world, highest):
    """Before version 10 there is no topic id, and Produce uses names."""
    w = world()
    w.brokers.offer(Api.METADATA, 0, highest)
    w.settle(w.send())
    assert {seen.version for seen in w.brokers.requests(Api.METADATA)} == {highest}
    assert {seen.version for seen in w.brokers.requests()} == {13 if highest >= 10 else 12}


def test_response_with_wrong_correlation_id_is_never_delivered(world):
    """NET-INF-01: the connection ends, and the batch is sent again."""
    w = world()
    w.brokers.fates(*[lambda payload: b"\x7f\x00\x00\x00" + payload[4:]])
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert len(w.brokers.requests()) == 2
    assert any("correlation id" in event.what for event in w.told(CallbackFailed))
    assert len(w.brokers.values()) == 1


@pytest.mark.parametrize(
    "garbage", [b"", b"\x00", b"\xff" * 40, lambda payload: payload[:-1], lambda p: p + b"\0"]
)
def test_unreadable_response_ends_only_its_connection(world, garbage):
    """NET-INF-10."""
    w = world()
    w.brokers.fates(garbage)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert len(w.brokers.values()) == 1


def test_request_timeout_ends_the_connection_and_its_requests(world):
    """NET-TMO-01, -02: after strictly more than request.timeout.ms both requests complete, oldest first."""
    w = world(enable_idempotence=False, batch_size=0, request_timeout_ms=500, linger_ms=0)
    w.settle(w.send())
    w.brokers.fates("hold", "hold")
    w.send()
    w.run(1)
    w.send()
    sent_ms = w.now_ms - 1
    w.run(499)
    assert w.closed == []
    w.run(2)
    assert w.closed == [(sent_ms + 501, 1)]
    lost = w.told(RequestLost)
    assert [(event.correlation_id, event.timed_out) for event in lost] == [
        (seen.correlation_id, True) for seen in w.brokers.requests()[1:3]
    ]


def test_request_timeout_refreshes_metadata(world):
    """NET-TMO-05."""
    w = world(request_timeout_ms=500)
    w.settle(w.send())
    before = len(w.brokers.requests(Api.METADATA))
    w.brokers.script = lambda seen: (
        "hold" if seen.api is Api.PRODUCE and len(w.brokers.requests()) == 2 else None
    )
    w.settle(w.send())
    assert len(w.brokers.requests(Api.METADATA)) > before


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_requests_in_flight_are_limited(world, limit):
    """NET-INF-03."""
    w = world(
        batch_size=0, linger_ms=0, enable_idempotence=False, max_in_flight_requests_per_connection=limit
    )
    w.slow(50)
    deliveries = [w.send() for _ in range(20)]
    outstanding = []

    def all_done():
        outstanding.append(w.client.in_flight_count(1))
        return all(delivery.is_done for delivery in deliveries)

    w.until(all_done)
    assert max(outstanding) == limit


def test_sending_to_a_node_that_is_not_ready_is_a_defect(world):
    """NET-INF-04."""
    w = world()
    client = NetworkClient(
        w.config, w.selector, Metadata(w.config, lambda: 0.0, no_trace), lambda: 0.0, no_trace
    )
    request = ClientRequest(1, Api.METADATA, lambda v: None, lambda r, t: None, timeout_ms=1)
    with pytest.raises(IllegalStateError):
        client.send(request, 0)


def test_raising_completion_does_not_stop_other_requests(world):
    """NET-INF-08."""
    w = world()
    w.settle(w.send())
    answered = []

    def complain(response, now_ms):
        answered.append(response)
        raise RuntimeError("mine")

    def build(version):
        from clients.reference.common.requests import metadata_request

        return metadata_request(["t"], allow_auto_topic_creation=False)(version)

    client = w.client
    client.send(ClientRequest(1, Api.METADATA, build, complain, timeout_ms=100), w.now_ms)
    w.settle(w.send())
    assert len(answered) == 1
    assert any("RuntimeError: mine" in event.what for event in w.told(CallbackFailed))


class LastCorrelationIds(RequestTracker):
    def __init__(self, *given):
        super().__init__(*given)
        self.next_correlation_id = INT32_MAX - 9


class AboutToWrap(NetworkClient):
    exchanges = LastCorrelationIds


def test_correlation_ids_wrap_and_skip_reserved_ones(world):
    """NET-INF-02."""
    w = world(Components(network_client=AboutToWrap))
    w.settle(w.send())
    ids = [seen.correlation_id for seen in w.brokers.seen]
    assert ids[:4] == [INT32_MAX - 9, INT32_MAX - 8, -INT32_MAX - 1, -INT32_MAX]


@given(
    st.lists(st.tuples(st.integers(1, 2), st.sampled_from(["add", "sent", "answer", "lose"])), max_size=40)
)
def test_in_flight_requests_are_one_queue_per_node(steps):
    """NET-INF-01, -03, -06, against a plain model."""
    real = InFlightRequests(3)
    model: dict[int, list[InFlightRequest]] = {1: [], 2: []}
    for number, (node_id, step) in enumerate(steps):
        queue = model[node_id]
        assert real.can_send_more(node_id) == (not queue or (queue[-1].sent and len(queue) < 3))
        if step == "add" and real.can_send_more(node_id):
            request = ClientRequest(
                node_id, Api.PRODUCE, lambda v: None, lambda r, t: None, timeout_ms=number
            )
            queue.append(InFlightRequest(node_id, request, 0, number, 0))
            real.add(queue[-1])
        elif step == "sent" and queue:
            real.newest(node_id).sent = True
        elif step == "answer" and queue:
            assert real.complete_oldest(node_id) is queue.pop(0)
        elif step == "lose":
            assert real.clear(node_id) == queue
            queue.clear()
        assert [real.count(node) for node in (1, 2)] == [len(model[node]) for node in (1, 2)]
        everything = [request for requests in model.values() for request in requests]
        assert real.next_expiry_ms() == min((r.expires_ms for r in everything), default=None)
