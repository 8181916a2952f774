"""Virtual time: events happen in order of time, then of scheduling, and none is lost or early."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.simulated.scheduler import Scheduler


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(0, 25))
def test_events_happen_in_order_and_on_time(moments: list[int], until_ns: int) -> None:
    scheduler = Scheduler(0)
    seen: list[tuple[int, int]] = []
    for number, at_ns in enumerate(moments):
        scheduler.at(at_ns, lambda at_ns=at_ns, number=number: seen.append((scheduler.now_ns, number)))
    scheduler.run(until_ns)
    assert seen == sorted((at_ns, number) for number, at_ns in enumerate(moments) if at_ns <= until_ns)
    assert scheduler.now_ns == until_ns
    assert scheduler.next_ns() == min((at for at in moments if at > until_ns), default=None)


def test_an_event_scheduled_for_now_follows_those_already_due() -> None:
    scheduler, seen = Scheduler(0), []

    def first() -> None:
        seen.append("first")
        scheduler.at(0, lambda: seen.append("asked for"))

    scheduler.at(5, first)
    scheduler.at(5, lambda: seen.append("second"))
    scheduler.run(5)
    assert seen == ["first", "second", "asked for"]


def test_a_cancelled_event_does_not_happen() -> None:
    scheduler, seen = Scheduler(0), []
    event = scheduler.at(3, lambda: seen.append(1))
    event.cancel()
    assert scheduler.next_ns() is None
    scheduler.run(9)
    assert seen == [] and scheduler.happened == 0
