"""A connection attempt has no time limit."""

from __future__ import annotations

from collections.abc import Iterator

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Patient(ClusterConnectionStates):
    """Reports no connection attempt as expired."""

    def setup_expiries(self) -> Iterator[tuple[int, int]]:
        return iter(())


class PatientClient(NetworkClient):
    """Uses ``Patient``."""

    connection_states = Patient


MUTANT = Mutant(
    "sets no time limit for a connection attempt",
    Components(network_client=PatientClient),
    caught_by=(
        "state_transitions/ConnectionsWalkTheirStates",
        "timeout_expiry/a_set_up_without_an_end_is_given_up",
    ),
    breaks=("NET-CON-08",),
)
