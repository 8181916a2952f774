"""Every byte arrives later.

## What it does
While the fault lasts, requests reach the broker ``upstream_ms`` later and responses reach the client ``downstream_ms``
later. The order is kept and nothing is lost. Consecutive requests overlap on the way, as they would on a long link.
When the fault ends, everything that is still on the way arrives at once.

## What it probes
Pipelining (more than one request in flight), batching while responses are late, and the client's timers: a delay above
its request timeout makes it give up on requests that the broker applies.

## How it is made
Each delayed direction has a ``latency`` toxic with jitter 0, on open and on later connections. At the end the delay is
first set to 0, which releases what is held, and then the toxic is removed.

## Where it is seen
The client's acknowledgements take at least the added delay. At the witness, which sits between the proxy and the
broker, requests arrive late and responses are still on time. A hit is a frame in a delayed direction that passed the
witness during the fault.

## What it cannot do
It cannot delay one frame and not the next, the opening of a connection (the proxy accepts at once), or a FIN with no
data in front of it. It cannot limit the rate (``bandwidth`` does that).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faults.effects import fetching, waits
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES, Mode
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultKind, FaultParam, LiveLane, each, passed, remove, toxic_name
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane
from harness.simulated.scheduler import NS_PER_MS

_DELAYED = {"upstream": FrameKind.REQUEST, "downstream": FrameKind.RESPONSE}


class Latency(Fault):
    """The fault kind ``latency``."""

    name = "latency"
    summary = "requests and responses arrive later, in order and without loss"
    seen_by = ("client", "witness", "broker")
    shown_by = (
        "batches or their results took as long as the added delay, or records waited until the fault ended"
    )
    modes = BOTH_MODES
    params: tuple[FaultParam, ...] = (
        FaultParam("upstream_ms", 0, 0, 600_000, "how much later requests reach the broker"),
        FaultParam("downstream_ms", 0, 0, 600_000, "how much later responses reach the client"),
    )

    def check(self, spec: FaultSpec, mode: Mode) -> None:
        """Check the parameters. Raise UsageError if the delay is 0 in both directions."""
        if not self._delays(spec):
            raise UsageError(
                "fault-does-nothing",
                "fault {fault!r} needs upstream_ms or downstream_ms above 0",
                fault=self.name,
            )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Add the delay."""
        delays = self._delays(spec)

        async def add(place: tuple[Proxy, str]) -> None:
            proxy, stream = place
            name = f"{toxic_name(spec)}-{stream}"
            await proxy.add_toxic(name, "latency", stream, 1.0, latency=delays[stream], jitter=0)

        await each(_places(lane.on(spec), delays), add)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Remove the delay."""

        async def take(place: tuple[Proxy, str]) -> None:
            proxy, stream = place
            await remove(proxy, f"{toxic_name(spec)}-{stream}")

        await each(_places(lane.on(spec), self._delays(spec)), take)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Add the delay."""
        delays = self._delays(spec)
        for proxy in lane.on(spec):
            for stream, ms in delays.items():
                proxy.way(stream).delay(toxic_name(spec), ms * NS_PER_MS)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Remove the delay; what is held arrives at once."""
        for proxy in lane.on(spec):
            proxy.up.restore(toxic_name(spec))
            proxy.down.restore(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the frames that passed in a delayed direction."""
        kinds = [_DELAYED[stream] for stream in self._delays(row.spec)]
        return sum(1 for _ in passed(row, frames, kinds))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        delays = self._delays(row.spec)
        late = 0
        if "upstream" in delays:
            late += waits.later_there(row, evidence, lambda _: delays["upstream"] * NS_PER_MS)
        if "downstream" in delays:
            late += waits.later_back(row, evidence, lambda _: delays["downstream"] * NS_PER_MS)
        late = late or fetching.later(row, evidence, sum(delays.values()) * NS_PER_MS)
        return late or waits.held_up(row, evidence)

    def _delays(self, spec: FaultSpec) -> dict[str, int]:
        values = self.values(spec)
        return {stream: ms for stream in _DELAYED if (ms := values[f"{stream}_ms"])}


def _places(proxies: Sequence[Proxy], delays: dict[str, int]) -> Iterator[tuple[Proxy, str]]:
    return ((proxy, stream) for proxy in proxies for stream in delays)


FAULT: FaultKind = Latency()
