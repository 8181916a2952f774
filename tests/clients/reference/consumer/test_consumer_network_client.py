"""ConsumerNetworkClient: the order of a round, requests that cannot be sent, waits and wakeups."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.common.requests import METADATA_LOWEST, metadata_request
from clients.reference.consumer.calls import Wait
from clients.reference.consumer.errors import DisconnectError, TimeoutError, WakeupError
from clients.reference.errors import AuthenticationError
from harness.wire.apis import Api
from harness.wire.messages import make, message_class

BUILD = metadata_request([], allow_auto_topic_creation=False)


def send(b, node=1, **more):
    return b.client.send(node, Api.METADATA, BUILD, b.clock.now_ms, lowest=METADATA_LOWEST, **more)


def answer(b):
    """Answer the one request that was sent."""
    [sent] = b.network.take(Api.METADATA)
    kind = message_class(Api.METADATA, sent.body.__version__, "response")
    body = make(
        kind, brokers=(), topics=(), error_code=0, cluster_id="c", controller_id=1, throttle_time=timedelta(0)
    )
    b.network.reply(sent, body)


def waits(call, b, rounds=1):
    """Return until when the call waits in each of its next rounds."""
    found = [next(call)]
    found += [call.send(b.clock.now_ms) for _ in range(rounds - 1)]
    assert all(isinstance(each, Wait) for each in found)
    return [each.until_ms - b.clock.now_ms for each in found]


def test_a_request_is_only_queued_and_a_round_sends_it(bench):
    """CSM-CNC-01."""
    b = bench()
    future = send(b)
    assert b.network.sent == [] and b.client.has_unsent and b.client.pending(1) == 1
    b.round()
    assert len(b.network.sent) == 1 and not b.client.has_unsent and b.client.pending(1) == 1
    answer(b)
    assert not future.is_done, "completed by a later round"
    b.round()
    assert future.succeeded and not b.client.has_pending


def test_a_round_has_the_order_of_java(bench):
    """CSM-CNC-01: send, I/O, failed connections, wakeup, send again."""
    b = bench()
    steps = []
    ready, poll = b.network.ready, b.network.poll
    b.network.ready = lambda node_id, now_ms: (steps.append(f"ready {node_id}"), ready(node_id, now_ms))[1]
    b.network.poll = lambda now_ms: (steps.append("io"), b.network.down.add(2), poll(now_ms))[2]
    b.network.down.add(3)
    unsent, lost = send(b, 3), send(b, 2)
    b.network.ready = lambda node_id, now_ms: steps.append(f"ready {node_id}")
    b.client.wakeup()
    with pytest.raises(WakeupError):
        b.client.poll(b.clock.now_ms)
    assert steps == ["ready 3", "ready 2", "io"]
    assert not (unsent.is_done or lost.is_done), "completions come at the end of a round"
    b.client.poll(b.clock.now_ms)
    assert isinstance(unsent.error, DisconnectError) and isinstance(lost.error, DisconnectError)


def test_what_a_completion_queues_is_sent_by_the_next_round(bench):
    """CSM-CNC-01."""
    b = bench()
    send(b).add_listener(lambda _: send(b), lambda error: None)
    b.round()
    answer(b)
    b.round()
    assert len(b.network.sent) + b.client.pending(1) >= 1
    b.round()
    assert len(b.network.sent) == 1


@given(timeout_ms=st.integers(0, 100_000), waited_ms=st.integers(0, 200_000))
def test_a_request_that_is_not_sent_in_time_fails_without_touching_the_wire(bench, timeout_ms, waited_ms):
    """CSM-CNC-02."""
    b = bench()
    b.network.ready = lambda node_id, now_ms: False
    future = send(b, timeout_ms=timeout_ms)
    b.clock.now_ms += waited_ms
    b.round()
    assert future.is_done == (waited_ms > timeout_ms) and b.network.sent == []
    if future.is_done:
        assert isinstance(future.error, TimeoutError) and future.is_retriable
        assert not b.client.has_unsent and not b.client.has_pending


def test_the_limit_of_a_request_is_request_timeout_ms_by_default(bench):
    """CSM-CNC-02."""
    b = bench(request_timeout_ms=7_000)
    b.network.ready = lambda node_id, now_ms: False
    future = send(b)
    b.clock.now_ms += 7_000
    b.round()
    assert not future.is_done
    assert b.client.next_deadline_ms() <= b.clock.now_ms + 1
    b.clock.now_ms += 1
    b.round()
    assert isinstance(future.error, TimeoutError)


def test_requests_for_a_node_that_disconnected_fail_and_those_for_others_do_not(bench):
    """CSM-CNC-03."""
    b = bench()
    b.network.down.add(2)
    gone, kept = [send(b, 2), send(b, 2)], send(b, 1)
    b.round()
    assert all(isinstance(each.error, DisconnectError) and each.is_retriable for each in gone)
    assert not kept.is_done and len(b.network.sent) == 1


def test_refused_credentials_fail_what_waits_for_the_node(bench):
    """CSM-CNC-03."""
    b = bench()
    b.network.down.add(2)
    b.network.refused[2] = error = AuthenticationError("refused", "no")
    future = send(b, 2)
    b.round()
    assert future.error is error
    with pytest.raises(AuthenticationError):
        b.client.raise_auth_failure(2)
    b.client.raise_auth_failure(1)


def test_a_request_whose_connection_ends_fails(bench):
    """CSM-CNC-03."""
    b = bench()
    future = send(b)
    b.round()
    b.network.reply(b.network.sent.pop(), None)
    b.round()
    assert isinstance(future.error, DisconnectError)


@given(timeout_ms=st.integers(0, 20_000), heartbeat_ms=st.integers(100, 9_000), in_flight=st.booleans())
def test_a_wait_is_bounded_by_its_timer_and_by_the_backoff_if_nothing_is_in_flight(
    bench, timeout_ms, heartbeat_ms, in_flight
):
    """CSM-CNC-04."""
    b = bench(heartbeat_interval_ms=heartbeat_ms, session_timeout_ms=10_000)
    if in_flight:
        send(b)
        b.round()
    longest_ms = min(heartbeat_ms, 5_000)
    if not in_flight:
        longest_ms = min(longest_ms, b.config.retry_backoff_ms)
    assert waits(b.client.wait(b.timer(timeout_ms)), b) == [min(timeout_ms, longest_ms)]


def test_what_is_done_already_is_not_waited_for(bench):
    """CSM-CNC-04: the round runs nevertheless."""
    b = bench()
    send(b)
    b.round()
    assert waits(b.client.wait(b.timer(9_000), is_done=lambda: True), b) == [0]


def test_await_future_ends_with_the_future_or_the_timer(bench):
    b = bench()
    b.answer = lambda sent: ...
    before = b.clock.now_ms
    assert b.run(b.client.await_future(send(b), b.timer(3_000))) is False
    assert b.clock.now_ms - before == 3_000


def test_a_wakeup_ends_one_wait_and_only_one(bench):
    """CSM-CNC-07."""
    b = bench()
    b.client.wakeup()
    call = b.client.wait(b.timer(9_000))
    assert waits(call, b) == [0]
    with pytest.raises(WakeupError):
        call.send(b.clock.now_ms)
    b.run(b.client.wait(b.timer(10)))


def test_a_wakeup_is_kept_while_it_is_not_allowed(bench):
    """CSM-CNC-07."""
    b = bench()
    b.client.wakeup()
    b.client.poll(b.clock.now_ms, wakeup=False)
    with pytest.raises(WakeupError):
        b.client.poll(b.clock.now_ms)
    b.client.poll(b.clock.now_ms)


def test_disabled_wakeups_are_dropped(bench):
    """CSM-CNC-07."""
    b = bench()
    b.client.wakeup()
    b.client.disable_wakeups()
    b.client.poll(b.clock.now_ms)
    b.client.wakeup()
    b.run(b.client.wait(b.timer(10)))
