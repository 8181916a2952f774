"""The base class of faults that act on the address to which clients connect, and end the open connections.

They differ in what happens to new connections: they are refused, left unanswered, or closed at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults import listener
from faults.effects import cuts
from faults.kind import cut
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, LiveLane, each, toxic_name
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane
from harness.simulated.proxy import SimulatedProxy


class AddressFault(Fault):
    """By default connections are refused until the fault ends, and a hit is a connection that ended."""

    modes = BOTH_MODES
    shown_by = (
        "connections ended together with all others to their broker, or records waited because none "
        "could be made"
    )

    async def take(self, proxy: Proxy, name: str) -> None:
        """Take the address away in the name of a fault, and end the open connections."""
        await listener.close(proxy, name)

    async def give_back(self, proxy: Proxy, name: str) -> None:
        """Undo :meth:`take`; do nothing if nothing was taken."""
        await listener.reopen(proxy, name)

    def take_simulated(self, proxy: SimulatedProxy, name: str) -> None:
        """Like :meth:`take`, but leave the open connections alone. ``accept`` undoes it."""
        proxy.refuse(name)

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Take the addresses away, and end the open connections."""
        await each(lane.on(spec), lambda proxy: self.take(proxy, toxic_name(spec)))

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Give the addresses back."""
        await each(lane.on(spec), lambda proxy: self.give_back(proxy, toxic_name(spec)))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Take the addresses away, and end the open connections."""
        for proxy in lane.on(spec):
            self.take_simulated(proxy, toxic_name(spec))
            proxy.cut()

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Give the addresses back."""
        for proxy in lane.on(spec):
            proxy.accept(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the connections that ended."""
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.cut_off(row, evidence)
