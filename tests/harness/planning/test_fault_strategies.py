"""Schedules drawn from tables are executable, distinct and reported, whatever the table contains."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from harness.model.dice import Dice
from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.spec import AtTime, ClientRef, FaultSpec, OnFrame, Workload
from harness.planning import validate_faults
from harness.planning.campaign_file import SCENARIO
from harness.planning.fault_strategies import (
    TRIES,
    DrawnKind,
    FaultTable,
    OneOf,
    any_moment,
    drawn,
    ends,
    on_its_way,
)
from harness.planning.fault_tables import PROBE, Generated, scenario_of
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from testkit.codes import raises_code

KINDS = registry.table("faults")
UNFAIR = {"changed_error", "log_trim", "producer_id_expiry", "topic_recreate"}
OF_FRAMES = {name for name, kind in KINDS.items() if getattr(kind, "of_frames", False)}
#: Error codes that a broker can return for a true reason.
CODES = OneOf((6, 7, 19, 20))
SEEDS = st.integers(0, 2**32)
BROKERS = ["local:4.3.1x1", "local:4.3.1x3"]


def amounts(low: int, high: int) -> st.SearchStrategy[Any]:
    numbers = st.integers(low, high)
    ranges = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))
    return numbers | ranges | st.lists(numbers, min_size=1, max_size=4).map(lambda some: OneOf(tuple(some)))


def tables_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Draw what a campaign file may say about one kind of fault, in the form in which it is read."""
    params = {
        param.name: amounts(param.low, param.high)
        for param in KINDS[name].params
        if (name, param.name)
        not in {("error_response", "api"), ("error_response", "partition"), ("throttle", "api")}
    }
    if name == "error_response":
        params |= {"code": st.just(CODES), "after_append": st.just(1)}
    if name == "bandwidth":
        params = {
            key: st.builds(OneOf, st.lists(st.sampled_from([1_000, 20_000]), min_size=1)) for key in params
        }
    frames = {"frames": {"direction": "response"}} if name in OF_FRAMES else {}
    needed = {key: value for key, value in params.items() if name in ("error_response", "bandwidth")}
    optional = {key: value for key, value in params.items() if key not in needed}
    return st.fixed_dictionaries(
        needed, optional=optional | {"duration_ms": amounts(0, 5_000), "broker": amounts(1, 3)}
    ).map(lambda told: msgspec.to_builtins(told) | frames)


kinds = st.lists(st.sampled_from(sorted(set(KINDS) - UNFAIR)), min_size=1, max_size=4, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: tables_of(name) for name in names})
)
loads = st.builds(
    Workload,
    records=st.integers(1, 500),
    records_per_command=st.integers(1, 100),
    interval_ms=st.integers(0, 300),
    partitions=st.integers(1, 3),
)
tables = st.builds(Generated, kinds=kinds, faults=amounts(1, 6), duration_ms=amounts(0, 5_000), load=loads)


@pytest.mark.long("a simulated trial an example")
@given(tables, SEEDS)
@settings(max_examples=200)
def test_every_drawn_schedule_is_valid_and_fair(table, seed):
    behind = registry.scenario(SCENARIO)
    try:
        scenario = scenario_of("any", table, behind, BROKERS)
        faults = scenario.schedule(Dice(seed, "s"))
    except UsageError as error:
        assert str(error).startswith("generated.any")
        reject()
    assert faults == scenario.schedule(Dice(seed, "s"))
    validate_faults.check([msgspec.structs.replace(PROBE, workload=table.load, faults=faults)], Mode.LIVE)
    assert not any(behind.unfair(fault) for fault in faults)
    assert len(set(map(str, faults))) == len(faults) <= ends(table.faults)[1]
    assert {fault.kind for fault in faults} <= set(table.kinds)
    first, *_ = faults
    assert isinstance(first.start, OnFrame)
    assert (first.start.api, first.start.direction, first.start.nth) == ("Produce", "request", 1)


@given(amounts(-5, 5), SEEDS)
def test_a_drawn_number_is_within_its_amount(amount, seed):
    number, (low, high) = drawn(Dice(seed, "n"), amount), ends(amount)
    assert low <= number <= high
    assert not isinstance(amount, OneOf) or number in amount.one_of


@pytest.mark.parametrize(
    ("amount", "all_of_them"), [(3, {3}), ((1, 4), {1, 2, 3, 4}), (OneOf((1, 100)), {1, 100})]
)
def test_every_number_of_an_amount_is_drawn(amount, all_of_them):
    dice = Dice(1, "n")
    assert {drawn(dice, amount) for _ in range(100)} == all_of_them


