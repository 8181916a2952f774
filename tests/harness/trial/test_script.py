"""The scripts of a trial's phases: every element is sent in time, and faults end before the client closes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.model.spec import Workload
from harness.model.units import NS_PER_MS
from harness.trial.script import (
    CATCH_UP_MS,
    AwaitFaults,
    AwaitPending,
    AwaitResults,
    Begin,
    CallOffFaults,
    Close,
    Facts,
    Flush,
    HandOver,
    Phase,
    SleepUntil,
    heal_script,
    load_script,
)

LOADS = st.builds(
    Workload,
    records=st.integers(1, 60),
    records_per_command=st.integers(1, 25),
    interval_ms=st.integers(0, 100),
)


class World:
    """Plays a script in virtual time; ``crash_at`` is the number of the step that crashes."""

    def __init__(self, crash_at=None, faults_until_ns=0, settled=True, active=True):
        self.now_ns = self.phase_ns = 1_000
        self.crash_at, self.faults_until_ns = crash_at, faults_until_ns
        self.settled, self.active = settled, active
        self.done = []

    def play(self, script):
        step = next(script, None)
        while step is not None:
            self.done.append(step)
            match step:
                case Begin():
                    self.phase_ns = self.now_ns
                case SleepUntil(at_ns):
                    self.now_ns = max(self.now_ns, at_ns)
                case AwaitFaults(timeout_ms) | AwaitResults(timeout_ms):
                    self.now_ns += timeout_ms * NS_PER_MS
            pending = self.now_ns < self.faults_until_ns
            facts = Facts(
                self.now_ns,
                self.phase_ns,
                self.settled,
                crashed=len(self.done) - 1 == self.crash_at,
                faults_active=pending and self.active,
                faults_pending=pending,
            )
            try:
                step = script.send(facts)
            except StopIteration:
                return self.done
        return self.done


@given(LOADS)
def test_every_element_is_sent_once_in_order_during_the_load(load):
    world = World()
    done = world.play(load_script(load))
    assert [n for step in done if isinstance(step, HandOver) for n in step.numbers] == list(
        range(load.records)
    )
    assert done[1:3] == [AwaitResults(20_000), Begin(Phase.LOAD)]
    assert done[-1] == CallOffFaults()
    assert world.now_ns == world.phase_ns + load.load_ms * NS_PER_MS


@given(LOADS, st.integers(0, 20))
def test_a_crash_during_the_load_ends_it(load, crash_at):
    done = World(crash_at).play(load_script(load))
    crashed = next(
        (at for at, step in enumerate(done) if at == crash_at and isinstance(step, HandOver)), None
    )
    if crashed is not None:
        assert not any(isinstance(step, HandOver | SleepUntil) for step in done[crashed + 1 :])
    assert done[-1] == CallOffFaults()


def test_the_load_waits_for_an_active_fault():
    world = World(faults_until_ns=10**12)
    world.play(load_script(Workload(records=10, records_per_command=10, interval_ms=10)))
    assert world.now_ns >= 10**12


def test_the_load_waits_for_a_pending_fault_only_while_results_are_pending():
    load = Workload(records=10, records_per_command=10, interval_ms=10)
    for settled, waits_ms in ((True, 0), (False, CATCH_UP_MS)):
        world = World(faults_until_ns=10**12, settled=settled, active=False)
        done = world.play(load_script(load))
        waited = [step for step in done if isinstance(step, AwaitFaults)]
        assert sum(step.timeout_ms for step in waited) == waits_ms


def test_healing_flushes_waits_for_pending_results_and_closes():
    done = World().play(heal_script(30_000))
    assert done == [Begin(Phase.HEAL), Flush(30_000), AwaitPending(), Begin(Phase.FINAL), Close(10_000)]


def test_a_client_that_crashes_in_its_flush_is_not_waited_for():
    done = World(crash_at=1).play(heal_script(30_000))
    assert done == [Begin(Phase.HEAL), Flush(30_000), Begin(Phase.FINAL), Close(10_000)]
