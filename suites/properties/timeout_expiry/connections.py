"""Connections: how long setup may take, when they are tried again, when they are idle, and when to rebootstrap."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import assume
from hypothesis import strategies as st

from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import (
    BatchRetried,
    ConnectAttempt,
    ConnectionEnded,
    Rebootstrapped,
    RequestLost,
    RequestSent,
    ResponseReceived,
    StateChanged,
)
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from suites.properties.property import client_property, example
from suites.properties.simulation import START_MS, Simulation
from suites.properties.timeout_expiry.clock import (
    BACKOFF_MAX_MS,
    BACKOFF_MS,
    JITTER,
    LATE_MS,
    LAW,
    TRIP_MS,
    delay_ms,
    ended_ms,
    happens_at,
    let_go,
    still_bench,
    times,
)

REBOOTSTRAP_REQUIRED = 129
REFUSED, CUT_AT_ONCE = "refused", "accepted and closed"


@client_property(
    "NET-CON-05",
    "NET-CON-06",
    "NET-CON-07",
    base_ms=BACKOFF_MS,
    max_ms=BACKOFF_MAX_MS,
    jitter=JITTER,
    failures=st.lists(st.sampled_from([REFUSED, CUT_AT_ONCE]), min_size=1, max_size=7),
)
@example(base_ms=50, max_ms=100, jitter=1.0, failures=[REFUSED, REFUSED, REFUSED])
@example(base_ms=50, max_ms=1_000, jitter=0.0, failures=[CUT_AT_ONCE, CUT_AT_ONCE])
def each_failure_in_a_row_waits_longer(
    components: Components, base_ms: int, max_ms: int, jitter: float, failures: list[str]
) -> None:
    """After a lost connection, and after each failed attempt, the wait doubles, exact to the millisecond."""
    assume(base_ms > TRIP_MS)
    settings = {"reconnect.backoff.ms": base_ms, "reconnect.backoff.max.ms": max_ms, "retry.backoff.ms": 0}
    simulation = still_bench(components, settings, jitter=jitter)
    simulation.warm()
    simulation.run(3_000)
    attempts = len(simulation.told(ConnectAttempt))
    simulation.proxy().cut()
    simulation.run_until(lambda: bool(simulation.told(ConnectionEnded)), 100)
    simulation.send()
    for earlier, failure in enumerate(failures):
        ended_ms_ago = [event for event in simulation.told(ConnectionEnded) if event.node == 1][-1].at_ms
        if failure is REFUSED:
            simulation.proxy().refuse(LAW)
        made, ends = attempts + earlier + 1, len(simulation.told(ConnectionEnded))
        simulation.run_until(lambda made=made: len(simulation.told(ConnectAttempt)) >= made, 10_000)  # type: ignore[misc]
        tried = simulation.told(ConnectAttempt)
        assert len(tried) == made, f"{len(tried) - attempts} attempts, expected {earlier + 1}"
        due_ms = ended_ms_ago + delay_ms(base_ms, max_ms, earlier, jitter)
        happens_at(tried[-1].at_ms, due_ms, f"attempt {earlier + 1} began")
        if failure is CUT_AT_ONCE:
            connected = len(_connected(simulation))
            simulation.run_until(lambda connected=connected: len(_connected(simulation)) > connected, 100)  # type: ignore[misc]
            simulation.proxy().cut()
        simulation.run_until(lambda ends=ends: len(simulation.told(ConnectionEnded)) > ends, 100)  # type: ignore[misc]
        simulation.proxy().accept(LAW)


def _connected(simulation: Simulation) -> list[StateChanged]:
    return [event for event in simulation.told(StateChanged) if event.cause == "connected"]


@client_property(
    "NET-CON-07", "NET-CON-06", base_ms=st.integers(10, 500), losses=st.integers(1, 4), jitter=JITTER
)
def a_ready_connection_forgets_failures(
    components: Components, base_ms: int, losses: int, jitter: float
) -> None:
    """A usable connection that is lost is tried again after the shortest wait, never at once, each time."""
    settings = {
        "reconnect.backoff.ms": base_ms,
        "reconnect.backoff.max.ms": 20 * base_ms,
        "retry.backoff.ms": 0,
    }
    simulation = still_bench(components, settings, jitter=jitter)
    simulation.warm()
    for _ in range(losses):
        simulation.run(3_000)
        ends = len(simulation.told(ConnectionEnded))
        tried = len(simulation.told(ConnectAttempt))
        simulation.proxy().cut()
        simulation.run_until(lambda ends=ends: len(simulation.told(ConnectionEnded)) > ends, 100)  # type: ignore[misc]
        lost_ms = simulation.now_ms
        delivery = simulation.send()
        ended_ms(simulation, [delivery])
        attempt = next(event for event in simulation.told(ConnectAttempt)[tried:] if event.node == 1)
        happens_at(attempt.at_ms, lost_ms + delay_ms(base_ms, 20 * base_ms, 0, jitter), "tried again")


@client_property(
    "NET-CON-08",
    base_ms=st.integers(10, 1_000),
    max_ms=st.integers(10, 3_000),
    jitter=JITTER,
    attempts=st.integers(1, 6),
)
def a_set_up_without_an_end_is_given_up(
    components: Components, base_ms: int, max_ms: int, jitter: float, attempts: int
) -> None:
    """A connection that is not established is given up when its limit has passed, which grows with each in a row."""
    settings = {
        "socket.connection.setup.timeout.ms": base_ms,
        "socket.connection.setup.timeout.max.ms": max_ms,
        "retry.backoff.ms": 0,
        "reconnect.backoff.ms": 10,
        "reconnect.backoff.max.ms": 10,
    }
    simulation = still_bench(components, settings, jitter=jitter)
    simulation.proxy().ignore(LAW)
    delivery = simulation.send()
    simulation.run_until(lambda: len(simulation.told(ConnectionEnded)) == attempts, 4_000 * attempts)
    ends, tried = simulation.told(ConnectionEnded), simulation.told(ConnectAttempt)
    assert len(ends) >= attempts, f"{len(ends)} attempts were given up of {attempts}"
    for earlier, (attempt, end) in enumerate(zip(tried, ends, strict=False)):
        due_ms = attempt.at_ms + delay_ms(base_ms, max_ms, earlier, jitter) + 1
        happens_at(end.at_ms, due_ms, "the attempt was given up")
        assert end.state == "SETUP_TIMEOUT"
    simulation.proxy().accept(LAW)
    ended_ms(simulation, [delivery])
    assert delivery.error is None


@client_property("NET-CON-08", "NET-TMO-01", setup_ms=st.integers(10, 200), request_ms=st.integers(10, 2_000))
def the_wait_for_versions_is_a_request(components: Components, setup_ms: int, request_ms: int) -> None:
    """Once TCP is connected, the setup limit no longer applies: the request for versions has request.timeout.ms."""
    settings = {"socket.connection.setup.timeout.ms": setup_ms, "request.timeout.ms": request_ms}
    simulation = still_bench(components, settings)
    simulation.proxy().down.silence(LAW)
    simulation.send()
    simulation.run_until(lambda: bool(simulation.told(ConnectionEnded)), 10_000)
    end = simulation.told(ConnectionEnded)[0]
    assert end.state == "REQUEST_TIMEOUT"
    happens_at(end.at_ms, _connected(simulation)[0].at_ms + request_ms + 1, "the connection was given up")


@client_property(
    "NET-CON-14",
    idle_ms=st.integers(20, 20_000),
    uses_ms=st.lists(st.integers(1, 19_000), max_size=5),
    answer_ms=st.integers(0, 30_000),
)
@example(idle_ms=1_000, uses_ms=[], answer_ms=3_000)
def an_idle_connection_is_closed(
    components: Components, idle_ms: int, uses_ms: list[int], answer_ms: int
) -> None:
    """A connection is closed after connections.max.idle.ms without use, but not while an answer is awaited."""
    simulation = still_bench(components, {"connections.max.idle.ms": idle_ms})
    simulation.warm()
    for use_ms in uses_ms:
        simulation.run(use_ms)
        simulation.send()
        simulation.run(1)
    simulation.proxy().down.delay(LAW, answer_ms * NS_PER_MS)
    delivery = simulation.send()
    simulation.run_until(lambda: delivery.is_done, 60_000)
    done_ms = simulation.now_ms
    let_go(simulation)
    simulation.run(2 * idle_ms + 300)
    closed = simulation.told(ConnectionEnded)
    assert {event.state for event in closed} == {"EXPIRED"}, closed
    assert any(event.at_ms >= done_ms and event.node > 0 for event in closed), "it stays open forever"
    used = [event for event in simulation.trace if isinstance(event, RequestSent | ResponseReceived)]
    for close in closed:
        moments = [event.at_ms for event in used if event.node == close.node and event.at_ms <= close.at_ms]
        happens_at(close.at_ms, max(moments) + idle_ms + 1, "the idle connection was closed")
    ended_ms(simulation, [simulation.send()])
    assert not simulation.told(BatchRetried) and not simulation.told(RequestLost)


@client_property("NET-CON-15", "MET-02", trigger_ms=st.integers(0, 5_000), request_ms=st.integers(100, 2_000))
def no_metadata_for_too_long_begins_anew(components: Components, trigger_ms: int, request_ms: int) -> None:
    """The client rebootstraps metadata.recovery.rebootstrap.trigger.ms after metadata became due without an answer."""
    settings = {
        "metadata.recovery.strategy": "rebootstrap",
        "metadata.recovery.rebootstrap.trigger.ms": trigger_ms,
        "request.timeout.ms": request_ms,
    }
    simulation = still_bench(components, settings)
    simulation.proxy().down.silence(LAW)
    delivery = simulation.send()
    simulation.run(3 * trigger_ms + 10)
    moments = times(simulation, Rebootstrapped)
    assert len(moments) >= 3, f"rebootstrapped at {moments}"
    for earlier, later in pairwise([START_MS, *moments[:3]]):
        happens_at(later, earlier + trigger_ms + 1, "began again")
    assert not simulation.network.proxies[0].connections or simulation.told(ConnectAttempt)[-1].node < 0
    simulation.proxy().down.restore(LAW)
    if trigger_ms > 20 * TRIP_MS:
        ended_ms(simulation, [delivery])
        assert delivery.error is None
        count = len(simulation.told(Rebootstrapped))
        simulation.run(2 * trigger_ms)
        assert len(simulation.told(Rebootstrapped)) == count, "rebootstrapped although metadata had arrived"


@client_property(
    "NET-CON-15",
    strategy=st.sampled_from(["none", "rebootstrap"]),
    told=st.booleans(),
    wait_ms=st.integers(1, 4_000),
)
def nobody_to_ask_begins_anew(components: Components, strategy: str, told: bool, wait_ms: int) -> None:
    """If no node can be used, or a broker says so, the client returns to its bootstrap servers, if configured."""
    simulation = still_bench(components, {"metadata.recovery.strategy": strategy, "retry.backoff.ms": 0})
    simulation.warm()
    simulation.run(2_000)
    if told:
        simulation.cluster.inject_error(Api.METADATA, REBOOTSTRAP_REQUIRED, 1)
        simulation.cluster.create_topic("other", 1)
        delivery = simulation.send(topic="other")
    else:
        simulation.proxy().refuse(LAW)
        simulation.proxy().cut()
        delivery = simulation.send()
    simulation.run(wait_ms)
    simulation.proxy().accept(LAW)
    ended_ms(simulation, [delivery])
    assert delivery.error is None
    begun = simulation.told(Rebootstrapped)
    assert bool(begun) is (strategy == "rebootstrap")
    if begun:
        again = [event for event in simulation.told(ConnectAttempt) if event.at_ms >= begun[0].at_ms]
        assert again and again[0].node < 0, "the first connection was not to a bootstrap server"
    assert not told or not begun or begun[0].at_ms <= START_MS + 2_000 + 4 * TRIP_MS + LATE_MS
