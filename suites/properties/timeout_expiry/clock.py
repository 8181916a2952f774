"""When events are due, written from the catalogue. The properties about time share this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from clients.reference.producer.producer import Components
from clients.reference.producer.send_handle import Delivery
from clients.reference.telemetry.trace import BatchSent, CallbackFailed, TraceEvent
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from suites.properties.simulation import Simulation

#: The name under which properties control the network.
LAW = "law"
#: How much later than due an event may be seen.
LATE_MS = 1
#: A round trip to the broker, or a connection with its first request, takes less than this.
TRIP_MS = 2
LONG_MS = 3_600_000

REQUEST_TIMED_OUT, NOT_LEADER = 7, 6
JITTER = st.floats(-1, 1)
BACKOFF_MS = st.integers(0, 300)
BACKOFF_MAX_MS = st.integers(0, 2_000)

#: Settings under which only the clocks that a property sets are running.
STILL = {
    "request.timeout.ms": LONG_MS,
    "delivery.timeout.ms": 3 * LONG_MS,
    "metadata.max.age.ms": 10 * LONG_MS,
    "metadata.max.idle.ms": 10 * LONG_MS,
    "connections.max.idle.ms": -1,
    "metadata.recovery.strategy": "none",
    "max.block.ms": 3 * LONG_MS,
    "linger.ms": 0,
}


def still_bench(
    components: Components, settings: Mapping[str, Any] | None = None, *, jitter: float = 0.0, **world: Any
) -> Simulation:
    """Return a simulation on which only the clocks of ``settings`` run."""
    return Simulation(components, STILL | dict(settings or {}), jitter=lambda: jitter, **world)


def delay_ms(base_ms: int, max_ms: int, earlier: int, jitter: float) -> float:
    """Return the wait after this many failures: doubled each time, with 20 % jitter, never above the maximum."""
    if max_ms <= base_ms:
        return max_ms
    plain_ms = min(base_ms << min(earlier, 40), max_ms)
    return min(plain_ms * (1 + 0.2 * jitter), max_ms)


def happens_at(at_ms: int, due_ms: float, what: str, late_ms: int = LATE_MS) -> None:
    """Assert that an event is neither early, to the millisecond, nor later than allowed."""
    assert at_ms > due_ms - 1, f"{what} {due_ms - at_ms} ms too early"
    assert at_ms <= due_ms + 1 + late_ms, f"{what} {at_ms - due_ms} ms too late"


def ended_ms(simulation: Simulation, deliveries: list[Delivery], limit_ms: int = LONG_MS) -> list[int]:
    """Return when each delivery had its result. Fails if one has none within the limit."""
    moments: dict[int, int] = {}

    def all_done() -> bool:
        for index, delivery in enumerate(deliveries):
            if delivery.is_done:
                moments.setdefault(index, simulation.now_ms)
        return len(moments) == len(deliveries)

    done = simulation.run_until(all_done, limit_ms)
    assert done, f"{len(deliveries) - len(moments)} of {len(deliveries)} sends had no result in {limit_ms} ms"
    nothing_raised(simulation)
    return [moments[index] for index in range(len(deliveries))]


def nothing_raised(simulation: Simulation) -> None:
    """Assert that no completion callback raised: no answer may lead to a transition that the client's tables lack."""
    raised = [event.what for event in simulation.told(CallbackFailed) if event.who.startswith("completion")]
    assert not raised, raised[0]


def hold(simulation: Simulation) -> None:
    """Hold back all answers until ``let_go``, which delivers them."""
    simulation.proxy().down.delay(LAW, LONG_MS * NS_PER_MS)
    simulation.proxy().retime()


def let_go(simulation: Simulation) -> None:
    """Undo ``hold``."""
    simulation.proxy().down.restore(LAW)
    simulation.proxy().retime()


def times(
    simulation: Simulation, kind: type[TraceEvent], which: Callable[[TraceEvent], bool] = bool
) -> list[int]:
    """Return the times of events of a kind."""
    return [event.at_ms for event in simulation.told(kind) if which(event)]


def sent_ms(simulation: Simulation) -> list[int]:
    """Return when batches were sent, except for the simulation's first one."""
    return times(simulation, BatchSent)[1:]


def refuse_for_good(simulation: Simulation, code: int = REQUEST_TIMED_OUT) -> None:
    """Refuse every batch from now on, with an error that may be retried."""
    simulation.cluster.inject_error(Api.PRODUCE, code, 10**9)
