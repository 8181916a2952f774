"""Every (state, event) pair of every table: legal transitions are listed again here, and all others raise."""

from __future__ import annotations

from enum import Enum

import pytest

from clients.reference import states
from clients.reference.states import IllegalTransition, Machine

MACHINES = [value for value in vars(states).values() if isinstance(value, Machine)]
FINAL = ("SUCCEEDED", "FAILED", "ABORTED")

# As in the catalogue (section 1.1 to 1.3), written down independently of states.py.
LEGAL = {
    "connection": """
        DISCONNECTED connect CONNECTING
        CONNECTING connected CHECKING_API_VERSIONS
        CONNECTING disconnect DISCONNECTED
        CHECKING_API_VERSIONS lower-api-versions CHECKING_API_VERSIONS
        CHECKING_API_VERSIONS api-versions READY
        CHECKING_API_VERSIONS disconnect DISCONNECTED
        READY disconnect DISCONNECTED
        DISCONNECTED authentication-failed AUTHENTICATION_FAILED
        AUTHENTICATION_FAILED connect CONNECTING
        DISCONNECTED forget DISCONNECTED
        AUTHENTICATION_FAILED forget DISCONNECTED
        CONNECTING forget DISCONNECTED
        CHECKING_API_VERSIONS forget DISCONNECTED
        READY forget DISCONNECTED
    """,
    "batch": """
        OPEN close CLOSED
        OPEN fail FAILED
        OPEN abort ABORTED
        CLOSED drain IN_FLIGHT
        CLOSED fail FAILED
        CLOSED abort ABORTED
        IN_FLIGHT reenqueue CLOSED
        IN_FLIGHT succeed SUCCEEDED
        IN_FLIGHT fail FAILED
        IN_FLIGHT abort ABORTED
        IN_FLIGHT split SPLIT
        FAILED succeed FAILED
        FAILED fail FAILED
        ABORTED succeed ABORTED
        ABORTED fail ABORTED
    """,
    "producer-id": """
        UNINITIALIZED initialize INITIALIZING
        INITIALIZING initialized READY
        READY epoch-exhausted UNINITIALIZED
        UNINITIALIZED fatal FATAL_ERROR
        INITIALIZING fatal FATAL_ERROR
        READY fatal FATAL_ERROR
    """,
    "sequence": """
        CLEAN goes-again RETRYING
        RETRYING settled CLEAN
        CLEAN unknown-end UNRESOLVED
        RETRYING unknown-end UNRESOLVED
        UNRESOLVED continued CLEAN
        CLEAN broken BUMPED
        RETRYING broken BUMPED
        UNRESOLVED broken BUMPED
        STALE_EPOCH broken BUMPED
        BUMPED restarted CLEAN
        STALE_EPOCH restarted CLEAN
        CLEAN epoch-raised STALE_EPOCH
        RETRYING epoch-raised STALE_EPOCH
        UNRESOLVED epoch-raised STALE_EPOCH
    """,
    "life": """
        OPEN close CLOSING
        CLOSING close CLOSING
        CLOSED close CLOSED
        CLOSING drained CLOSED
        CLOSING force CLOSED
    """,
}


def test_every_machine_is_written_down():
    assert {machine.name for machine in MACHINES} == set(LEGAL)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_pair(machine):
    legal = {}
    for line in LEGAL[machine.name].split("\n"):
        if line.strip():
            before, event, after = line.split()
            legal[before, event] = after
    state_type = type(machine.initial)
    event_type = type(next(iter(machine.transitions))[1])
    for state in state_type:
        for event in event_type:
            expected = legal.pop((state.value, event.value), None)
            assert machine.allows(state, event) is (expected is not None)
            if expected is None:
                with pytest.raises(IllegalTransition, match=machine.name):
                    machine.after(state, event)
            else:
                assert machine.after(state, event).value == expected
    assert not legal


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_state_can_be_reached(machine):
    reached: set[Enum] = {machine.initial}
    while True:
        further = {after for (before, _), after in machine.transitions.items() if before in reached} - reached
        if not further:
            break
        reached |= further
    assert reached == set(type(machine.initial))


def test_final_batch_states_are_never_left():
    for (before, _), after in states.BATCH.transitions.items():
        if before.value in FINAL:
            assert before is after
    assert {state.value for state in states.BatchState if state.is_final} == set(FINAL)
