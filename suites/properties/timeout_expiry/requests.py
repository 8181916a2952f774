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
from suites.properties.property import client_property, example
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


@client_property("NET-TMO-01", "NET-TMO-02", limit_ms=st.integers(1, 20_000), gaps_ms=GAPS)
def a_slow_request_ends_its_connection(components: Components, limit_ms: int, gaps_ms: list[int]) -> None:
    """A request unanswered for longer than request.timeout.ms ends its connection and all requests, oldest first."""
    simulation = still_bench(components, {"request.timeout.ms": limit_ms, "enable.idempotence": False})
    simulation.warm()
    simulation.proxy().down.silence(LAW)
    for gap_ms in gaps_ms:
        if not simulation.told(ConnectionEnded):
            simulation.send()
            simulation.run(gap_ms)
    simulation.run_until(lambda: bool(simulation.told(ConnectionEnded)), limit_ms + 100)
    assert simulation.told(ConnectionEnded), f"the connection is kept for {simulation.now_ms} ms"
    ended = simulation.told(ConnectionEnded)[0]
    assert ended.state == "REQUEST_TIMEOUT"
    answered = {event.correlation_id for event in simulation.told(ResponseReceived)}
    waiting = [event for event in simulation.told(RequestSent) if event.correlation_id not in answered]
    waiting = [event for event in waiting if event.at_ms <= ended.at_ms]
    happens_at(ended.at_ms, waiting[0].at_ms + limit_ms + 1, "the connection was given up")
    lost = [(event.correlation_id, event.timed_out, event.at_ms) for event in simulation.told(RequestLost)][
        : len(waiting)
    ]
    assert lost == [(event.correlation_id, True, ended.at_ms) for event in waiting]


@client_property(
    "NET-TMO-01", "NET-TMO-05", limit_ms=st.integers(20, 5_000), answer_ms=st.integers(1, 10_000)
)
@example(limit_ms=1_000, answer_ms=900)
@example(limit_ms=1_000, answer_ms=1_100)
def an_answer_counts_until_the_limit(components: Components, limit_ms: int, answer_ms: int) -> None:
    """An answer within request.timeout.ms is accepted. A later one never is."""
    assume(abs(answer_ms - limit_ms) > TRIP_MS)
    settings = {"request.timeout.ms": limit_ms, "enable.idempotence": False, "retries": 0}
    simulation = still_bench(components, settings)
    simulation.warm()
    simulation.proxy().down.delay(LAW, answer_ms * NS_PER_MS)
    told: list[bool] = []
    delivery = simulation.send(callback=lambda metadata, error: told.append(error is None))
    sent_ms = simulation.now_ms
    [done_ms] = ended_ms(simulation, [delivery])
    simulation.run(answer_ms + limit_ms)
    assert told == [answer_ms < limit_ms]
    due_ms = min(answer_ms, limit_ms + 1)
    happens_at(done_ms, sent_ms + due_ms, "the send ended")
    if answer_ms > limit_ms:
        lost = {event.correlation_id for event in simulation.told(RequestLost)}
        taken = {event.correlation_id for event in simulation.told(ResponseReceived)}
        assert lost and not lost & taken, "an answer to a request was accepted after the request was given up"


@client_property("NET-TMO-03", times_out=st.booleans(), retries=st.integers(0, 3))
def a_timeout_is_not_a_lost_connection(components: Components, times_out: bool, retries: int) -> None:
    """A request timeout is REQUEST_TIMED_OUT, a lost connection is NETWORK_EXCEPTION, and both may be retried."""
    settings = {"request.timeout.ms": 500, "enable.idempotence": False, "retries": retries}
    simulation = still_bench(components, settings)
    simulation.warm()
    delivery = simulation.send()
    expected = "REQUEST_TIMED_OUT" if times_out else "NETWORK_EXCEPTION"
    for attempt in range(retries + 1):
        ends = len(simulation.told(ConnectionEnded))
        sent = attempt + 2
        assert simulation.run_until(lambda sent=sent: len(simulation.requests("Produce")) == sent, 60_000)  # type: ignore[misc]
        simulation.proxy().down.silence(LAW)
        if not times_out:
            simulation.proxy().cut()
        simulation.run_until(lambda ends=ends: len(simulation.told(ConnectionEnded)) > ends, 60_000)  # type: ignore[misc]
        simulation.proxy().down.restore(LAW)
    ended_ms(simulation, [delivery])
    assert getattr(delivery.error, "name", None) == expected
    assert [event.error for event in simulation.told(BatchRetried)] == [expected] * retries


