"""The outcomes of two sides: runs, clients and versions, configurations; and what is not compared."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.judging.compare import Across, compare, side
from harness.judging.outcome_changes import outcome_changes
from harness.model.rows import Availability
from harness.model.spec import AtTime, FaultSpec, Workload
from harness.outcomes.cells import Cell

ROW = Cell("", "local:4.3.1x1", "produce/calm", "", "idempotent")


@pytest.fixture(scope="session")
def trial(verdict):
    """Return a trial in which ``given_up`` of 1,000 records were given up."""

    def made(given_up, **of):
        told = Availability(offered=1_000, acked=1_000 - given_up, failed=given_up)
        return replace(verdict(**of), availability=told)

    return made


@pytest.fixture(scope="session")
def run(spec):
    """A side with these verdicts; other values are those of all its trials."""

    def made(*verdicts, **values):
        return side([spec(each, **values) for each in verdicts], verdicts)

    return made


def given_up(found):
    """Return the rows of one outcome."""
    return [each for each in found if each.metric == "given_up"]


def test_versions_of_two_runs_are_paired_by_scenario_and_seed(trial, run):
    def tried(client, number):
        places = product(("produce/calm", "network/reset"), range(3))
        return run(*(trial(number, client=client, scenario=name, seed=seed) for name, seed in places))

    found = outcome_changes(tried("c@1", 0), tried("c@2", 200))
    assert found.pairs == 6
    [row] = given_up(found.by_client)
    assert row.cell == Cell("c@1 -> c@2", guarantee="idempotent")
    assert (row.pairs, row.worse, row.old, row.new, row.clear) == (6, 6, 0, pytest.approx(0.2), True)
    cells = given_up(found.by_cell)
    assert [each.cell.scenario for each in cells] == ["network/reset", "produce/calm"]
    assert [(each.pairs, each.clear) for each in cells] == [(3, False), (3, False)]


def test_of_several_versions_each_is_paired_with_itself(trial, run):
    old = run(trial(0, client="c@1"), trial(100, client="c@2"))
    new = run(trial(0, client="c@1"), trial(300, client="c@2"))
    found = outcome_changes(old, new)
    assert [(each.cell.client, each.worse) for each in given_up(found.by_client)] == [("c@1", 0), ("c@2", 1)]


@pytest.mark.parametrize("clients", [("c@1", "c@2"), ("c@1", "d@7")])
def test_two_clients_of_one_run(trial, run, clients):
    whole = run(
        *(trial(at * 100, client=client, seed=seed) for at, client in enumerate(clients) for seed in (1, 2)),
        trial(900, client="e@1"),
    )
    old, new = (
        whole._replace(verdicts=[each for each in whole.verdicts if each.client == client])
        for client in clients
    )
    found = outcome_changes(old, new, Across.CLIENTS)
    [row] = given_up(found.by_cell)
    assert row.cell == ROW._replace(client=" -> ".join(clients))
    assert (row.pairs, row.worse) == (2, 2)
    assert [each.change for each in compare(old, new, Across.CLIENTS)] == ["same", "same"]


def test_two_configurations_of_one_run_differ_in_their_settings(trial, run, spec):
    trials = [trial(at * 100, variant=variant) for at, variant in enumerate(("", "slow"))]
    plan = [spec(each, config={"linger.ms": str(at)}) for at, each in enumerate(trials)]
    old, new = (side(plan, [each]) for each in trials)
    assert outcome_changes(old, new).pairs == 0
    found = outcome_changes(old, new, Across.VARIANTS)
    [row] = given_up(found.by_cell)
    assert row.cell == ROW._replace(client="c@1", variant="default -> slow")
    assert [each.change for each in compare(old, new, Across.VARIANTS)] == ["same"]


@pytest.mark.parametrize("across", [*Across])
@pytest.mark.parametrize(
    "values",
    [
        {"faults": (FaultSpec("latency", AtTime(5), 100),)},
        {"workload": Workload(records=3)},
        {"config": {"acks": "1"}},
    ],
)
def test_trials_with_other_faults_load_or_settings_are_left_out(trial, run, across, values):
    found = outcome_changes(run(trial(0), trial(0, seed=2)), run(trial(500), **values), across)
    assert found.pairs == (1 if across is Across.VARIANTS and "config" in values else 0)


@pytest.mark.parametrize(
    "part", [{"broker": "b"}, {"seed": 2}, {"scenario": "s/t"}, {"guarantee": "at-least-once"}]
)
def test_only_the_same_trial_is_paired(trial, run, part):
    for across in Across:
        assert outcome_changes(run(trial(0)), run(trial(500, **part)), across).pairs == 0


def test_attempts_are_one_pair_and_disturbed_ones_do_not_count(trial, run):
    new = run(
        *(trial(number, attempt=number) for number in (1, 2, 9)),
        trial(999, attempt=4, verdict="inconclusive"),
    )
    found = outcome_changes(run(trial(0)), new)
    [row] = given_up(found.by_cell)
    assert (found.pairs, row.new) == (1, 0.002)


TRIALS = st.lists(
    st.tuples(
        st.sampled_from(["c@1", "c@2", "d@1"]),
        st.sampled_from(["produce/calm", "frame/torn"]),
        st.integers(1, 2),
        st.integers(1, 2),
        st.integers(0, 1_000),
    ),
    max_size=10,
    unique_by=lambda each: each[:4],
)


@given(TRIALS, TRIALS, st.randoms(use_true_random=False))
def test_the_order_of_trials_never_matters_and_swapping_swaps(trial, run, before, after, random):
    def made(drawn):
        parts = ("client", "scenario", "seed", "attempt")
        return run(*(trial(each[-1], **dict(zip(parts, each[:-1], strict=True))) for each in drawn))

    found, back = outcome_changes(made(before), made(after)), outcome_changes(made(after), made(before))
    assert found.pairs == back.pairs
    assert sum(each.worse for each in found.by_cell) == sum(each.better for each in back.by_cell)
    assert sum(each.pairs for each in given_up(found.by_client)) == found.pairs
    random.shuffle(before)
    random.shuffle(after)
    assert outcome_changes(made(before), made(after)) == found
