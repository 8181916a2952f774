"""The log lines of connections and requests that end, from the core's events: what Java logs, at its levels.

The core itself logs none of this, so that the same core in virtual time writes no log. A transport passes it the events
while it holds its lock, and calls ``write`` without it, because a handler of the application may take long.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

from clients.reference.network.disconnect_reasons import LocalEnd
from clients.reference.ports import ChannelState
from clients.reference.telemetry.trace import (
    ConnectAttempt,
    ConnectionEnded,
    Rebootstrapped,
    RequestLost,
    TraceEvent,
)

#: The level of each end in Java's NetworkClient and Selector. For a bootstrap server it is at least a warning.
LEVELS: Final[Mapping[str, int]] = {
    ChannelState.AUTHENTICATION_FAILED.value: logging.ERROR,
    ChannelState.AUTHENTICATE.value: logging.WARNING,
    ChannelState.NOT_CONNECTED.value: logging.WARNING,
    ChannelState.INVALID_RECEIVE.value: logging.WARNING,
    ChannelState.READY.value: logging.INFO,
    ChannelState.FAILED_SEND.value: logging.INFO,
    **{end.value: logging.INFO for end in LocalEnd},
}


class EventLog:
    """Writes to ``logger``. Calling it with events prepares their lines, and ``write`` writes them."""

    def __init__(self, client_id: str, logger: logging.Logger) -> None:
        self._client_id = client_id
        self._logger = logger
        self._addresses: dict[int, str] = {}
        self._lines: deque[tuple[int, str]] = deque()

    def __call__(self, events: Iterable[TraceEvent]) -> None:
        """Prepare the lines of some events."""
        for event in events:
            if isinstance(event, ConnectAttempt):
                self._addresses[event.node] = event.address or event.host
            elif isinstance(event, ConnectionEnded):
                level = LEVELS.get(event.state, logging.INFO)
                what = f"the connection to {self._node(event.node)} ended ({event.state}): {event.detail}"
                self._lines.append((max(level, logging.WARNING) if event.node < 0 else level, what))
            elif isinstance(event, RequestLost):
                why = "was not answered in time" if event.timed_out else "was lost with its connection"
                request = f"the {event.api} request {event.correlation_id} to {self._node(event.node)}"
                self._lines.append((logging.INFO, f"{request} {why}"))
            elif isinstance(event, Rebootstrapped):
                self._lines.append((logging.INFO, f"starts from its bootstrap servers again: {event.reason}"))

    def write(self) -> None:
        """Write the prepared lines."""
        while self._lines:
            level, what = self._lines.popleft()
            self._logger.log(level, "%s: %s", self._client_id, what)

    def _node(self, node_id: int) -> str:
        kind = "bootstrap server" if node_id < 0 else "node"
        return f"{kind} {node_id} ({self._addresses.get(node_id, 'no address')})"
