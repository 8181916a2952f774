"""The client resolves a broker's name once and tries only the first address forever."""

from __future__ import annotations

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.network.node_addresses import NodeAddresses
from clients.reference.ports import Address, Node
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class FirstAddress(NodeAddresses):
    """Always returns the first address."""

    def next(self) -> Address | None:
        if self._last_tried is None:
            super().next()
        return self._last_tried


class Faithful(ClusterConnectionStates):
    """Gives every node a ``FirstAddress``."""

    def connecting(self, node: Node, now_ms: int) -> Address | None:
        known = self._nodes.get(node.id)
        if known and not isinstance(known.addresses, FirstAddress):
            known.addresses.__class__ = FirstAddress
        return super().connecting(node, now_ms)


class FaithfulClient(NetworkClient):
    """Uses ``Faithful``."""

    connection_states = Faithful


MUTANT = Mutant(
    "resolves a name once and tries only its first address forever",
    Components(network_client=FaithfulClient),
    caught_by=("delivery/every_address_gets_its_turn",),
    breaks=("NET-CON-09",),
)
