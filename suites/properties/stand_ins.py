"""Stand-ins: variants, with one defect, of objects other than the client that properties judge.

Some properties judge the tables of the client's state machines or the scripted brokers, so that no variant of the
client can break them. Each stand-in shows that its property can fail, as a mutant does for the other properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clients.reference import states
from clients.reference.producer.producer import Components
from clients.reference.states import Machine
from harness.brokers.scripted.answer import Answer
from harness.brokers.scripted.cluster import ScriptedCluster
from harness.wire.apis import Api
from suites.oracle.machine import Table

INVALID_TRANSACTION_TIMEOUT = 50

MACHINES: Mapping[str, Machine[Any, Any]] = {
    machine.name: machine for machine in vars(states).values() if isinstance(machine, Machine)
}


def table_of(machine: Machine[Any, Any]) -> Table:
    """Return the table of a client's machine, by the names of its trace, for the comparison with the oracle."""
    return Table(
        initial=machine.initial.told,
        states=frozenset(state.told for state in type(machine.initial)),
        events=frozenset(event.told for event in type(next(iter(machine.transitions))[1])),
        moves={(state.told, event.told): after.told for (state, event), after in machine.transitions.items()},
    )


@dataclass(frozen=True)
class Beside(Components):
    """Components, and the tables and brokers that properties judge."""

    machines: Mapping[str, Machine[Any, Any]] = field(default_factory=lambda: MACHINES)
    brokers: type[ScriptedCluster] = ScriptedCluster


class WithoutMaximum(ScriptedCluster):
    """A cluster that accepts any transaction timeout."""

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> Answer:
        self.settings.transaction_max_timeout_ms = 2**31 - 1
        return super().handle(node_id, conn, payload, now_ns)


class RefusesAll(ScriptedCluster):
    """A cluster that refuses the transaction timeout of every producer."""

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> Answer:
        self.inject_error(Api.INIT_PRODUCER_ID, INVALID_TRANSACTION_TIMEOUT, 1)
        return super().handle(node_id, conn, payload, now_ns)


def _with_a_wrong_end() -> Mapping[str, Machine[Any, Any]]:
    """Return tables in which a late success turns a failed batch into a stored one."""
    wrong = {(states.BatchState.FAILED, states.BatchEvent.SUCCEED): states.BatchState.SUCCEEDED}
    batch = replace(states.BATCH, transitions={**states.BATCH.transitions, **wrong})
    return {**MACHINES, batch.name: batch}


#: Maps a property to the stand-in that breaks it.
STAND_INS: Mapping[str, Beside] = {
    "state_transitions/a_broker_refuses_transactions_longer_than_its_maximum": Beside(brokers=WithoutMaximum),
    "state_transitions/a_producer_without_transactions_has_no_timeout_to_refuse": Beside(brokers=RefusesAll),
    "state_transitions/every_pair_is_the_oracles": Beside(machines=_with_a_wrong_end()),
}
