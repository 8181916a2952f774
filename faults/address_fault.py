"""What the kinds of fault share that act on the address to which clients connect, and end what is open.

They differ in what becomes of who connects: refused, left without an answer, or hung up on.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults import listener
from faults.effects import cuts
from faults.kind import BOTH_WORLDS, Fault, cut, each, toxic_name
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import LiveLane
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane
from harness.simulated.proxy import SimulatedProxy


class AddressFault(Fault):
    """The defaults: connections are refused until the end; a hit is a connection that ended."""

    worlds = BOTH_WORLDS
    shown_by = "connections ended with all of their broker, or records waited that no new one could carry"

    async def take(self, proxy: Proxy, name: str) -> None:
        """Take the address away, in the name of a fault; what is open ends."""
        await listener.close(proxy, name)

    async def give_back(self, proxy: Proxy, name: str) -> None:
        """Undo :meth:`take`; no matter if nothing was taken."""
        await listener.reopen(proxy, name)

    def take_simulated(self, proxy: SimulatedProxy, name: str) -> None:
        """As :meth:`take`, but for what is open; ``accept`` undoes it."""
        proxy.refuse(name)

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Take the addresses away, and end what is open."""
        await each(lane.on(spec), lambda proxy: self.take(proxy, toxic_name(spec)))

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Give them back."""
        await each(lane.on(spec), lambda proxy: self.give_back(proxy, toxic_name(spec)))

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Take the addresses away, and end what is open."""
        for proxy in lane.on(spec):
            self.take_simulated(proxy, toxic_name(spec))
            proxy.cut()

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Give them back."""
        for proxy in lane.on(spec):
            proxy.accept(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections that ended."""
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.cut_off(row, evidence)
