"""The addresses of a local cluster: its id, its nodes, and the port of every listener, as plain data.

``VERSIONxNODES`` names a cluster ("4.3.1x3"). A version alone means one node. One contiguous block of ports is assigned
node by node: controller, INTERNAL, and for each lane the three ports of its chain, from the client inwards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from harness.model.addresses import Address, LaneAddress
from harness.model.errors import unknown

HOST = "127.0.0.1"
NODE_COUNTS = (1, 3)
_PORTS_PER_LANE = 3
_PORTS_PER_NODE = 2


def listener_name(lane: int) -> str:
    """Return the name of a lane's listener, the same on every broker."""
    return f"LANE{lane}"


@dataclass(frozen=True)
class ClusterId:
    """The cluster that ``local:VERSIONxNODES`` requests."""

    version: str
    nodes: int

    def __str__(self) -> str:
        return f"{self.version}x{self.nodes}"

    @classmethod
    def parse(cls, text: str, versions: Collection[str]) -> ClusterId:
        """Return the cluster that ``text`` names, of one of ``versions``. Raises UsageError with a suggestion."""
        known = {f"{version}x{nodes}": cls(version, nodes) for version in versions for nodes in NODE_COUNTS}
        known |= {version: cls(version, 1) for version in versions}
        if text not in known:
            raise unknown("local cluster", text, known)
        return known[text]


@dataclass(frozen=True)
class NodeLayout:
    """The listeners of one node. ``lanes[i]`` is its part of lane ``i``."""

    node_id: int
    controller: Address
    internal: Address
    lanes: tuple[LaneAddress, ...]


@dataclass(frozen=True)
class Layout:
    """The listeners of a cluster."""

    nodes: tuple[NodeLayout, ...]

    @staticmethod
    def ports_needed(nodes: int, lanes: int) -> int:
        """Return the number of ports that a cluster of this size needs."""
        return nodes * (_PORTS_PER_NODE + _PORTS_PER_LANE * lanes)

    @classmethod
    def deal(cls, ports: Sequence[int], nodes: int, lanes: int) -> Layout:
        """Assign ``ports`` (exactly :meth:`ports_needed`) to nodes 1 to ``nodes``."""
        if len(ports) != cls.ports_needed(nodes, lanes):
            raise ValueError(f"{nodes} nodes with {lanes} lanes do not listen on {len(ports)} ports")
        hand = ((HOST, port) for port in ports)
        return cls(
            tuple(
                NodeLayout(
                    node_id=node_id,
                    controller=next(hand),
                    internal=next(hand),
                    lanes=tuple(
                        LaneAddress(lane, node_id, next(hand), next(hand), next(hand))
                        for lane in range(lanes)
                    ),
                )
                for node_id in range(1, nodes + 1)
            )
        )

    @property
    def addresses(self) -> tuple[LaneAddress, ...]:
        """The chains of all lanes on all nodes."""
        return tuple(address for node in self.nodes for address in node.lanes)

    def told(self, listener: Address) -> Mapping[int, Address]:
        """Return node id -> the address that a Metadata response on ``listener`` must contain."""
        for node in self.nodes:
            if listener == node.internal:
                return {other.node_id: other.internal for other in self.nodes}
            for lane, address in enumerate(node.lanes):
                if listener == address.listener:
                    return {other.node_id: other.lanes[lane].advertised for other in self.nodes}
        raise KeyError(listener)
