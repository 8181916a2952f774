"""Request timeouts: when a connection is given up for a request, with all its requests, and what throttling adds."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import (
    BatchRetried,
    ConnectionEnded,
    RequestLost,
    RequestSent,
    ResponseReceived,
)
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from suites.properties.property import example, law
from suites.properties.simulation import TOPIC
from suites.properties.timeout_expiry.clock import (
    JITTER,
    LATE_MS,
    LAW,
    LONG_MS,
    TRIP_MS,
    ended_ms,
    happens_at,
    still_bench,
)

GAPS = st.lists(st.integers(0, 200), min_size=1, max_size=5)


@law("NET-TMO-01", "NET-TMO-02", limit_ms=st.integers(1, 20_000), gaps_ms=GAPS)
def a_slow_request_ends_its_connection(components: Components, limit_ms: int, gaps_ms: list[int]) -> None:
    """A request unanswered for longer than request.timeout.ms ends its connection and all requests, oldest first."""
    bench = still_bench(components, {"request.timeout.ms": limit_ms, "enable.idempotence": False})
    bench.warm()
    bench.proxy().down.silence(LAW)
    for gap_ms in gaps_ms:
        if not bench.told(ConnectionEnded):
            bench.send()
            bench.run(gap_ms)
    bench.run_until(lambda: bool(bench.told(ConnectionEnded)), limit_ms + 100)
    assert bench.told(ConnectionEnded), f"the connection is kept for {bench.now_ms} ms"
    ended = bench.told(ConnectionEnded)[0]
    assert ended.state == "REQUEST_TIMEOUT"
    answered = {event.correlation_id for event in bench.told(ResponseReceived)}
    waiting = [event for event in bench.told(RequestSent) if event.correlation_id not in answered]
    waiting = [event for event in waiting if event.at_ms <= ended.at_ms]
    happens_at(ended.at_ms, waiting[0].at_ms + limit_ms + 1, "the connection was given up")
    lost = [(event.correlation_id, event.timed_out, event.at_ms) for event in bench.told(RequestLost)][
        : len(waiting)
    ]
    assert lost == [(event.correlation_id, True, ended.at_ms) for event in waiting]


@law("NET-TMO-01", "NET-TMO-05", limit_ms=st.integers(20, 5_000), answer_ms=st.integers(1, 10_000))
@example(limit_ms=1_000, answer_ms=900)
@example(limit_ms=1_000, answer_ms=1_100)
def an_answer_counts_until_the_limit(components: Components, limit_ms: int, answer_ms: int) -> None:
    """An answer within request.timeout.ms is accepted. A later one never is."""
    assume(abs(answer_ms - limit_ms) > TRIP_MS)
    settings = {"request.timeout.ms": limit_ms, "enable.idempotence": False, "retries": 0}
    bench = still_bench(components, settings)
    bench.warm()
    bench.proxy().down.delay(LAW, answer_ms * NS_PER_MS)
    told: list[bool] = []
    delivery = bench.send(callback=lambda metadata, error: told.append(error is None))
    sent_ms = bench.now_ms
    [done_ms] = ended_ms(bench, [delivery])
    bench.run(answer_ms + limit_ms)
    assert told == [answer_ms < limit_ms]
    due_ms = min(answer_ms, limit_ms + 1)
    happens_at(done_ms, sent_ms + due_ms, "the send ended")
    if answer_ms > limit_ms:
        lost = {event.correlation_id for event in bench.told(RequestLost)}
        taken = {event.correlation_id for event in bench.told(ResponseReceived)}
        assert lost and not lost & taken, "an answer was taken of a request that was given up"


@law("NET-TMO-03", times_out=st.booleans(), retries=st.integers(0, 3))
def a_timeout_is_not_a_lost_connection(components: Components, times_out: bool, retries: int) -> None:
    """A request timeout is REQUEST_TIMED_OUT, a lost connection is NETWORK_EXCEPTION, and both may be retried."""
    settings = {"request.timeout.ms": 500, "enable.idempotence": False, "retries": retries}
    bench = still_bench(components, settings)
    bench.warm()
    delivery = bench.send()
    expected = "REQUEST_TIMED_OUT" if times_out else "NETWORK_EXCEPTION"
    for attempt in range(retries + 1):
        ends = len(bench.told(ConnectionEnded))
        sent = attempt + 2
        assert bench.run_until(lambda sent=sent: len(bench.requests("Produce")) == sent, 60_000)  # type: ignore[misc]
        bench.proxy().down.silence(LAW)
        if not times_out:
            bench.proxy().cut()
        bench.run_until(lambda ends=ends: len(bench.told(ConnectionEnded)) > ends, 60_000)  # type: ignore[misc]
        bench.proxy().down.restore(LAW)
    ended_ms(bench, [delivery])
    assert getattr(delivery.error, "name", None) == expected
    assert [event.error for event in bench.told(BatchRetried)] == [expected] * retries


@law(
    "NET-TMO-05",
    "NET-CON-07",
    limit_ms=st.integers(50, 2_000),
    backoff_ms=st.integers(0, 500),
    times_out=st.booleans(),
    jitter=JITTER,
)
def a_lost_connection_makes_metadata_stale(
    components: Components, limit_ms: int, backoff_ms: int, times_out: bool, jitter: float
) -> None:
    """After a timeout or a disconnect, metadata is requested again as soon as a connection may be made."""
    settings = {
        "request.timeout.ms": limit_ms,
        "reconnect.backoff.ms": backoff_ms,
        "reconnect.backoff.max.ms": backoff_ms,
        "retry.backoff.ms": 0,
    }
    bench = still_bench(components, settings, jitter=jitter)
    bench.warm()
    bench.run(2_000)
    asked = len(bench.requests("Metadata"))
    if times_out:
        bench.proxy().down.silence(LAW)
        bench.send()
        bench.run_until(lambda: bool(bench.told(ConnectionEnded)))
        bench.proxy().down.restore(LAW)
    else:
        bench.proxy().cut()
        bench.run_until(lambda: bool(bench.told(ConnectionEnded)))
    bench.run(backoff_ms + 10)
    later = bench.requests("Metadata")[asked:]
    assert later, "metadata was not requested"
    happens_at(later[0].at_ms, bench.told(ConnectionEnded)[0].at_ms + backoff_ms, "asked", LATE_MS + TRIP_MS)


@law(
    "NET-CON-12",
    "NET-TMO-04",
    limit_ms=st.integers(20, 500),
    throttle_ms=st.integers(1, 3_000),
    others=st.integers(0, 4),
)
def a_throttled_node_is_left_alone(
    components: Components, limit_ms: int, throttle_ms: int, others: int
) -> None:
    """Nothing is sent to a throttling node, its socket stays open, and the time does not count against requests."""
    bench = still_bench(components, {"request.timeout.ms": limit_ms, "enable.idempotence": False})
    bench.warm()
    bench.run(1_000)
    bench.cluster.set_throttle_ms(Api.PRODUCE, throttle_ms)
    first = [bench.send()]
    bench.run(0)
    for _ in range(others):
        first.append(bench.send())
        bench.rounds()
    bench.run_until(lambda: first[0].is_done, limit_ms)
    bench.cluster.set_throttle_ms(Api.PRODUCE, 0)
    begun_ms = bench.now_ms
    later = bench.send()
    bench.run_until(lambda: later.is_done and all(each.is_done for each in first), 5 * throttle_ms + 1_000)
    assert later.is_done and later.error is None
    assert not bench.told(ConnectionEnded), "the connection of a throttled node was closed"
    sent = [event.at_ms for event in bench.requests("Produce") if event.at_ms >= begun_ms]
    happens_at(sent[-1], begun_ms + throttle_ms, "sent to a node that throttles", LATE_MS + TRIP_MS)


@law("NET-TMO-04", "NET-TMO-01", limit_ms=st.integers(20, 500), throttle_ms=st.integers(1, 2_000))
def throttled_time_is_added_to_the_limit(components: Components, limit_ms: int, throttle_ms: int) -> None:
    """A request that waits at a throttling node has request.timeout.ms plus the throttle time, and no more."""
    bench = still_bench(components, {"request.timeout.ms": limit_ms, "enable.idempotence": False})
    bench.warm()
    bench.run(1_000)
    bench.proxy().down.delay(LAW, 5 * NS_PER_MS)
    bench.cluster.set_throttle_ms(Api.PRODUCE, throttle_ms)
    bench.send()
    bench.run(2)
    bench.send()
    answers = len(bench.told(ResponseReceived))
    bench.run_until(lambda: len(bench.told(ResponseReceived)) > answers, limit_ms)
    bench.proxy().down.silence(LAW)
    second = bench.requests("Produce")[2]
    bench.run_until(lambda: bool(bench.told(ConnectionEnded)), limit_ms + throttle_ms + 1_000)
    [ended] = bench.told(ConnectionEnded)
    happens_at(ended.at_ms, second.at_ms + limit_ms + throttle_ms + 1, "the connection was given up")


@law("NET-TMO-06", "MET-11", block_ms=st.integers(1, 2_000), answer_ms=st.integers(1, 4_000))
@example(block_ms=500, answer_ms=1_000)
def an_answer_after_max_block_harms_nobody(components: Components, block_ms: int, answer_ms: int) -> None:
    """A send that gave up waiting for metadata stays failed when the answer arrives. The next one uses the answer."""
    assume(answer_ms > block_ms + TRIP_MS)
    bench = still_bench(components, {"max.block.ms": block_ms})
    bench.warm()
    bench.cluster.create_topic("other", 1)
    bench.proxy().down.delay(LAW, answer_ms * NS_PER_MS)
    told: list[bool] = []
    late = bench.send(topic="other", callback=lambda metadata, error: told.append(error is None))
    begun_ms = bench.now_ms
    [done_ms] = ended_ms(bench, [late])
    happens_at(done_ms, begun_ms + block_ms, "send gave up")
    bench.run(2 * answer_ms)
    bench.proxy().down.restore(LAW)
    delivery = bench.send(topic="other")
    bench.run_until(lambda: delivery.is_done, LONG_MS)
    assert delivery.error is None and told == [False]
    assert len(bench.log("other")) == 1 and len(bench.log(TOPIC)) == 1
