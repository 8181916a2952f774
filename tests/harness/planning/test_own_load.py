"""A load from ``--load`` or a campaign file is the workload that it describes, or an error that says why not."""

from __future__ import annotations

import msgspec
import pytest

from harness.model.errors import UsageError
from harness.model.load import SizeChoices, SizeLognormal, SizeRange
from harness.model.mode import Mode
from harness.model.payload import Identity, decode
from harness.model.spec import Workload
from harness.planning import own_load, selection, validate_plan
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.workloads.produce.commands import value_of
from testkit.codes import raises_code

MUST_SHOW = "records=100000,size=20..20000,rate=5000,burst=1000/1s,producers=3,topics=2"


def plan(text: str, scenario: str = "network/reset", seed: int = 7):
    """The plan of one client in one scenario with this load."""
    [chosen] = selection.loaded(selection.scenarios([scenario], ["idempotent"]), own_load.parsed([text]))
    return make_plan([chosen], selection.clients(["reference"], ()), ["local:4.3.1x1"], [seed])


def checked(text: str):
    """The only trial of a plan that was checked."""
    made = plan(text)
    for spec in made.trials:
        validate_plan.check_numbers(spec)
    return made.trials[0]


def test_a_load_is_in_the_plan_with_everything_that_it_needs():
    spec = checked(MUST_SHOW)
    load = spec.workload
    assert (load.records, load.shape.rate, load.shape.burst, load.shape.producers) == (
        100_000,
        5_000,
        1_000,
        3,
    )
    assert (load.shape.sizes, load.shape.topics, load.shape.draw) == (SizeRange(20, 20_000), 2, 7)
    assert load.load_ms == 20_000
    assert load.records_per_command * load.mean_bytes <= own_load.COMMAND_BYTES
    assert msgspec.json.decode(msgspec.json.encode(load), type=Workload) == load


def test_options_may_be_repeated_and_the_last_value_counts():
    assert own_load.parsed(["records=5,rate=10", "records=7"]) == own_load.OwnLoad(records=7, rate=10)
    assert own_load.parsed([]) is None


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1000", SizeRange(1_000, 1_000)),
        ("20..20000", SizeRange(20, 20_000)),
        ("lognormal:500:1.2", SizeLognormal(500, 120, 1, 1_000_000)),
        ("lognormal:500:0.5:100..900", SizeLognormal(500, 50, 100, 900)),
        ("100:8/20000:1", SizeChoices(((100, 8), (20_000, 1)))),
    ],
)
def test_sizes_are_written_in_one_word(text, sizes):
    assert own_load.sizes_of(text) == sizes


def test_a_duration_and_a_rate_give_the_records():
    assert checked("duration=20s,rate=500").workload.records == 10_000


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("records=0", "load-value-range"),
        ("rate=0", "load-value-range"),
        ("producers=0", "load-value-range"),
        ("topics=99", "load-value-range"),
        ("size=0", "load-value"),
        ("size=9..1", "load-value"),
        ("size=100:0", "load-value"),
        ("size=lognormal:5", "load-value"),
        ("skew=11", "load-value"),
        ("records=many", "load-value"),
        ("records=", "load-value"),
        ("burst=5/1s", "load-burst-without-rate"),
        ("rate=10,burst=50/1s", "load-burst-too-large"),
        ("duration=5s", "load-duration"),
        ("duration=5s,rate=10,records=3", "load-duration"),
        ("payloads=/nowhere/at/all", "payloads-unreadable"),
        ("size=2000000", "load-larger-than-request"),
        ("records=400000,rate=5000", "evidence-too-large"),
        ("rate=50000,size=20000,records=100000", "load-too-fast"),
        ("records=5000,rate=1", "load-too-long"),
    ],
)
def test_an_impossible_load_is_refused(text, code):
    with pytest.raises(UsageError) as refused:
        checked(text)
    assert refused.value.code == code


def test_an_unknown_key_is_refused():
    with raises_code(UsageError, "unknown-name", name="recordz"):
        own_load.parsed(["recordz=5"])


def test_a_fault_after_the_end_of_the_load_is_refused():
    with raises_code(UsageError, "fault-starts-after-load"):
        validate_plan.check(plan("records=60,rate=6000", "network/bandwidth"), Mode.LIVE)


def test_payloads_are_the_bodies_of_the_values_in_turn(tmp_path):
    file = tmp_path / "lines"
    file.write_text('{"a": "b|c"}\n\nsecond\n')
    load = checked(f"records=10,payloads={file}").workload
    values = [value_of(load, "r", "t", n) for n in range(3)]
    assert load.shape.payloads == ('{"a": "b|c"}', "second")
    assert ['|{"a": "b|c"}|' in values[0], "|second|" in values[1], values[2].count("a")] == [True, True, 1]
    assert [decode(value) for value in values] == [Identity("r", "t", "p1", n) for n in range(3)]


def test_a_load_of_a_drawn_workload_is_kept_in_every_trial():
    [chosen] = selection.loaded([registry.scenario("generated/any")], own_load.parsed(["records=77,size=9"]))
    trials = make_plan([chosen], selection.clients(["reference"], ()), ["local:4.3.1x1"], range(5)).trials
    assert {spec.workload.records for spec in trials} == {77}
    assert {spec.workload.shape.draw for spec in trials} == set(range(5))


def test_a_load_is_shown_in_words():
    kind = registry.workload("produce")
    told = kind.shown(checked(f"{MUST_SHOW},skew=1.1"))["workload"]
    for part in (
        "100,000 records",
        "20 to 20,000 bytes",
        "5,000 a second",
        "3 producers, 2 topics",
        "skew 1.1",
    ):
        assert part in told
    assert "a second" not in kind.shown(plan_without())["workload"]


def plan_without():
    """The trial of a scenario with its own load."""
    [chosen] = selection.scenarios(["network/reset"], ["idempotent"])
    return make_plan([chosen], selection.clients(["reference"], ()), ["local:4.3.1x1"], [7]).trials[0]
