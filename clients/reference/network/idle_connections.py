"""Connections that nothing happens on are closed by the client before the broker does it (NET-CON-14).

Java's Selector does this with its own clock; here it belongs to the core, which alone knows the time and what is
still awaited: a connection with a request in flight is not idle, however long the answer takes.
"""

from __future__ import annotations

from collections.abc import Callable


class IdleConnections:
    """Which connection was used longest ago; a negative ``max_idle_ms`` keeps all for ever."""

    def __init__(self, max_idle_ms: int) -> None:
        self._max_idle_ms = max_idle_ms
        self._last_used_ms: dict[int, int] = {}  # oldest first

    def used(self, node_id: int, now_ms: int) -> None:
        """Something happened on the connection: it is the youngest now."""
        self._last_used_ms.pop(node_id, None)
        self._last_used_ms[node_id] = now_ms

    def forget(self, node_id: int) -> None:
        """The connection is gone; there may have been none."""
        self._last_used_ms.pop(node_id, None)

    def expired(self, now_ms: int, is_busy: Callable[[int], bool]) -> int | None:
        """The one to close now, the oldest: one a round, like Java."""
        node_id = self._oldest(is_busy)
        return node_id if node_id is not None and now_ms >= self._expires_ms(node_id) else None

    def next_expiry_ms(self, is_busy: Callable[[int], bool]) -> int | None:
        """When ``expired`` will have one; None where all are busy or kept for ever."""
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
