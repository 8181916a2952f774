"""delivery.timeout.ms: every record has a result by then, wherever its batch is, and an expired one stays expired."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import (
    BatchEnded,
    BatchExpired,
    BatchSent,
    SequenceResolved,
    SequenceUnresolved,
)
from harness.model.verdicts import Outcome
from suites.properties.property import client_property, example
from suites.properties.simulation import TOPIC, Simulation
from suites.properties.timeout_expiry.clock import (
    LAW,
    LONG_MS,
    TRIP_MS,
    ended_ms,
    happens_at,
    hold,
    let_go,
    nothing_raised,
    refuse_for_good,
    sent_ms,
    still_bench,
)

SILENT, REFUSED, NO_LEADER, ERRORS, LINGERING = (
    "no answer",
    "no connection",
    "no leader",
    "errors",
    "lingering",
)


def _trouble(simulation: Simulation, why: str) -> None:
    """Prevent batches from having a result."""
    if why == SILENT:
        simulation.proxy().down.silence(LAW)
    elif why == REFUSED:
        simulation.proxy().refuse(LAW)
        simulation.proxy().cut()
    elif why == ERRORS:
        refuse_for_good(simulation)
    elif why == NO_LEADER:
        simulation.cluster.kill(simulation.cluster.leader(TOPIC, 0)[0], simulation.scheduler.now_ns)
        simulation.proxy().cut()
    simulation.run(1)


@client_property(
    "PRD-EXP-01",
    "PRD-EXP-02",
    "PRD-EXP-05",
    why=st.sampled_from([SILENT, REFUSED, NO_LEADER, ERRORS, LINGERING]),
    delivery_ms=st.integers(10, 5_000),
    request_share=st.integers(1, 100),
    gaps_ms=st.lists(st.integers(0, 800), max_size=4),
    idempotent=st.booleans(),
)
@example(why=SILENT, delivery_ms=1_000, request_share=30, gaps_ms=[100], idempotent=True)
@example(why=REFUSED, delivery_ms=1_000, request_share=30, gaps_ms=[100], idempotent=True)
@example(why=NO_LEADER, delivery_ms=1_000, request_share=30, gaps_ms=[100], idempotent=True)
@example(why=ERRORS, delivery_ms=1_000, request_share=30, gaps_ms=[100], idempotent=True)
@example(why=LINGERING, delivery_ms=1_000, request_share=30, gaps_ms=[100], idempotent=True)
def every_record_has_a_result_in_time(
    components: Components,
    why: str,
    delivery_ms: int,
    request_share: int,
    gaps_ms: list[int],
    idempotent: bool,
) -> None:
    """A batch expires at delivery.timeout.ms, queued or in flight, and reports how many records, where and how long."""
    request_ms = max(delivery_ms * request_share // 100, 1)
    linger_ms = delivery_ms - request_ms if why is LINGERING else 0
    settings = {
        "delivery.timeout.ms": delivery_ms,
        "request.timeout.ms": request_ms,
        "linger.ms": linger_ms,
        "enable.idempotence": idempotent,
        "max.in.flight.requests.per.connection": 5,
        "metadata.max.age.ms": LONG_MS,
    }
    assume(delivery_ms > linger_ms + 6 * TRIP_MS and request_ms > 3 * TRIP_MS)
    simulation = still_bench(components, settings)
    simulation.warm()
    _trouble(simulation, SILENT if why is LINGERING else why)
    sent = []
    for gap_ms in [0, *gaps_ms]:
        simulation.run(gap_ms)
        sent.append(simulation.send())
        simulation.rounds()
    simulation.run_until(lambda: all(each.is_done for each in sent), 2 * delivery_ms + 4_000)
    expired = {event.batch for event in simulation.told(BatchExpired)}
    assert all(each.is_done for each in sent), f"{sum(not each.is_done for each in sent)} without a result"
    ends = {event.batch: event.at_ms for event in simulation.told(BatchEnded)}
    for delivery in sent:
        batch = delivery.batch
        assert batch is not None and getattr(delivery.error, "name", "") == "REQUEST_TIMED_OUT"
        happens_at(ends[batch.name], batch.created_ms + delivery_ms, "the batch expired")
        told = str(delivery.error)
        if batch.name in expired:  # else its request took too long in the same millisecond
            assert f"{TOPIC}-0" in told and str(batch.record_count) in told and str(delivery_ms) in told
        else:
            assert why in (SILENT, LINGERING), f"ended by {told}"


@client_property(
    "PRD-EXP-03",
    "NET-TMO-05",
    held_ms=st.integers(10, 900),
    answer_ms=st.integers(100, 980),
    idempotent=st.booleans(),
)
@example(held_ms=500, answer_ms=800, idempotent=False)
@example(held_ms=500, answer_ms=800, idempotent=True)
def what_was_given_up_stays_given_up(
    components: Components, held_ms: int, answer_ms: int, idempotent: bool
) -> None:
    """A batch that expired in flight is never sent again, and a late success does not change the reported result."""
    assume(held_ms + answer_ms > 1_000 + 2 * TRIP_MS)
    settings = {
        "delivery.timeout.ms": 1_000,
        "request.timeout.ms": 1_000,
        "enable.idempotence": idempotent,
        "reconnect.backoff.ms": held_ms,
        "reconnect.backoff.max.ms": held_ms,
    }
    simulation = still_bench(components, settings)
    simulation.warm()
    simulation.run(3_000)
    simulation.proxy().cut()
    simulation.run(1)
    told: list[str] = []
    begun_ms = simulation.now_ms
    delivery = simulation.send(b"late", callback=lambda _, error: told.append(getattr(error, "name", "")))
    simulation.run_until(lambda: bool(sent_ms(simulation)), 1_100)
    assume(bool(sent_ms(simulation)))
    simulation.proxy().down.delay(LAW, answer_ms * 1_000_000)
    simulation.proxy().retime()
    [done_ms] = ended_ms(simulation, [delivery])
    if delivery.error is None:
        assert done_ms <= begun_ms + 1_000
        return
    happens_at(done_ms, begun_ms + 1_000, "the batch expired")
    attempts = len(sent_ms(simulation))
    simulation.run(5_000)
    assert told == ["REQUEST_TIMED_OUT"], f"told {told}"
    assert len(sent_ms(simulation)) == attempts, "an expired batch was sent again"
    assert getattr(delivery.error, "outcome", None) is Outcome.INFO
    nothing_raised(simulation)
    names = [event.batch for event in simulation.told(BatchEnded)]
    assert len(names) == len(set(names)), "a batch ended twice"


@client_property(
    "PRD-EXP-06",
    "PRD-EXP-03",
    gap_ms=st.integers(1, 300),
    later=st.integers(1, 4),
    waits_ms=st.integers(0, 100),
    heals=st.booleans(),
)
def unknown_sequences_are_settled_first(
    components: Components, gap_ms: int, later: int, waits_ms: int, heals: bool
) -> None:
    """After a sent idempotent batch expires in doubt, its partition sends nothing new until its outcome is known."""
    settings = {
        "delivery.timeout.ms": 1_000,
        "request.timeout.ms": 1_000,
        "batch.size": 1,
        "reconnect.backoff.ms": 500,
        "reconnect.backoff.max.ms": 500,
    }
    simulation = still_bench(components, settings)
    simulation.warm()
    simulation.run(1_000)
    simulation.proxy().cut()
    simulation.run(1)
    doubtful = [simulation.send(b"0")]
    simulation.run(gap_ms)
    doubtful.append(simulation.send(b"1"))
    simulation.run_until(lambda: len(sent_ms(simulation)) == 2, 600)
    hold(simulation)
    ended_ms(simulation, doubtful[:1])
    assert len(sent_ms(simulation)) == 2 and doubtful[0].error is not None
    simulation.run(min(waits_ms, gap_ms - 1))
    sent = doubtful + [simulation.send(b"%d" % number) for number in range(2, 2 + later)]
    simulation.rounds()
    assert len(sent_ms(simulation)) == 2, "a new batch was sent while the outcome of older ones is unknown"
    if heals:
        let_go(simulation)
    simulation.run(3_000)
    let_go(simulation)
    simulation.run(3_000)
    sent += [simulation.send(b"%d" % number) for number in range(2 + later, 5 + later)]
    ended_ms(simulation, sent)
    unresolved = False
    for event in simulation.trace:
        if isinstance(event, SequenceUnresolved | SequenceResolved):
            unresolved = isinstance(event, SequenceUnresolved)
        elif isinstance(event, BatchSent):
            assert not unresolved or event.attempt > 1, f"{event.batch} was sent in doubt"
    stored = [int(record.value or 0) for record in simulation.log()[1:]]
    acknowledged = {number for number, delivery in enumerate(sent) if delivery.error is None}
    assert stored == sorted(set(stored)), f"the log has {stored}"
    assert acknowledged <= set(stored) and not sent[-1].error, f"{sent[-1].error}"


@client_property("PRD-EXP-07", expired=st.integers(1, 4), before=st.integers(1, 4), after=st.integers(1, 4))
def what_was_never_sent_leaves_no_gap(components: Components, expired: int, before: int, after: int) -> None:
    """Batches that expire before they were ever sent use no sequence number and no epoch."""
    settings = {"delivery.timeout.ms": 500, "request.timeout.ms": 400, "reconnect.backoff.ms": 20}
    simulation = still_bench(components, settings)
    for _ in range(before):
        simulation.warm()
    simulation.run(1_000)
    simulation.proxy().refuse(LAW)
    simulation.proxy().cut()
    simulation.run(1)
    lost = [simulation.send(b"lost") for _ in range(expired)]
    ended_ms(simulation, lost)
    assert all(getattr(each.error, "outcome", None) is Outcome.FAIL for each in lost)
    simulation.proxy().accept(LAW)
    simulation.run(2_000)
    for _ in range(after):
        simulation.warm()
    sent = simulation.told(BatchSent)
    assert [event.base_sequence for event in sent] == list(range(before + after))
    assert len({(event.producer_id, event.producer_epoch) for event in sent}) == 1
