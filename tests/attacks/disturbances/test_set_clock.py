"""A step of the wall clock during a trial is reported, whatever its size and direction."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cache
from itertools import accumulate
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace as restruct

from harness.judging.judge import judge
from harness.model.spec import ClientRef
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.simulated.trial import SimulatedTrial
from harness.system.pulse import EVERY_S, STEP_NS, Pulse

WALL_NS = 1_800_000_000 * 10**9
EVERY_NS = int(EVERY_S * 1e9)
#: The largest error of one clock reading.
JITTER_NS = STEP_NS // 2


@given(
    st.lists(st.tuples(st.integers(-(10**18), 10**18), st.integers(0, JITTER_NS)), max_size=20),
    st.integers(0, JITTER_NS),
)
@example([(3 * STEP_NS, 0), (-3 * STEP_NS, 0)], 0)  # forward and back again
def test_only_steps_of_the_clock_are_reported(steps, first_ns):
    pulse = Pulse()
    pulse.looked(0, WALL_NS + first_ns, JITTER_NS)
    offsets_ns = list(accumulate((step_ns for step_ns, _ in steps), initial=0))[1:]
    for beat, (offset_ns, (_, late_ns)) in enumerate(zip(offsets_ns, steps, strict=True), 1):
        at_ns = beat * EVERY_NS
        pulse.looked(at_ns, WALL_NS + at_ns + offset_ns + late_ns, at_ns + JITTER_NS)
    if any(abs(offset_ns) > STEP_NS + JITTER_NS for offset_ns in offsets_ns):
        assert pulse.stepped_ns
    elif all(abs(offset_ns) <= STEP_NS - JITTER_NS for offset_ns in offsets_ns):
        assert not pulse.stepped_ns


@given(st.integers(JITTER_NS + 1, 10**12), st.integers(0, 10**12))
def test_pause_between_two_readings_is_not_a_step(apart_ns, late_ns):
    pulse = Pulse()
    pulse.looked(0, WALL_NS, 0)
    pulse.looked(EVERY_NS, WALL_NS + EVERY_NS + min(late_ns, apart_ns), EVERY_NS + apart_ns)
    assert pulse.stepped_ns == 0


def test_step_after_last_beat_is_reported():
    wall_ns = iter([WALL_NS, WALL_NS + 10 * STEP_NS])

    async def short():
        async with Pulse(lambda: 0, lambda: next(wall_ns)) as pulse:
            pass
        return pulse

    pulse = asyncio.run(short())
    assert pulse.stepped_ns == 10 * STEP_NS and not pulse.beats


@cache
def judged():
    """Return the evidence of a trial with a fault, its scenario, and its verdict."""
    client = ClientRef("reference", registry.client("reference").default_version)
    scenario = registry.scenario("produce/dropped-response")
    spec = make_plan([scenario], [client], ["scripted:4.3.1x1"], [7]).trials[-1]
    evidence = SimulatedTrial(spec, "run").run()
    return evidence, scenario, judge(evidence, scenario, registry.checks())


@given(st.integers(0))
def test_steps_below_reporting_threshold_change_no_verdict(seed):
    evidence, scenario, verdict = judged()
    dice = Random(seed)
    history = [
        restruct(event, wall_ns=event.wall_ns + dice.randint(-STEP_NS, STEP_NS)) for event in evidence.history
    ]
    assert judge(replace(evidence, history=tuple(history)), scenario, registry.checks()) == verdict
