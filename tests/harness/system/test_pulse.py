"""The pulse records late beats with their times, and no others."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from harness.system.pulse import EVERY_S, LATE_NS, Pulse

EVERY_NS = int(EVERY_S * 1e9)


def test_a_stalled_event_loop_is_recorded():
    """The clock jumps between two beats, as it does while the loop is blocked."""
    beats_ns = [0, EVERY_NS, 2 * EVERY_NS, 3 * EVERY_NS + 2 * LATE_NS]
    moments_ns = iter(beats_ns)
    seen = asyncio.Event()

    def clock_ns() -> int:
        now_ns = next(moments_ns, None)
        if now_ns is None:
            seen.set()
        return beats_ns[-1] if now_ns is None else now_ns

    async def held_up():
        async with Pulse(clock_ns) as pulse:
            await seen.wait()
        return pulse.stalls

    assert asyncio.run(held_up()) == [(beats_ns[-2], beats_ns[-1])]


@given(st.lists(st.integers(0, 4 * LATE_NS), max_size=30))
def test_only_late_beats_are_stalls(late_ns):
    pulse, now_ns, expected = Pulse(), 0, 0
    for each_ns in late_ns:
        last_ns, now_ns = now_ns, now_ns + EVERY_NS + each_ns
        pulse.woke(last_ns, now_ns)
        expected += EVERY_NS + each_ns if each_ns >= LATE_NS else 0
    assert sum(end - begin for begin, end in pulse.stalls) == expected
    assert all(before[1] < after[0] for before, after in zip(pulse.stalls, pulse.stalls[1:], strict=False))


def test_the_pulse_leaves_no_task():
    async def beating():
        async with Pulse():
            await asyncio.sleep(0)
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert asyncio.run(beating()) == []
