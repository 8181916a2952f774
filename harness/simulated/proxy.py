"""The proxy of one broker: its listener, its connections, and what faults can set, each under its own name.

Faults may overlap: the listener opens again when the last fault that closed it has ended, and a direction is unchanged
when no fault affects it any more.
"""

from __future__ import annotations

from collections import Counter

from harness.simulated.connection import REFUSED, SimulatedConnection
from harness.simulated.pipe import Direction


class SimulatedProxy:
    """The proxy of broker ``node_id``.

    ``touched`` counts, by the name of a fault, the effects that only the proxy sees.
    """

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.touched: Counter[str] = Counter()
        self.up, self.down = Direction(self.touched), Direction(self.touched)
        self.connections: dict[SimulatedConnection, None] = {}
        self._closed_by: set[str] = set()
        self._deaf_by: set[str] = set()
        self._hung_up_by: set[str] = set()
        self._unanswered: list[SimulatedConnection] = []

    @property
    def is_pristine(self) -> bool:
        """True if no fault is left on it."""
        held = self._closed_by or self._deaf_by or self._hung_up_by
        return self.up.plain and self.down.plain and not held

    def way(self, stream: str) -> Direction:
        """Return ``up`` for ``upstream`` and ``down`` for ``downstream``, which are Toxiproxy's names."""
        return self.up if stream == "upstream" else self.down

    # New connections.

    def arrive(self, connection: SimulatedConnection) -> None:
        """Handle a client's attempt to connect."""
        if connection.closed:
            return
        if self._closed_by:
            connection.fail(REFUSED)
        elif self._deaf_by:
            for name in sorted(self._deaf_by):
                self.touched[name] += 1
            self._unanswered.append(connection)
        else:
            self.connections[connection] = None
            connection.accepted()
            if self._hung_up_by:
                connection.cut(reset=False)

    def refuse(self, name: str) -> None:
        """Refuse connections until ``accept``."""
        self._closed_by.add(name)

    def ignore(self, name: str) -> None:
        """Leave attempts to connect without a response until ``accept``, which responds to them."""
        self._deaf_by.add(name)

    def hang_up(self, name: str) -> None:
        """Accept connections until ``accept``, and close each at once."""
        self._hung_up_by.add(name)

    def accept(self, name: str) -> None:
        """Remove a fault's effect on the listener, which accepts connections again unless another fault closes it."""
        self._closed_by.discard(name)
        self._deaf_by.discard(name)
        self._hung_up_by.discard(name)
        if not self._deaf_by and not self._closed_by:
            waiting, self._unanswered = self._unanswered, []
            for connection in waiting:
                self.arrive(connection)

    # Open connections.

    def cut(self, *, reset: bool = False) -> None:
        """End every connection now, by FIN or by RST."""
        for connection in list(self.connections):
            connection.cut(reset=reset)

    def broker_gone(self) -> None:
        """Close the broker's end of every connection, because its process has ended."""
        for connection in list(self.connections):
            connection.broker_closes()

    def retime(self) -> None:
        """Apply a change of ``up`` or ``down`` to data in flight."""
        for connection in list(self.connections):
            connection.up.retime()
            connection.down.retime()
