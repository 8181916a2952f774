"""The addresses that one broker's name stands for, tried in turn (KIP-302, KIP-602, NET-CON-09).

The name is resolved again when every address was tried, and after an established connection was lost, for by then
it may stand for others. The address that was tried last is then not the first again, if there is another one: it may
be the reason for the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clients.reference.ports import Address, Node

Resolve = Callable[[str, int], tuple[Address, ...]]


class NodeAddresses:
    """The walk through the addresses of ``host``; resolves only when asked for an address."""

    def __init__(self, host: str, port: int, resolve: Resolve) -> None:
        self._host = host
        self._port = port
        self._resolve = resolve
        self._left: list[Address] = []
        self._last_tried: Address | None = None

    def next(self) -> Address | None:
        """The next address to try; None where the name is unknown now."""
        if not self._left:
            self._left = list(self._resolve(self._host, self._port))
            if len(self._left) > 1 and self._left[0] == self._last_tried:
                del self._left[0]
        if not self._left:
            return None
        self._last_tried = self._left.pop(0)
        return self._last_tried

    def forget(self) -> None:
        """Resolve again before the next attempt."""
        self._left = []


def every_address(nodes: Sequence[Node], resolve: Resolve) -> list[Node]:
    """Each address of each bootstrap server as a server of its own; a name that is unknown stays a name (KIP-235)."""
    addresses = [
        address for node in nodes for address in resolve(node.host, node.port) or ((node.host, node.port),)
    ]
    return [Node(-1 - number, host, port) for number, (host, port) in enumerate(dict.fromkeys(addresses))]
