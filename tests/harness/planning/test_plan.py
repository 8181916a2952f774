"""Properties of plans: deterministic, complete, and the same for every client."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.dice import Dice
from harness.model.spec import AtTime, ClientRef, FaultSpec, Plan
from harness.model.verdicts import Guarantee
from harness.planning.pairwise import met, pairwise
from harness.planning.plan import Axes, make_plan, plan_of
from harness.plugins.scenario import Consequence, Scenario
from harness.workloads.produce.profile import CODECS, PROFILE

names = st.text("abcdefgh/-", min_size=1, max_size=12)
seeds = st.integers(0, 2**40)


def scenario(name: str) -> Scenario:
    return Scenario(
        name=name,
        summary="",
        schedule=lambda dice: tuple(
            FaultSpec("latency", AtTime(dice.between(0, 5000)), dice.between(1, 900)) for _ in range(3)
        ),
        consequence=lambda evidence: Consequence(0, ""),
    )


clients = st.lists(st.builds(ClientRef, name=names, version=names), min_size=1, max_size=3, unique=True)
#: The name of a trial is that of a folder, in which a dash replaces a slash.
scenarios = st.lists(names, min_size=1, max_size=4, unique_by=lambda name: name.replace("/", "-")).map(
    lambda all_: [scenario(n) for n in all_]
)


@given(scenarios, clients, st.lists(seeds, min_size=1, max_size=3, unique=True))
def test_a_plan_is_a_function_of_its_arguments(scenarios, clients, seeds):
    plan = make_plan(scenarios, clients, ["local:1"], seeds)
    again = make_plan([scenario(s.name) for s in scenarios], list(clients), ["local:1"], list(seeds))
    assert plan == again


@given(scenarios, clients, st.lists(seeds, min_size=1, max_size=3, unique=True))
def test_every_combination_is_one_trial_with_its_own_name(scenarios, clients, seeds):
    plan = make_plan(scenarios, clients, ["local:1"], seeds)
    combinations = {(t.scenario, t.guarantee, t.client, t.seed) for t in plan.trials}
    assert len(combinations) == len(plan.trials) == len(scenarios) * 2 * len(clients) * len(seeds)
    assert all("/" not in t.trial for t in plan.trials)


@given(names, clients, seeds)
def test_all_clients_and_guarantees_have_the_same_faults_and_codec(name, clients, seed):
    trials = make_plan([scenario(name)], clients, ["local:1"], [seed]).trials
    assert all(t.faults == trials[0].faults for t in trials)
    assert len({t.config["compression.type"] for t in trials}) == 1
    assert {t.config["enable.idempotence"] for t in trials} == {True, False}


@given(scenarios, clients, seeds)
def test_a_plan_can_be_stored_and_read(scenarios, clients, seed):
    plan = make_plan(scenarios, clients, ["local:1"], [seed])
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


@given(names, names, seeds)
def test_another_scenario_does_not_change_the_others(one, other, seed):
    client = [ClientRef("c", "1")]
    alone = make_plan([scenario(one)], client, ["b:1"], [seed]).trials
    together = make_plan([scenario(other), scenario(one)], client, ["b:1"], [seed]).trials
    assert all(any(a == t for t in together) for a in alone)


def test_the_settings_match_the_guarantee():
    three = Scenario(**(vars(scenario("s")) | {"guarantees": tuple(Guarantee)[:3]}))
    trials = {t.guarantee: t.config for t in make_plan([three], [ClientRef("c", "1")], ["b:1"], [1]).trials}
    assert trials[Guarantee.IDEMPOTENT]["enable.idempotence"] is True
    assert trials[Guarantee.AT_LEAST_ONCE]["enable.idempotence"] is False
    assert trials[Guarantee.AT_MOST_ONCE]["retries"] == 0


@given(seeds, names, st.integers(-1000, 1000), st.integers(0, 1000))
def test_dice_are_deterministic_and_within_bounds(seed, name, low, width):
    rolls = [Dice(seed, name).between(low, low + width) for _ in range(2)]
    assert rolls[0] == rolls[1]
    assert low <= rolls[0] <= low + width


def test_dice_are_about_uniform():
    dice = Dice(1, "faces")
    counts = [0] * 6
    for _ in range(6000):
        counts[dice.between(0, 5)] += 1
    assert all(800 < count < 1200 for count in counts)


def test_all_codecs_occur_across_seeds():
    plan = make_plan([scenario("s")], [ClientRef("c", "1")], ["b:1"], range(60))
    assert {t.config["compression.type"] for t in plan.trials} == set(CODECS)


TWO = [ClientRef("c", "1"), ClientRef("d", "1")]
THREE_PROMISES = tuple(Guarantee)[:3]


def promising(name: str, *guarantees: Guarantee, **config: str | int) -> Scenario:
    return Scenario(**(vars(scenario(name)) | {"guarantees": guarantees or THREE_PROMISES, "config": config}))


@given(
    st.dictionaries(st.sampled_from(["linger.ms", "batch.size", "retry.backoff.ms"]), st.integers(0, 999)),
    seeds,
)
def test_a_configuration_overrides_the_profile_and_nothing_else(chosen, seed):
    axes = Axes([scenario("s")], TWO, ["b:1"], configurations={"plain": {}, "mine": chosen})
    trials = plan_of(axes, axes.cells(), [seed]).trials
    plain = {(t.client, t.guarantee): t for t in trials if t.variant == "plain"}
    mine = {(t.client, t.guarantee): t for t in trials if t.variant == "mine"}
    assert len(plain) == len(mine) == 4
    for key, trial in mine.items():
        assert trial.config == dict(sorted((plain[key].config | chosen).items()))
        assert (trial.faults, trial.workload) == (plain[key].faults, plain[key].workload)


def test_tables_and_configurations_are_the_variant_and_part_of_the_name():
    axes = Axes(
        [scenario("p/calm")],
        TWO[:1],
        ["b:1"],
        {"storm": scenario("g/c")},
        {"small": {"batch.size": 1}, "plain": {}},
    )
    trials = plan_of(axes, axes.cells(), [7]).trials
    assert {(t.scenario, t.variant) for t in trials} == {
        (name, variant)
        for name, table in (("p/calm", ""), ("g/c", "storm+"))
        for variant in (f"{table}small", f"{table}plain")
    }
    assert all(t.variant in t.trial for t in trials)
    assert len({t.trial for t in trials}) == len(trials) == 8


def test_the_schedule_of_a_table_depends_on_its_name_only():
    both = Axes([], TWO, ["b:1"], {"one": scenario("g/c"), "two": scenario("g/c")})
    trials = plan_of(both, both.cells(), [1]).trials
    faults = {t.variant: t.faults for t in trials}
    assert faults["one"] != faults["two"]
    assert all(t.faults == faults[t.variant] for t in trials)
    alone = Axes([scenario("x")], TWO[:1], ["b:1"], {"two": scenario("g/c")}, {"": {"linger.ms": 1}})
    again = [t.faults for t in plan_of(alone, alone.cells(), [1]).trials if t.variant]
    assert again == [faults["two"], faults["two"]]


@pytest.mark.parametrize(
    ("chosen", "tried_under", "why"),
    [
        ({"linger.ms": 3}, {"at-most-once", "at-least-once", "idempotent"}, None),
        ({"enable.idempotence": True}, {"idempotent"}, "sets enable.idempotence to false"),
        ({"enable.idempotence": False}, {"at-most-once", "at-least-once"}, "sets enable.idempotence to true"),
        ({"retries": 5}, {"at-least-once", "idempotent"}, "at-most-once sets retries to 0"),
        ({"retries": 0}, {"at-most-once", "at-least-once"}, "idempotence needs retries"),
        ({"acks": "1"}, {"at-most-once", "at-least-once"}, "idempotence needs acks=all, not 1"),
        ({"acks": "-1"}, {"at-most-once", "at-least-once", "idempotent"}, None),
        (
            {"max.in.flight.requests.per.connection": 6},
            {"at-most-once", "at-least-once"},
            "idempotence allows 5 requests in flight",
        ),
        ({"delivery.timeout.ms": 3_004}, set(), "3004 is less than linger.ms and request.timeout.ms, 3005"),
        ({"delivery.timeout.ms": 3_005}, {"at-most-once", "at-least-once", "idempotent"}, None),
        ({"max.block.ms": 5}, set(), "the scenario sets max.block.ms to 7 itself"),
    ],
)
def test_conflicting_combinations_are_left_out_with_a_reason(chosen, tried_under, why):
    axes = Axes([promising("s", **{"max.block.ms": 7})], TWO, ["b:1"], configurations={"mine": chosen})
    assert {cell.guarantee for cell in axes.cells()} == tried_under
    left_out = axes.left_out()
    assert {each.guarantee for each in left_out} == set(THREE_PROMISES) - tried_under
    assert all(why in each.conflict for each in left_out)
    for trial in plan_of(axes, axes.cells(), [1]).trials:
        assert trial.config.items() >= chosen.items()


@given(scenarios, clients, st.integers(1, 3), st.lists(seeds, min_size=1, max_size=3, unique=True))
def test_pairwise_cells_are_part_of_the_product_and_cover_all_pairs(
    scenarios, clients, configurations, seeds
):
    chosen = {str(number): {"linger.ms": number} for number in range(configurations)}
    brokers = ["b:1", "b:2"]
    axes = Axes(
        [promising(scenarios[0].name, Guarantee.IDEMPOTENT), *scenarios[1:]], clients, brokers, {}, chosen
    )
    cells = pairwise(axes.cells())
    assert met(cells) == met(axes.cells())
    whole = {trial.trial: trial for trial in plan_of(axes, axes.cells(), seeds).trials}
    pairs = plan_of(axes, cells, seeds).trials
    assert len(pairs) == len(cells) * len(seeds) <= len(whole)
    assert all(whole[trial.trial] == trial for trial in pairs)


def test_settings_with_rules_are_in_the_profile():
    """A configuration overrides the profile, which must therefore contain the settings that rules compare."""
    assert {"acks", "delivery.timeout.ms", "linger.ms", "request.timeout.ms", "retries"} <= set(PROFILE)
