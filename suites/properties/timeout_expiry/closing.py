"""flush and close: what they wait for, and for how long."""

from __future__ import annotations

from hypothesis import strategies as st

from clients.reference.errors import IllegalStateError, ProducerClosedError
from clients.reference.producer.producer import Components
from clients.reference.producer.send_handle import Delivery
from clients.reference.telemetry.trace import BatchSent, StateChanged
from suites.properties.property import client_property, example
from suites.properties.simulation import Simulation
from suites.properties.timeout_expiry.clock import (
    LATE_MS,
    LAW,
    LONG_MS,
    TRIP_MS,
    happens_at,
    hold,
    let_go,
    sent_ms,
    still_bench,
)

LINGER_MS = 10_000
GAPS = st.lists(st.integers(0, 300), min_size=1, max_size=6)


def _buffered(simulation: Simulation, gaps_ms: list[int], calls: list[bool] | None = None) -> list[Delivery]:
    """Send records into batches that linger, in two partitions."""
    sent = []
    for number, gap_ms in enumerate(gaps_ms):
        simulation.run(gap_ms)
        told = (lambda _, error: calls.append(error is None)) if calls is not None else None
        sent.append(simulation.send(b"%d" % number, partition=number % 2, callback=told))
    return sent


@client_property(
    "PRD-CLS-01", "PRD-ACC-02", gaps_ms=GAPS, silent_ms=st.integers(0, 100_000), later=st.integers(0, 3)
)
def flush_waits_for_what_was_sent_before(
    components: Components, gaps_ms: list[int], silent_ms: int, later: int
) -> None:
    """flush() makes everything sendable at once and has no limit: it ends when all earlier sends have results."""
    simulation = still_bench(components, {"linger.ms": LINGER_MS, "request.timeout.ms": 30_000}, partitions=2)
    simulation.warm()
    sent = _buffered(simulation, gaps_ms)
    hold(simulation)
    begun_ms = simulation.now_ms
    done = simulation.flush(silent_ms) if silent_ms else False
    assert not done, "flush() returned before any record had a result"
    if silent_ms:
        happens_at(sent_ms(simulation)[0], begun_ms, "the buffered batches were sent")
    let_go(simulation)
    batches = simulation.core.begin_flush()
    late = [simulation.send(b"late", partition=0) for _ in range(later)]
    over = simulation.run_until(lambda: all(batch.is_published for batch in batches), LONG_MS)
    simulation.core.end_flush()
    assert over and all(delivery.error is None for delivery in sent if delivery.is_done)
    assert all(delivery.is_done for delivery in sent), "flush() returned before its sends had results"
    assert simulation.run_until(lambda: all(delivery.is_done for delivery in late), 2 * LINGER_MS)


@client_property(
    "PRD-CLS-03",
    "PRD-ACC-02",
    gaps_ms=GAPS,
    silent_ms=st.integers(0, 20_000),
    batch_bytes=st.sampled_from([1, 16_384]),
    in_flight=st.sampled_from([1, 5]),
    is_cut=st.booleans(),
)
@example(gaps_ms=[10], silent_ms=1_000, batch_bytes=16_384, in_flight=5, is_cut=False)
def close_without_limit_finishes_all(
    components: Components, gaps_ms: list[int], silent_ms: int, batch_bytes: int, in_flight: int, is_cut: bool
) -> None:
    """close() refuses new sends, sends buffered records at once, and ends when every record has its result."""
    settings = {
        "linger.ms": LINGER_MS,
        "request.timeout.ms": 30_000,
        "batch.size": batch_bytes,
        "max.in.flight.requests.per.connection": in_flight,
    }
    simulation = still_bench(components, settings, partitions=2)
    simulation.warm()
    calls: list[bool] = []
    simulation.proxy().down.delay(LAW, silent_ms * 1_000_000)
    _buffered(simulation, gaps_ms, calls)
    if is_cut:
        simulation.proxy().cut()
        simulation.run(1)
    closed_ms = simulation.now_ms
    simulation.core.close(simulation.now_ms)
    try:
        simulation.send()
        raise AssertionError("send() after close() was accepted")
    except IllegalStateError:
        pass
    simulation.rounds()
    simulation.run(1)
    assert is_cut or sent_ms(simulation)[0] <= closed_ms + LATE_MS, "close() waits for linger.ms"
    simulation.run_until(lambda: simulation.core.is_closed, LONG_MS)
    assert simulation.core.is_closed and calls == [True] * len(gaps_ms)
    assert len(simulation.log()) == 1 + len(gaps_ms)
    assert simulation.now_ms <= closed_ms + (4 + len(gaps_ms)) * (silent_ms + TRIP_MS) + 1_000


@client_property(
    "PRD-CLS-04",
    "PRD-EXP-01",
    limit_ms=st.integers(0, 5_000),
    gaps_ms=GAPS,
    answer_ms=st.integers(0, 6_000),
    silent=st.booleans(),
)
def close_keeps_its_limit(
    components: Components, limit_ms: int, gaps_ms: list[int], answer_ms: int, silent: bool
) -> None:
    """close(limit) ends by its limit, and not before while a record is unfinished.

    Such a record fails, reported once.
    """
    simulation = still_bench(components, {"linger.ms": LINGER_MS}, partitions=2)
    simulation.warm()
    calls: list[bool] = []
    sent = _buffered(simulation, gaps_ms, calls)
    if silent:
        simulation.proxy().down.silence(LAW)
    simulation.proxy().down.delay(LAW, answer_ms * 1_000_000)
    begun_ms = simulation.now_ms
    assert simulation.close(limit_ms, LONG_MS), "close() never returned"
    assert simulation.now_ms <= begun_ms + limit_ms + LATE_MS, (
        f"close() took {simulation.now_ms - begun_ms} ms"
    )
    unfinished = [delivery for delivery in sent if delivery.error is not None]
    if unfinished:
        happens_at(simulation.now_ms, begun_ms + limit_ms, "close() returned")
        assert all(isinstance(each.error, ProducerClosedError) for each in unfinished)
    assert silent <= bool(unfinished)
    assert unfinished or limit_ms >= answer_ms
    assert not unfinished or silent or limit_ms <= answer_ms * (1 + len(gaps_ms)) + 2 * TRIP_MS
    assert sorted(calls) == sorted(delivery.error is None for delivery in sent)
    told = len(calls)
    before = len(simulation.told(BatchSent))
    simulation.run(20_000)
    assert len(calls) == told and len(simulation.told(BatchSent)) == before, (
        "the producer is active after close()"
    )
    assert simulation.told(StateChanged)[-1].machine == "life"