LATENCY = DrawnKind("latency", (100, 900), {"upstream_ms": (0, 3), "downstream_ms": (0, 3)})
CUT = DrawnKind("disconnect", OneOf((0, 50)))


@given(SEEDS, st.integers(1, 8))
def test_a_schedule_has_the_requested_number_of_faults(seed, count):
    assert len(FaultTable(count, (LATENCY, CUT)).schedule(Dice(seed, "s"))) == count


def test_a_schedule_has_fewer_faults_if_too_few_differ():
    table = FaultTable(9, (DrawnKind("disconnect", 0),), Workload(records=1, interval_ms=0))
    faults = table.schedule(Dice(1, "s"))
    assert 1 < len(faults) < 9


@given(SEEDS, st.integers(0, 20_000))
def test_a_fault_begins_within_the_load(seed, load_ms):
    dice = Dice(seed, "m")
    for moment in (on_its_way(dice, load_ms, "Produce"), any_moment(dice, load_ms, "Produce")):
        at_ms = moment.ms if isinstance(moment, AtTime) else moment.after_ms
        assert 0 <= at_ms < max(load_ms, 1)


def test_a_refused_fault_is_drawn_again_until_the_tries_are_used_up():
    tried: list[FaultSpec] = []

    def delayed(fault: FaultSpec) -> None:
        tried.append(fault)
        if not any(fault.params.values()):
            raise UsageError("made-up", "no delay at all")

    moment = AtTime(0)
    some = DrawnKind("latency", 10, {"upstream_ms": OneOf((0, 7))})
    assert {
        some.drawn(Dice(seed, "k"), moment, delayed, "Produce").params["upstream_ms"] for seed in range(20)
    } == {7}
    tried.clear()
    with raises_code(UsageError, "made-up"):
        DrawnKind("latency", 10, {"upstream_ms": 0}).drawn(Dice(1, "k"), moment, delayed, "Produce")
    assert len(tried) == TRIES


def test_frames_and_brokers_are_drawn():
    behind = registry.scenario(SCENARIO)
    about = {"broker": [1, 3], "frames": {"api": "Metadata", "first": [1, 4], "count": 2}}
    scenario = scenario_of("few", Generated({"late_frame": about}, faults=6), behind, BROKERS)
    faults = [fault for seed in range(20) for fault in scenario.schedule(Dice(seed, "s"))]
    assert {fault.brokers for fault in faults} == {(1,), (2,), (3,)}
    assert {fault.frames.first for fault in faults} == {1, 2, 3, 4}
    assert {(fault.frames.api, fault.frames.direction, fault.frames.count) for fault in faults} == {
        ("Metadata", "response", 2)
    }


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_first_fault_has_an_effect(seed):
    scenario, client = registry.scenario(SCENARIO), ClientRef("reference", "0.1.0")
    evidence = SimulatedTrial(spec_of(scenario, client, seed), RUN_ID).run()
    [first] = [row for row in evidence.faults if row.index == 0]
    assert first.spec == evidence.record.spec.faults[0] and first.hits > 0


@pytest.mark.parametrize("name", sorted(UNFAIR))
def test_faults_that_make_brokers_break_promises_are_refused(name):
    about = {"frames": {}} if name in OF_FRAMES else {}
    with raises_code(
        UsageError, "fault-not-judged", fault=name, where=re.compile(rf"generated\.bad\.kinds\.{name}$")
    ):
        scenario_of("bad", Generated({name: about}), registry.scenario(SCENARIO), BROKERS)


@pytest.mark.parametrize(
    ("params", "is_fair"),
    [
        ({"code": 6, "after_append": 1}, True),
        ({"after_append": 1}, True),
        ({"code": 10, "after_append": 1}, False),
        ({"api": 22, "code": 14}, True),
        ({"api": 22, "code": 31}, False),
        ({"api": 3, "code": 4_711}, False),
    ],
)
def test_an_error_is_fair_if_it_can_be_true_and_retried(params, is_fair):
    fault = FaultSpec("error_response", AtTime(0), 500, params)
    assert (registry.scenario(SCENARIO).unfair(fault) is None) == is_fair


def test_no_parameter_has_the_name_of_a_table_key():
    own = {"duration_ms", "broker", "frames"}
    assert not own & {param.name for kind in KINDS.values() for param in kind.params}
