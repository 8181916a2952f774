"""Laws of plans: pure, complete, and fair to every client."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from harness.dice import Dice
from harness.outcome import Guarantee
from harness.plan import CODECS, make_plan
from harness.scenario import Consequence, Scenario
from harness.spec import ClientRef, Elapsed, FaultSpec, Plan

names = st.text("abcdefgh/-", min_size=1, max_size=12)
seeds = st.integers(0, 2**40)


def scenario(name: str) -> Scenario:
    return Scenario(
        name=name,
        summary="",
        schedule=lambda dice: tuple(
            FaultSpec("latency", Elapsed(dice.between(0, 5000)), dice.between(1, 900)) for _ in range(3)
        ),
        consequence=lambda evidence: Consequence(0, ""),
    )


clients = st.lists(st.builds(ClientRef, name=names, version=names), min_size=1, max_size=3, unique=True)
scenarios = st.lists(names, min_size=1, max_size=4, unique=True).map(lambda all_: [scenario(n) for n in all_])


@given(scenarios, clients, st.lists(seeds, min_size=1, max_size=3, unique=True))
def test_a_plan_is_a_function_of_its_arguments(scenarios, clients, seeds):
    plan = make_plan(scenarios, clients, ["local:1"], seeds)
    again = make_plan([scenario(s.name) for s in scenarios], list(clients), ["local:1"], list(seeds))
    assert plan == again


@given(scenarios, clients, st.lists(seeds, min_size=1, max_size=3, unique=True))
def test_every_combination_is_tried_once_under_a_name_of_its_own(scenarios, clients, seeds):
    plan = make_plan(scenarios, clients, ["local:1"], seeds)
    combinations = {(t.scenario, t.guarantee, t.client, t.seed) for t in plan.trials}
    assert len(combinations) == len(plan.trials) == len(scenarios) * 2 * len(clients) * len(seeds)
    assert all("/" not in t.trial for t in plan.trials)


@given(names, clients, seeds)
def test_all_clients_and_guarantees_meet_the_same_faults_and_codec(name, clients, seed):
    trials = make_plan([scenario(name)], clients, ["local:1"], [seed]).trials
    assert all(t.faults == trials[0].faults for t in trials)
    assert len({t.config["compression.type"] for t in trials}) == 1
    assert {t.config["enable.idempotence"] for t in trials} == {True, False}


@given(scenarios, clients, seeds)
def test_a_plan_survives_being_stored(scenarios, clients, seed):
    plan = make_plan(scenarios, clients, ["local:1"], [seed])
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


@given(names, names, seeds)
def test_one_more_scenario_does_not_shift_the_others(one, other, seed):
    client = [ClientRef("c", "1")]
    alone = make_plan([scenario(one)], client, ["b:1"], [seed]).trials
    together = make_plan([scenario(other), scenario(one)], client, ["b:1"], [seed]).trials
    assert all(any(a == t for t in together) for a in alone)


def test_the_settings_promise_what_the_guarantee_says():
    three = Scenario(**(vars(scenario("s")) | {"guarantees": tuple(Guarantee)[:3]}))
    trials = {t.guarantee: t.config for t in make_plan([three], [ClientRef("c", "1")], ["b:1"], [1]).trials}
    assert trials[Guarantee.IDEMPOTENT]["enable.idempotence"] is True
    assert trials[Guarantee.AT_LEAST_ONCE]["enable.idempotence"] is False
    assert trials[Guarantee.AT_MOST_ONCE]["retries"] == 0


@given(seeds, names, st.integers(-1000, 1000), st.integers(0, 1000))
def test_dice_stay_in_their_bounds_and_repeat(seed, name, low, width):
    rolls = [Dice(seed, name).between(low, low + width) for _ in range(2)]
    assert rolls[0] == rolls[1]
    assert low <= rolls[0] <= low + width


def test_dice_reach_every_face_about_equally():
    dice = Dice(1, "faces")
    counts = [0] * 6
    for _ in range(6000):
        counts[dice.between(0, 5)] += 1
    assert all(800 < count < 1200 for count in counts)


def test_all_codecs_come_up_over_the_seeds():
    plan = make_plan([scenario("s")], [ClientRef("c", "1")], ["b:1"], range(60))
    assert {t.config["compression.type"] for t in plan.trials} == set(CODECS)
