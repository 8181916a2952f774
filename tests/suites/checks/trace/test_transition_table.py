"""The check ``transition`` on every transition of every machine: legal ones pass, and others are found and judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clients.reference.telemetry.trace import StateChanged
from harness.judging.judge import judge
from harness.model.spec import ClientRef
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.trial import SimulatedTrial
from suites.checks.trace import transition
from suites.checks.trace.transition import Transitions
from suites.oracle import MACHINES
from suites.scenarios.generated import ANY_SCENARIO

PAIRS = [
    pytest.param(oracle, state, event, id=f"{name}-{state}-{event}")
    for name, oracle in sorted(MACHINES.items())
    for state in oracle.states
    for event in oracle.events
]


def way_to(oracle, state):
    """Return the shortest legal path from the initial state."""
    ways = {oracle.initial: []}
    while state not in ways:
        known = dict(ways)
        for move in oracle.moves:
            if move.before in known:
                ways.setdefault(move.after, [*known[move.before], move])
    return [(move.before, move.event, move.after) for move in ways[state]]


def told(oracle, moves):
    return [
        StateChanged(at_ms=0, machine=oracle.name, subject="1", before=before, cause=event, after=after)
        for before, event, after in moves
    ]


@pytest.mark.parametrize(("oracle", "state", "event"), PAIRS)
def test_every_pair_of_states(oracle, state, event):
    for after in oracle.states:
        events = told(oracle, [*way_to(oracle, state), (state, event, after)])
        breaches = Transitions().watch(events)
        if oracle.table.get((state, event)) == after:
            assert breaches == []
        else:
            [breach] = breaches
            assert breach.what == f"went from {state} to {after} by {event}, which is in no table"
            assert breach.requirement == oracle.violated_by(state, event)


@pytest.mark.parametrize("oracle", MACHINES.values(), ids=lambda oracle: oracle.name)
def test_transition_from_another_state_than_the_last_is_found(oracle):
    for move in oracle.moves:
        for state in oracle.states:
            if state == move.before or (oracle.name == "connection" and move.event == "connect"):
                continue
            events = told(oracle, [*way_to(oracle, state), (move.before, move.event, move.after)])
            [breach] = Transitions().watch(events)
            assert breach.what == f"left {move.before} by {move.event}, although it was {state}"


@pytest.fixture(scope="module")
def trial():
    reference = ClientRef("reference", registry.client("reference").default_version)
    specs = (spec_of(ANY_SCENARIO, reference, seed) for seed in range(20))
    return SimulatedTrial(
        next(spec for spec in specs if spec.guarantee is Guarantee.IDEMPOTENT), "test"
    ).run()


@pytest.mark.parametrize("oracle", MACHINES.values(), ids=lambda oracle: oracle.name)
def test_illegal_transition_of_every_machine_is_judged(trial, oracle):
    """The check must judge each requirement that it names, or the trial would be a harness error."""
    [verdict] = [judge(trial, ANY_SCENARIO, registry.checks())]
    assert verdict.verdict is Verdict.PASS
    wrong = told(oracle, [(oracle.initial, "wish", oracle.states[-1])])
    verdict = judge(replace(trial, trace=(*trial.trace, *wrong)), ANY_SCENARIO, registry.checks())
    assert verdict.verdict in (Verdict.FAIL, Verdict.DIFFERS)
    [row] = [each for each in verdict.requirements if each.verdict in (Verdict.FAIL, Verdict.DIFFERS)]
    assert row.id == oracle.requirement
    assert [finding.anomaly for finding in row.findings] == [transition.ANOMALY.code]
