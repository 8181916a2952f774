"""The client closes idle connections before the broker does (NET-CON-14).

Java's Selector does this with its own clock. Here it belongs to the core, because only the core knows the time and the
outstanding requests. A connection with a request in flight is not idle, however long the response takes.
"""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.ports import Polled


class IdleConnections:
    """When each connection was last used. A negative ``max_idle_ms`` disables the limit."""

    def __init__(self, max_idle_ms: int) -> None:
        self._max_idle_ms = max_idle_ms
        self._last_used_ms: dict[int, int] = {}  # least recently used first

    def used(self, node_id: int, now_ms: int) -> None:
        """Record that the connection was used: it is now the most recently used one."""
        self._last_used_ms.pop(node_id, None)
        self._last_used_ms[node_id] = now_ms

    def used_by(self, polled: Polled, now_ms: int) -> None:
        """Record the use of every connection with an event."""
        for node_id in polled.connected:
            self.used(node_id, now_ms)
        for node_id in polled.completed_sends:
            self.used(node_id, now_ms)
        for node_id, _ in polled.received:
            self.used(node_id, now_ms)

    def forget(self, node_id: int) -> None:
        """Forget a connection that was closed. Does nothing if there was none."""
        self._last_used_ms.pop(node_id, None)

    def expired(self, now_ms: int, is_busy: Callable[[int], bool]) -> int | None:
        """Return the connection to close now, the least recently used one: one per round, as in Java."""
        node_id = self._oldest(is_busy)
        return node_id if node_id is not None and now_ms >= self._expires_ms(node_id) else None

    def next_expiry_ms(self, is_busy: Callable[[int], bool]) -> int | None:
        """Return when ``expired`` will next have one. None if all are busy or the limit is disabled."""
        node_id = self._oldest(is_busy)
        return None if node_id is None else self._expires_ms(node_id)

    def _oldest(self, is_busy: Callable[[int], bool]) -> int | None:
        if self._max_idle_ms < 0:
            return None
        for node_id in self._last_used_ms:
            if not is_busy(node_id):
                return node_id
        return None

    def _expires_ms(self, node_id: int) -> int:
        return self._last_used_ms[node_id] + self._max_idle_ms + 1