@client_property(
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
    simulation = still_bench(components, settings, jitter=jitter)
    simulation.warm()
    simulation.run(2_000)
    asked = len(simulation.requests("Metadata"))
    if times_out:
        simulation.proxy().down.silence(LAW)
        simulation.send()
        simulation.run_until(lambda: bool(simulation.told(ConnectionEnded)))
        simulation.proxy().down.restore(LAW)
    else:
        simulation.proxy().cut()
        simulation.run_until(lambda: bool(simulation.told(ConnectionEnded)))
    simulation.run(backoff_ms + 10)
    later = simulation.requests("Metadata")[asked:]
    assert later, "metadata was not requested"
    happens_at(
        later[0].at_ms, simulation.told(ConnectionEnded)[0].at_ms + backoff_ms, "asked", LATE_MS + TRIP_MS
    )


@client_property(
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
    simulation = still_bench(components, {"request.timeout.ms": limit_ms, "enable.idempotence": False})
    simulation.warm()
    simulation.run(1_000)
    simulation.cluster.set_throttle_ms(Api.PRODUCE, throttle_ms)
    first = [simulation.send()]
    simulation.run(0)
    for _ in range(others):
        first.append(simulation.send())
        simulation.rounds()
    simulation.run_until(lambda: first[0].is_done, limit_ms)
    simulation.cluster.set_throttle_ms(Api.PRODUCE, 0)
    begun_ms = simulation.now_ms
    later = simulation.send()
    simulation.run_until(
        lambda: later.is_done and all(each.is_done for each in first), 5 * throttle_ms + 1_000
    )
    assert later.is_done and later.error is None
    assert not simulation.told(ConnectionEnded), "the connection of a throttled node was closed"
    sent = [event.at_ms for event in simulation.requests("Produce") if event.at_ms >= begun_ms]
    happens_at(sent[-1], begun_ms + throttle_ms, "sent to a node while it was throttling", LATE_MS + TRIP_MS)


@client_property("NET-TMO-04", "NET-TMO-01", limit_ms=st.integers(20, 500), throttle_ms=st.integers(1, 2_000))
def throttled_time_is_added_to_the_limit(components: Components, limit_ms: int, throttle_ms: int) -> None:
    """A request that waits at a throttling node has request.timeout.ms plus the throttle time, and no more."""
    simulation = still_bench(components, {"request.timeout.ms": limit_ms, "enable.idempotence": False})
    simulation.warm()
    simulation.run(1_000)
    simulation.proxy().down.delay(LAW, 5 * NS_PER_MS)
    simulation.cluster.set_throttle_ms(Api.PRODUCE, throttle_ms)
    simulation.send()
    simulation.run(2)
    simulation.send()
    answers = len(simulation.told(ResponseReceived))
    simulation.run_until(lambda: len(simulation.told(ResponseReceived)) > answers, limit_ms)
    simulation.proxy().down.silence(LAW)
    second = simulation.requests("Produce")[2]
    simulation.run_until(lambda: bool(simulation.told(ConnectionEnded)), limit_ms + throttle_ms + 1_000)
    [ended] = simulation.told(ConnectionEnded)
    happens_at(ended.at_ms, second.at_ms + limit_ms + throttle_ms + 1, "the connection was given up")


@client_property("NET-TMO-06", "MET-11", block_ms=st.integers(1, 2_000), answer_ms=st.integers(1, 4_000))
@example(block_ms=500, answer_ms=1_000)
def an_answer_after_max_block_harms_nobody(components: Components, block_ms: int, answer_ms: int) -> None:
    """A send that gave up waiting for metadata stays failed when the answer arrives. The next one uses the answer."""
    assume(answer_ms > block_ms + TRIP_MS)
    simulation = still_bench(components, {"max.block.ms": block_ms})
    simulation.warm()
    simulation.cluster.create_topic("other", 1)
    simulation.proxy().down.delay(LAW, answer_ms * NS_PER_MS)
    told: list[bool] = []
    late = simulation.send(topic="other", callback=lambda metadata, error: told.append(error is None))
    begun_ms = simulation.now_ms
    [done_ms] = ended_ms(simulation, [late])
    happens_at(done_ms, begun_ms + block_ms, "send gave up")
    simulation.run(2 * answer_ms)
    simulation.proxy().down.restore(LAW)
    delivery = simulation.send(topic="other")
    simulation.run_until(lambda: delivery.is_done, LONG_MS)
    assert delivery.error is None and told == [False]
    assert len(simulation.log("other")) == 1 and len(simulation.log(TOPIC)) == 1
