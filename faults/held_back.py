"""The base class of faults that hold one direction back until they end, and then release all of it.

They add a delay of one hour and remove it again. In live mode this is a ``latency`` toxic, on open and on later
connections. Its delay is first set to 0, which releases what is held, and then the toxic is removed.
"""

from __future__ import annotations

from faults.toxics import HOUR_MS
from harness.model.mode import BOTH_MODES
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, LiveLane, each, remove, toxic_name
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane
from harness.simulated.scheduler import NS_PER_MS


class HeldBack(Fault):
    """The base class: a kind sets ``stream`` to ``upstream`` or ``downstream``, and counts its hits."""

    modes = BOTH_MODES
    stream: str

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Hold the direction back."""

        async def hold(proxy: Proxy) -> None:
            await proxy.add_toxic(toxic_name(spec), "latency", self.stream, 1.0, latency=HOUR_MS, jitter=0)

        await each(lane.on(spec), hold)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Release what is held."""
        await each(lane.on(spec), lambda proxy: remove(proxy, toxic_name(spec)))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Hold the direction back."""
        for proxy in lane.on(spec):
            proxy.way(self.stream).delay(toxic_name(spec), HOUR_MS * NS_PER_MS)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Release what is held."""
        for proxy in lane.on(spec):
            proxy.way(self.stream).restore(toxic_name(spec))
