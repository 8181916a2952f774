"""Schedules drawn from tables: whatever a table says, what comes out can be carried out, is distinct, and is told."""

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
#: Kinds whose answers may only say what can be true.
CODES = OneOf((6, 7, 19, 20))
SEEDS = st.integers(0, 2**32)
BROKERS = ["local:4.3.1x1", "local:4.3.1x3"]


def amounts(low: int, high: int) -> st.SearchStrategy[Any]:
    numbers = st.integers(low, high)
    ranges = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))
    return numbers | ranges | st.lists(numbers, min_size=1, max_size=4).map(lambda some: OneOf(tuple(some)))


def tables_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """What a file may say of one kind of fault, as it is read."""
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
def test_every_schedule_that_is_drawn_can_be_carried_out_and_judged(table, seed):
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
def test_a_number_is_one_that_may_be(amount, seed):
    number, (low, high) = drawn(Dice(seed, "n"), amount), ends(amount)
    assert low <= number <= high
    assert not isinstance(amount, OneOf) or number in amount.one_of


@pytest.mark.parametrize(
    ("amount", "all_of_them"), [(3, {3}), ((1, 4), {1, 2, 3, 4}), (OneOf((1, 100)), {1, 100})]
)
def test_every_number_that_may_be_comes_up(amount, all_of_them):
    dice = Dice(1, "n")
    assert {drawn(dice, amount) for _ in range(100)} == all_of_them


LATENCY = DrawnKind("latency", (100, 900), {"upstream_ms": (0, 3), "downstream_ms": (0, 3)})
CUT = DrawnKind("disconnect", OneOf((0, 50)))


@given(SEEDS, st.integers(1, 8))
def test_there_are_as_many_faults_as_are_asked_for(seed, count):
    assert len(FaultTable(count, (LATENCY, CUT)).schedule(Dice(seed, "s"))) == count


def test_where_there_are_not_so_many_different_ones_there_are_fewer():
    try_partition = FaultTable(9, (DrawnKind("disconnect", 0),), Workload(records=1, interval_ms=0))
    faults = try_partition.schedule(Dice(1, "s"))
    assert 1 < len(faults) < 9


@given(SEEDS, st.integers(0, 20_000))
def test_a_fault_begins_within_the_load(seed, load_ms):
    dice = Dice(seed, "m")
    for moment in (on_its_way(dice, load_ms, "Produce"), any_moment(dice, load_ms, "Produce")):
        at_ms = moment.ms if isinstance(moment, AtTime) else moment.after_ms
        assert 0 <= at_ms < max(load_ms, 1)


def test_what_is_not_accepted_is_drawn_anew_and_at_last_told():
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


def test_frames_and_broker_are_drawn_as_well():
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
def test_the_first_fault_meets_something_on_its_way(seed):
    scenario, client = registry.scenario(SCENARIO), ClientRef("reference", "0.1.0")
    evidence = SimulatedTrial(spec_of(scenario, client, seed), RUN_ID).run()
    [first] = [row for row in evidence.faults if row.index == 0]
    assert first.spec == evidence.record.spec.faults[0] and first.hits > 0


@pytest.mark.parametrize("name", sorted(UNFAIR))
def test_nobody_is_judged_where_brokers_break_promises_or_lie(name):
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
def test_an_error_is_fair_if_a_broker_could_mean_it_and_a_client_go_on(params, is_fair):
    fault = FaultSpec("error_response", AtTime(0), 500, params)
    assert (registry.scenario(SCENARIO).unfair(fault) is None) == is_fair


def test_a_parameter_is_never_called_like_what_a_table_has_itself():
    own = {"duration_ms", "broker", "frames"}
    assert not own & {param.name for kind in KINDS.values() for param in kind.params}
