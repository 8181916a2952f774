"""The tables of the reference client against the oracle (``suites/oracle``), which is written from Kafka's sources."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clients.reference import states
from clients.reference.states import IllegalTransition
from suites.oracle import MACHINES as ORACLES
from suites.oracle.machine import differences
from suites.properties.stand_ins import MACHINES, table_of

TABLES = {name: table_of(machine) for name, machine in MACHINES.items()}
by_machine = pytest.mark.parametrize("name", sorted(ORACLES))


def legal():
    return [
        pytest.param(name, move, id=f"{name}-{move.before}-{move.event}")
        for name in sorted(ORACLES)
        for move in ORACLES[name].moves
    ]


def illegal():
    return [
        pytest.param(name, state, event, id=f"{name}-{state}-{event}")
        for name, oracle in sorted(ORACLES.items())
        for state in oracle.states
        for event in oracle.events
        if (state, event) not in oracle.table
    ]


def test_every_machine_has_an_oracle():
    assert MACHINES.keys() == ORACLES.keys()


@by_machine
def test_client_has_the_transitions_of_the_oracle(name):
    found = differences(ORACLES[name], TABLES[name])
    assert not found, "\n".join([f"{name}: {len(found)} differences", *found])


@by_machine
def test_illegal_transition_raises(name):
    machine = MACHINES[name]
    for state in type(machine.initial):
        for event in type(next(iter(machine.transitions))[1]):
            if (state.told, event.told) not in ORACLES[name].table:
                with pytest.raises(IllegalTransition, match=name):
                    machine.after(state, event)


@by_machine
def test_every_state_is_reachable(name):
    oracle = ORACLES[name]
    reached = {oracle.initial}
    while further := {move.after for move in oracle.moves if move.before in reached} - reached:
        reached |= further
    assert reached == set(oracle.states)


def test_final_batch_states_are_never_left():
    final = ORACLES["batch"].final
    assert all(move.after == move.before for move in ORACLES["batch"].moves if move.before in final)
    assert {state.told for state in states.BatchState if state.is_final} == final


# Each single change of a client's table must be a difference from the oracle.


@pytest.mark.parametrize(("name", "move"), legal())
def test_missing_transition_is_found(name, move):
    moves = dict(TABLES[name].moves)
    del moves[move.before, move.event]
    [found] = differences(ORACLES[name], replace(TABLES[name], moves=moves))
    assert found.startswith(
        f"missing: the oracle says {move.before} --{move.event}--> {move.after} ({move.source})"
    )


@pytest.mark.parametrize(("name", "move"), legal())
def test_transition_to_another_state_is_found(name, move):
    for other in set(ORACLES[name].states) - {move.after}:
        moves = {**TABLES[name].moves, (move.before, move.event): other}
        [found] = differences(ORACLES[name], replace(TABLES[name], moves=moves))
        assert found.startswith("different: the oracle says ") and found.endswith(
            f"the client goes to {other}"
        )


@pytest.mark.parametrize(("name", "state", "event"), illegal())
def test_additional_transition_is_found(name, state, event):
    for after in ORACLES[name].states:
        moves = {**TABLES[name].moves, (state, event): after}
        [found] = differences(ORACLES[name], replace(TABLES[name], moves=moves))
        assert found == f"extra: the client has {state} --{event}--> {after}, the oracle does not"


@by_machine
def test_different_states_events_and_initial_states_are_found(name):
    oracle, table = ORACLES[name], TABLES[name]
    for state in oracle.states[1:]:
        assert differences(oracle, replace(table, initial=state))
        assert differences(oracle, replace(table, states=table.states - {state}))
    assert differences(oracle, replace(table, states=table.states | {"LIMBO"}))
    assert differences(oracle, replace(table, events=table.events | {"wish"}))


# The oracle itself.


@by_machine
def test_every_transition_has_a_source(name):
    for move in ORACLES[name].moves:
        assert "#" in move.source or "KIP-" in move.source, f"{move} names no method and no KIP"


#: TransactionManager.State#isTransitionValid in Kafka 4.1.1, among the states that need no transaction.
VALID_IN_JAVA = {
    "UNINITIALIZED": {"READY", "ABORTABLE_ERROR"},
    "INITIALIZING": {"UNINITIALIZED"},
    "READY": {"INITIALIZING"},
    "ABORTABLE_ERROR": {"ABORTABLE_ERROR", "INITIALIZING"},
    "FATAL_ERROR": {"UNINITIALIZED", "INITIALIZING", "READY", "ABORTABLE_ERROR", "FATAL_ERROR"},
}


def test_producer_id_transitions_are_those_of_java():
    oracle = ORACLES["producer-id"]
    said = {
        (row.before, row.after) for row in (*oracle.moves, *oracle.left_out) if row.before in VALID_IN_JAVA
    }
    valid = {(before, after) for after, sources in VALID_IN_JAVA.items() for before in sources}
    assert {pair for pair in said if pair[1] in VALID_IN_JAVA} == valid


#: The same method, for a producer with transactions that does not prepare them (KIP-939).
VALID_WITH_TRANSACTIONS = {
    "UNINITIALIZED": {"READY", "ABORTABLE_ERROR"},
    "INITIALIZING": {"UNINITIALIZED", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"},
    "READY": {"INITIALIZING", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"},
    "IN_TRANSACTION": {"READY"},
    "COMMITTING_TRANSACTION": {"IN_TRANSACTION"},
    "ABORTING_TRANSACTION": {"IN_TRANSACTION", "ABORTABLE_ERROR"},
    "ABORTABLE_ERROR": {"IN_TRANSACTION", "COMMITTING_TRANSACTION", "ABORTABLE_ERROR", "INITIALIZING"},
    "FATAL_ERROR": {state.told for state in states.TransactionState},
}


def test_transactions_have_the_transitions_of_java():
    oracle = ORACLES["transaction"]
    rows = (*oracle.moves, *oracle.left_out)
    said = {
        (before, row.after)
        for row in rows
        for before in row.before.split(", ")
        if before in VALID_WITH_TRANSACTIONS and row.after in VALID_WITH_TRANSACTIONS
    }
    ignored = {("ABORTING_TRANSACTION", "ABORTING_TRANSACTION")}  # Java leaves the state without a transition
    valid = {(before, after) for after, sources in VALID_WITH_TRANSACTIONS.items() for before in sources}
    assert said - ignored == valid


@by_machine
def test_omitted_states_are_absent_and_have_a_reason(name):
    oracle = ORACLES[name]
    for left_out in oracle.left_out:
        assert left_out.source and left_out.reason
        for state in left_out.before.split(", "):
            assert oracle.table.get((state, left_out.event)) != left_out.after
