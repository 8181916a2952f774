"""What the kinds of fault share that hold one direction back until they end, and then let all of it go.

A delay of an hour that is taken away again: in the live world a ``latency`` toxic, on open and on later connections,
whose delay is first set to 0, which lets go of what is held, and which is then removed.
"""

from __future__ import annotations

from faults.kind import BOTH_WORLDS, Fault, each, remove, toxic_name
from faults.toxics import HOUR_MS
from harness.model.spec import FaultSpec
from harness.plugins.fault import LiveLane
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane
from harness.simulated.scheduler import NS_PER_MS


class HeldBack(Fault):
    """The defaults; a kind names its ``stream``, ``upstream`` or ``downstream``, and what it hit."""

    worlds = BOTH_WORLDS
    stream: str

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Hold the direction back."""

        async def hold(proxy: Proxy) -> None:
            await proxy.add_toxic(toxic_name(spec), "latency", self.stream, 1.0, latency=HOUR_MS, jitter=0)

        await each(lane.on(spec), hold)

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Let go."""
        await each(lane.on(spec), lambda proxy: remove(proxy, toxic_name(spec)))

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Hold the direction back."""
        for proxy in lane.on(spec):
            proxy.way(self.stream).delay(toxic_name(spec), HOUR_MS * NS_PER_MS)

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Let go."""
        for proxy in lane.on(spec):
            proxy.way(self.stream).restore(toxic_name(spec))
