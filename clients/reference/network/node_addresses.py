"""The addresses that one broker's name resolves to, tried in turn (KIP-302, KIP-602, NET-CON-09).

The name is resolved again after every address was tried, and after an established connection was lost, because it may
resolve to other addresses by then. The address that was tried last is not tried first again if there is another one,
because it may be the cause of the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clients.reference.ports import INT32_MAX, Address, Node

Resolve = Callable[[str, int], tuple[Address, ...] | None]
"""Returns the addresses of a name, or None while it is being looked up (Selector.resolve)."""


class NodeAddresses:
    """Iterates over the addresses of ``host``. Resolves the name only when an address is requested."""

    def __init__(self, host: str, port: int, resolve: Resolve) -> None:
        self._host = host
        self._port = port
        self._resolve = resolve
        self._left: list[Address] = []
        self._last_tried: Address | None = None

    def look_up(self) -> bool:
        """Resolve the name if no address is left. Return False while that takes time: call again after a poll."""
        if not self._left:
            found = self._resolve(self._host, self._port)
            if found is None:
                return False
            self._left = list(found)
            if len(self._left) > 1 and self._left[0] == self._last_tried:
                del self._left[0]
        return True

    def next(self) -> Address | None:
        """Return the next address to try after ``look_up``, or None if the name is unknown."""
        if not self._left:
            return None
        self._last_tried = self._left.pop(0)
        return self._last_tried

    def forget(self) -> None:
        """Resolve the name again before the next attempt."""
        self._left = []


def every_address(nodes: Sequence[Node], resolve: Resolve) -> list[Node]:
    """Return each address of each bootstrap server as a separate server. A name without addresses is kept (KIP-235)."""
    addresses = [
        address for node in nodes for address in resolve(node.host, node.port) or ((node.host, node.port),)
    ]
    return [Node(-1 - number, host, port) for number, (host, port) in enumerate(dict.fromkeys(addresses))]


def coordinator_node(node: Node) -> Node:
    """Return ``node`` under a separate id, for a connection that carries no data requests (NET-CON-16)."""
    return Node(INT32_MAX - node.id, node.host, node.port, node.rack)
