"""The consumer's state tables against the oracle (``suites/oracle``), which is written from Kafka's sources."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clients.reference.consumer.coordinator.member_states import MEMBER
from clients.reference.consumer.membership.membership_states import MEMBERSHIP
from clients.reference.consumer.subscription.fetch_states import FETCH
from clients.reference.states import IllegalTransition
from suites.oracle import CONSUMER_MACHINES as ORACLES
from suites.oracle.machine import differences
from suites.properties.stand_ins import table_of

MACHINES = {machine.name: machine for machine in (MEMBER, MEMBERSHIP, FETCH)}
TABLES = {name: table_of(machine) for name, machine in MACHINES.items()}
PAIRS = [
    pytest.param(name, state, event, id=f"{name}-{state}-{event}")
    for name, oracle in sorted(ORACLES.items())
    for state in oracle.states
    for event in oracle.events
]
by_machine = pytest.mark.parametrize("name", sorted(ORACLES))


def test_every_machine_has_an_oracle():
    assert MACHINES.keys() == ORACLES.keys()


@by_machine
def test_the_consumer_has_the_transitions_of_the_oracle(name):
    assert differences(ORACLES[name], TABLES[name]) == []


@pytest.mark.parametrize(("name", "state", "event"), PAIRS)
def test_what_the_oracle_lacks_is_illegal(name, state, event):
    machine, oracle = MACHINES[name], ORACLES[name]
    states = {each.told: each for each in type(machine.initial)}
    events = {each.told: each for each in type(next(iter(machine.transitions))[1])}
    if (state, event) in oracle.table:
        assert machine.after(states[state], events[event]).told == oracle.table[state, event]
    else:
        with pytest.raises(IllegalTransition, match=name):
            machine.after(states[state], events[event])


@pytest.mark.parametrize(("name", "state", "event"), PAIRS)
def test_every_change_of_a_table_is_found(name, state, event):
    oracle, table = ORACLES[name], TABLES[name]
    said = oracle.table.get((state, event))
    for after in {*oracle.states, None} - {said}:
        moves = {**table.moves, (state, event): after}
        if after is None:
            del moves[state, event]
        assert len(differences(oracle, replace(table, moves=moves))) == 1


@by_machine
def test_every_transition_has_a_source_and_every_state_is_reached(name):
    oracle = ORACLES[name]
    assert all("#" in move.source for move in oracle.moves)
    reached = {oracle.initial}
    while further := {move.after for move in oracle.moves if move.before in reached} - reached:
        reached |= further
    assert reached == set(oracle.states)


def test_moves_between_positions_are_those_of_java():
    """FetchStates#validTransitions in Kafka 4.1.1. Every state may also become AWAIT_RESET."""
    valid = {
        "INITIALIZING": {"FETCHING", "AWAIT_RESET", "AWAIT_VALIDATION"},
        "FETCHING": {"FETCHING", "AWAIT_RESET", "AWAIT_VALIDATION"},
        "AWAIT_RESET": {"FETCHING", "AWAIT_RESET"},
        "AWAIT_VALIDATION": {"FETCHING", "AWAIT_RESET", "AWAIT_VALIDATION"},
    }
    said = {(move.before, move.after) for move in ORACLES["fetch"].moves}
    assert said == {(before, after) for before, states in valid.items() for after in states}


def test_states_of_kip_848_follow_each_other_as_in_java():
    """MemberState#previousValidStates. The oracle says of each pair that it lacks why it does."""
    in_group = {"JOINING", "STABLE", "RECONCILING", "ACKNOWLEDGING"}
    previous = {
        "STABLE": {"JOINING", "ACKNOWLEDGING", "RECONCILING"},
        "RECONCILING": in_group,
        "ACKNOWLEDGING": {"RECONCILING"},
        "FATAL": in_group | {"PREPARE_LEAVING", "LEAVING", "UNSUBSCRIBED"},
        "FENCED": in_group | {"PREPARE_LEAVING", "LEAVING"},
        "JOINING": {"FENCED", "UNSUBSCRIBED", "STALE"},
        "PREPARE_LEAVING": in_group | {"UNSUBSCRIBED"},
        "LEAVING": {"PREPARE_LEAVING"},
        "UNSUBSCRIBED": {"PREPARE_LEAVING", "LEAVING", "FENCED"},
        "STALE": {"LEAVING"},
    }
    oracle = ORACLES["membership"]
    said = {(move.before, move.after) for move in oracle.moves}
    assert said <= {(before, after) for after, states in previous.items() for before in states}
    missing = {(before, after) for after, states in previous.items() for before in states} - said
    assert missing == {(each.before, each.after) for each in oracle.left_out} | {
        ("PREPARE_LEAVING", "FENCED")  # Java enters FENCED and leaves it at once
    }
