"""After a connection attempt that timed out, the next attempt gets no more time."""

from __future__ import annotations

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.ports import Address, Node
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Forgetful(ClusterConnectionStates):
    """Resets the count of connection attempts that timed out."""

    def connecting(self, node: Node, now_ms: int) -> Address | None:
        if node.id in self._nodes:
            self._nodes[node.id].setup_failures = 0
        return super().connecting(node, now_ms)


class Strict(NetworkClient):
    """Uses ``Forgetful``."""

    connection_states = Forgetful


MUTANT = Mutant(
    "gives every connection attempt the same time",
    Components(network_client=Strict),
    caught_by=("timeout_expiry/a_set_up_without_an_end_is_given_up",),
    breaks=("NET-CON-08",),
)
