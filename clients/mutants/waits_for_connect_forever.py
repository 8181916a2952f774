"""A connection may take for ever to be made: nothing limits the set-up."""

from __future__ import annotations

from collections.abc import Iterator

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components


class Patient(ClusterConnectionStates):
    """Knows no set-up that takes too long."""

    def setup_expiries(self) -> Iterator[tuple[int, int]]:
        return iter(())


class PatientClient(NetworkClient):
    """Has such connections."""

    connection_states = Patient


COMPONENTS = Components(network_client=PatientClient)
