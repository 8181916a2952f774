"""Shrinking against an oracle: only what is needed remains, within the bound of delta debugging."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.spec import (
    AtTime,
    ClientRef,
    FaultSpec,
    FrameMatch,
    OnClientEvent,
    OnFrame,
    OnPhase,
    TrialSpec,
    Workload,
)
from harness.model.verdicts import Guarantee
from harness.search.reductions import FEWEST_CHUNKS, size
from harness.search.shrink_passes import MISSED, PARTS, attempts_for, fewer_faults, shrink, without_each

Oracle = Callable[[TrialSpec], bool]


def trial(*faults: FaultSpec, nodes: int = 1) -> TrialSpec:
    return TrialSpec(
        "t", ClientRef("c", "1"), f"local:4.3.1x{nodes}", "s", Guarantee.IDEMPOTENT, 1, Workload(), faults, {}
    )


def numbered(count: int) -> TrialSpec:
    return trial(*(FaultSpec(f"fault-{number}", AtTime(0), 0) for number in range(count)))


def anything(_: TrialSpec) -> bool:
    return True


class Run:
    """Runs a search with an oracle, and never tries the same candidate twice, as the runner of trials does."""

    def __init__(self, search, fails: Oracle) -> None:
        self.tried: list[TrialSpec] = []
        failed = None
        self.rounds = []
        while True:
            try:
                asked = next(search) if failed is None else search.send(failed)
            except StopIteration as end:
                self.smallest = end.value
                return
            assert asked.candidates
            assert all(size(candidate) < size(asked.so_far) for candidate in asked.candidates)
            assert not self.rounds or fails(asked.so_far)
            self.rounds.append(asked)
            self.tried += [each for each in asked.candidates if each not in self.tried]
            failed = [fails(candidate) for candidate in asked.candidates]


@st.composite
def subsets(draw: st.DrawFn, most: int = 40) -> tuple[int, set[int]]:
    count = draw(st.integers(1, most))
    return count, draw(st.sets(st.integers(0, count - 1), max_size=count))


def contains(culprits: set[int]) -> Oracle:
    kinds = {f"fault-{number}" for number in culprits}
    return lambda spec: kinds <= {fault.kind for fault in spec.faults}


@given(subsets())
def test_exactly_the_culprits_remain(drawn: tuple[int, set[int]]) -> None:
    count, culprits = drawn
    run = Run(fewer_faults(numbered(count), anything), contains(culprits))
    assert [fault.kind for fault in run.smallest.faults] == [f"fault-{n}" for n in sorted(culprits)]
    assert len(run.tried) <= count**2 + 3 * count


@given(st.integers(1, 20), st.data())
def test_the_result_is_one_minimal_for_any_oracle(count: int, data: st.DataObject) -> None:
    verdicts: dict[tuple[str, ...], bool] = {}

    def fails(spec: TrialSpec) -> bool:
        kinds = tuple(fault.kind for fault in spec.faults)
        if kinds not in verdicts:
            verdicts[kinds] = data.draw(st.booleans())
        return verdicts[kinds]

    whole = numbered(count)
    verdicts[tuple(fault.kind for fault in whole.faults)] = True
    run = Run(fewer_faults(whole, anything), fails)
    assert fails(run.smallest)
    assert not any(fails(fewer) for fewer in without_each(run.smallest))


@pytest.mark.parametrize("count", [2, 7, 12, PARTS])
def test_one_culprit_is_found_in_one_round(count: int) -> None:
    run = Run(fewer_faults(numbered(count), anything), contains({count // 2}))
    assert [len(asked.candidates) for asked in run.rounds] == [count + 1, 1, *[1] * (len(run.rounds) - 2)]
    assert len(run.tried) == count + 1


def test_all_needless_faults_are_removed_at_once() -> None:
    run = Run(fewer_faults(numbered(12), anything), contains({3, 9}))
    alone, without, together, *_ = run.rounds
    assert (len(alone.candidates), len(without.candidates)) == (13, 12)
    assert len(together.candidates) == ceil(log2(10)) - 1
    assert len(together.candidates[0].faults) == 2


def test_a_forbidden_candidate_is_never_tried() -> None:
    def allowed(spec: TrialSpec) -> bool:
        return len(spec.faults) > 3

    run = Run(fewer_faults(numbered(9), allowed), contains({0}))
    assert len(run.smallest.faults) == 4
    assert all(len(spec.faults) > 3 for spec in run.tried)
    assert not any(map(allowed, without_each(run.smallest)))


FAULT = FaultSpec("k", OnFrame("Produce", nth=9, after_ms=1_000), 800)
PARAMS = {"a_ms": 400, "b": 7}


def smallest(spec: TrialSpec, fails: Oracle = anything) -> TrialSpec:
    return Run(shrink(spec, lambda spec: bool(spec.faults)), fails).smallest


@pytest.mark.parametrize(
    "start",
    [AtTime(900), OnFrame("Produce", nth=4, after_ms=50), OnClientEvent("ok", 77, 9), OnPhase("startup")],
)
def test_irrelevant_values_become_as_small_as_possible(start) -> None:
    frames = FrameMatch("Produce", first=5, count=4, version=9, partition=1)
    fault = FaultSpec("k", start, 5_000, PARAMS, (), frames, AtTime(3))
    found = smallest(trial(fault, FAULT, nodes=3))
    [left] = found.faults
    assert left.duration_ms == 0 and left.params == {} and left.until is None and left.brokers == (1,)
    assert left.frames in (None, FrameMatch("Produce"))
    begin = left.start
    assert getattr(begin, "ms", 0) == getattr(begin, "after_ms", 0) == 0 and getattr(begin, "nth", 1) == 1
    assert found.workload.records == FEWEST_CHUNKS * found.workload.records_per_command


@given(st.integers(0, 5_000), st.integers(0, 5_000))
def test_half_the_remaining_duration_does_not_fail(needed_ms: int, more_ms: int) -> None:
    spec = trial(replace(FAULT, duration_ms=needed_ms + more_ms))
    [left] = smallest(spec, lambda spec: spec.faults[0].duration_ms >= needed_ms).faults
    assert needed_ms <= left.duration_ms
    assert left.duration_ms // 2 < needed_ms or left.duration_ms == 0


@given(st.integers(2, 60), st.integers(0, 60))
def test_a_load_keeps_the_needed_records(needed: int, more: int) -> None:
    spec = trial(FAULT)
    chunk = spec.workload.records_per_command
    spec = replace(spec, workload=replace(spec.workload, records=(needed + more) * chunk))
    found = smallest(spec, lambda spec: spec.workload.records >= needed * chunk).workload.records
    assert needed * chunk <= found <= spec.workload.records
    assert (found // chunk - FEWEST_CHUNKS) // 2 < needed


def test_a_needed_parameter_stays() -> None:
    spec = trial(replace(FAULT, params=PARAMS))
    [left] = smallest(spec, lambda spec: spec.faults[0].params.get("b") == 7).faults
    assert left.params == {"b": 7}
    [left] = smallest(spec, lambda spec: spec.faults[0].params.get("a_ms", 0) >= 90).faults
    assert left.params == {"a_ms": 100}


@pytest.mark.parametrize("needed", [(2,), (1, 3), (1, 2, 3)])
def test_the_needed_brokers_stay(needed: tuple[int, ...]) -> None:
    def fails(spec: TrialSpec) -> bool:
        return set(needed) <= set(spec.faults[0].brokers or (1, 2, 3))

    [left] = smallest(trial(FAULT, nodes=3), fails).faults
    assert left.brokers in (needed, ()) and set(left.brokers or (1, 2, 3)) == set(needed)


def test_reductions_that_work_only_separately_are_not_combined() -> None:
    """Either fault may be short, but not both."""
    spec = trial(FAULT, replace(FAULT, kind="other"))
    left = smallest(
        spec, lambda spec: len(spec.faults) == 2 and sum(f.duration_ms for f in spec.faults) >= 800
    )
    assert sum(fault.duration_ms for fault in left.faults) == 800


def test_a_fault_made_needless_by_another_reduction_is_removed() -> None:
    def fails(spec: TrialSpec) -> bool:
        kinds = {fault.kind: fault.duration_ms for fault in spec.faults}
        return "k" in kinds and (kinds["k"] == 0 or "other" in kinds)

    assert [fault.kind for fault in smallest(trial(FAULT, replace(FAULT, kind="other")), fails).faults] == [
        "k"
    ]


@given(st.integers(1, 9), st.integers(0, 8))
def test_the_attempts_miss_a_failure_at_most_one_time_in_twenty(failed: int, passed: int) -> None:
    attempts = attempts_for(failed, failed + passed)
    missed = passed / (failed + passed)
    assert missed**attempts <= MISSED
    assert attempts == 1 or missed ** (attempts - 1) > MISSED
