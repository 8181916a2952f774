"""Metadata: how old it may get, how requests are spaced, and which topics are still requested."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import (
    ConnectionEnded,
    MetadataFailed,
    MetadataUpdated,
    ResponseReceived,
)
from harness.model.rows import Frame, FrameKind
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from suites.properties.property import client_property
from suites.properties.simulation import Simulation
from suites.properties.timeout_expiry.clock import (
    JITTER,
    LATE_MS,
    LAW,
    NOT_LEADER,
    TRIP_MS,
    delay_ms,
    ended_ms,
    happens_at,
    refuse_for_good,
    still_bench,
    times,
)

#: Errors of Produce after which the known metadata may be wrong.
STALE = (3, 5, 6, 9, 13, 56, 72, 74, 80, 83, 84, 100, 103)
FINE = (7, 19, 20)


@client_property(
    "MET-01",
    age_ms=st.integers(1, 5_000),
    backoff_ms=st.integers(0, 300),
    answer_ms=st.integers(0, 50),
    jitter=JITTER,
)
def metadata_never_gets_too_old(
    components: Components, age_ms: int, backoff_ms: int, answer_ms: int, jitter: float
) -> None:
    """Without faults, metadata is requested exactly when it is metadata.max.age.ms old, with or without sends."""
    settings = {
        "metadata.max.age.ms": age_ms,
        "retry.backoff.ms": backoff_ms,
        "retry.backoff.max.ms": backoff_ms,
    }
    simulation = still_bench(components, settings, jitter=jitter)
    simulation.warm()
    simulation.proxy().down.delay(LAW, answer_ms * NS_PER_MS)
    simulation.run(5 * (max(age_ms, backoff_ms) + answer_ms + TRIP_MS))
    asked = [event.at_ms for event in simulation.requests("Metadata")]
    updates = times(simulation, MetadataUpdated)
    assert len(asked) >= 5, f"{len(asked)} requests in five times metadata.max.age.ms"
    for updated_ms, next_ms in zip(updates, asked[1:], strict=False):
        happens_at(next_ms, updated_ms + max(age_ms, backoff_ms), "metadata was requested", LATE_MS + TRIP_MS)


@client_property(
    "MET-02",
    base_ms=st.integers(0, 300),
    max_ms=st.integers(0, 2_000),
    jitter=JITTER,
    failures=st.integers(1, 8),
)
def failed_questions_are_spaced(
    components: Components, base_ms: int, max_ms: int, jitter: float, failures: int
) -> None:
    """After each request without an answer the wait doubles, until one is answered."""
    settings = {
        "metadata.max.age.ms": 5_000,
        "retry.backoff.ms": base_ms,
        "retry.backoff.max.ms": max_ms,
        "reconnect.backoff.ms": 0,
        "reconnect.backoff.max.ms": 0,
    }
    simulation = still_bench(components, settings, jitter=jitter)
    simulation.warm()
    simulation.proxy().cut()
    simulation.run(3_000)
    simulation.trace.clear()
    _cut_at_questions(simulation, failures)
    simulation.run_until(lambda: bool(simulation.told(MetadataUpdated)), 60_000)
    asked = [event.at_ms for event in simulation.requests("Metadata")]
    failed = times(simulation, MetadataFailed)
    assert len(failed) == failures and len(asked) == failures + 1
    for earlier, (failed_ms, next_ms) in enumerate(zip(failed, asked[1:], strict=True)):
        due_ms = failed_ms + delay_ms(base_ms, max_ms, earlier, jitter)
        happens_at(next_ms, due_ms, f"request {earlier + 2} was sent", LATE_MS + TRIP_MS)


def _cut_at_questions(simulation: Simulation, times: int) -> None:
    """Cut the connection during the next ``times`` metadata requests."""
    left = times

    def watch(frame: Frame) -> None:
        nonlocal left
        if frame.api == "Metadata" and frame.kind is FrameKind.REQUEST and left:
            left -= 1
            simulation.network.later(0, simulation.proxy().cut)

    simulation.network.watch(watch)


@client_property(
    "MET-03",
    base_ms=st.integers(5, 300),
    max_ms=st.integers(5, 2_000),
    jitter=JITTER,
    answers=st.integers(2, 6),
    often=st.integers(4, 9),
)
def answers_that_tell_nothing_new_are_spaced(
    components: Components, base_ms: int, max_ms: int, jitter: float, answers: int, often: int
) -> None:
    """While every answer shows the known leaders, requests become rarer and rarer, however often one is wanted."""
    settings = {
        "retry.backoff.ms": base_ms,
        "retry.backoff.max.ms": max_ms,
        "enable.idempotence": False,
        "retries": 0,
    }
    simulation = still_bench(components, settings, jitter=jitter)
    simulation.warm()
    simulation.run(5_000)
    refuse_for_good(simulation, NOT_LEADER)
    wanted = 1 + answers
    for _ in range(12 * answers):
        simulation.send()
        simulation.run(1 + max_ms // often)
    updates, asked = (
        simulation.told(MetadataUpdated),
        [event.at_ms for event in simulation.requests("Metadata")],
    )
    assert len(updates) >= wanted, "a stale leader is not looked up again"
    equivalent = 0
    for update, next_ms in zip(updates, asked[1:], strict=False):
        equivalent = 0 if update.leaders_changed else equivalent + 1
        due_ms = update.at_ms + delay_ms(base_ms, max_ms, max(equivalent - 1, 0), jitter)
        assert next_ms > due_ms - 1, (
            f"requested {due_ms - next_ms} ms too early after {equivalent} equal answers"
        )
    refusals = [event.at_ms for event in simulation.told(ResponseReceived) if event.api == "Produce"][1:]
    for update, next_ms in zip(updates[1:], asked[2:], strict=False):
        wish_ms = min((moment for moment in refusals if moment >= update.at_ms), default=next_ms)
        latest_ms = max(wish_ms, update.at_ms + max(base_ms, max_ms) * 1.2)
        assert next_ms <= latest_ms + LATE_MS + 1, f"requested {next_ms - latest_ms} ms after it was due"


@client_property("MET-08", code=st.sampled_from(STALE + FINE), pause_ms=st.integers(0, 5_000), jitter=JITTER)
def a_wrong_leader_is_looked_up_at_once(
    components: Components, code: int, pause_ms: int, jitter: float
) -> None:
    """After an error that indicates stale metadata, it is requested as soon as the backoff allows.

    After others it is not.
    """
    simulation = still_bench(
        components, {"enable.idempotence": False, "retry.backoff.max.ms": 100}, jitter=jitter
    )
    simulation.warm()
    updated_ms = times(simulation, MetadataUpdated)[-1]
    simulation.run(pause_ms)
    asked = len(simulation.requests("Metadata"))
    simulation.cluster.inject_error(Api.PRODUCE, code, 1)
    delivery = simulation.send()
    ended_ms(simulation, [delivery])
    simulation.run(10)
    refused_ms = [event.at_ms for event in simulation.told(ResponseReceived) if event.api == "Produce"][1]
    later = [event.at_ms for event in simulation.requests("Metadata")[asked:]]
    assert bool(later) is (code in STALE), (
        f"metadata is {'' if later else 'not '}requested after error {code}"
    )
    if later:
        due_ms = max(refused_ms, updated_ms + delay_ms(100, 100, 0, jitter))
        happens_at(later[0], due_ms, "metadata was requested")


@client_property(
    "MET-10",
    idle_ms=st.integers(5_000, 20_000),
    age_ms=st.integers(500, 3_000),
    gap_ms=st.integers(500, 4_000),
)
def a_topic_that_nobody_uses_is_forgotten(
    components: Components, idle_ms: int, age_ms: int, gap_ms: int
) -> None:
    """A topic that was not used for metadata.max.idle.ms is not requested any more. One in use always is."""
    simulation = still_bench(components, {"metadata.max.idle.ms": idle_ms, "metadata.max.age.ms": age_ms})
    simulation.cluster.create_topic("other", 1)
    simulation.warm()
    ended_ms(simulation, [simulation.send(topic="other")])
    used_ms = simulation.now_ms
    while simulation.now_ms < used_ms + idle_ms + 3 * age_ms:
        simulation.run(gap_ms)
        simulation.send()
    simulation.run(100)
    updates = simulation.told(MetadataUpdated)
    for update in updates[1:]:
        asked_ms = max(
            event.at_ms for event in simulation.requests("Metadata") if event.at_ms <= update.at_ms
        )
        if asked_ms < used_ms + idle_ms - TRIP_MS:
            assert update.topics == 2 or asked_ms < used_ms, (
                f"forgotten {asked_ms - used_ms} ms after its use"
            )
        elif asked_ms > used_ms + idle_ms + TRIP_MS:
            assert update.topics == 1, f"requested {asked_ms - used_ms} ms after its last use"
    delivery = simulation.send(topic="other")
    ended_ms(simulation, [delivery], 5_000)
    assert delivery.error is None


@client_property(
    "MET-02", "NET-CON-05", request_ms=st.integers(50, 500), base_ms=st.integers(5, 200), jitter=JITTER
)
def silence_makes_no_storm(components: Components, request_ms: int, base_ms: int, jitter: float) -> None:
    """While no broker answers, requests and connections are spaced by their own limits, and none is made at once."""
    settings = {
        "request.timeout.ms": request_ms,
        "retry.backoff.ms": base_ms,
        "reconnect.backoff.ms": base_ms,
    }
    simulation = still_bench(components, settings, nodes=2, jitter=jitter)
    simulation.warm()
    for proxy in simulation.network.proxies:
        proxy.down.silence(LAW)
    simulation.send()
    simulation.run(20 * request_ms)
    ends = simulation.told(ConnectionEnded)
    for node in {event.node for event in ends}:
        moments = [event.at_ms for event in ends if event.node == node]
        for earlier, later in pairwise(moments):
            assert later - earlier > request_ms + base_ms - 1
