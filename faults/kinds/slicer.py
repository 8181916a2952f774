"""Bytes arrive in small pieces.

## What it does
While the fault lasts, all data in both directions is cut into pieces of at most ``size_bytes``, each of which leaves
``delay_us`` after the one before. When it ends, what is left of a frame arrives at once.

## What it probes
Framing: a size field in two reads, a header without its body, one byte at a time, the end of one response and the
beginning of the next in one piece. And, with a delay, requests that trickle in beyond their timeout.

## How it is made
In the live world a ``slicer`` toxic in each direction, without variation, on open and on later connections: it halves
what it reads until no piece is larger. At the end it is first made to cut nothing, and then removed. In the simulated
world what enters a connection is cut there, at multiples of the size.

## Where it is seen
Frames arrive whole at either end, only later: a hit is a frame that passed the witness during the fault.

## What it cannot do
Join what was sent apart; choose the places of the cuts. Without a delay, pieces may meet again in the buffer of
whoever reads late: only a delay keeps them apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import waits
from faults.kind import BOTH_WORLDS, Fault, each, passed, remove, toxic_name
from faults.toxics import STREAMS
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam, LiveLane
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane

NS_PER_US = 1_000


class Slicer(Fault):
    """The fault kind ``slicer``."""

    name = "slicer"
    summary = "data arrives in small pieces, both ways"
    shown_by = "batches or their results took as long as their pieces do, or records waited until it was over"
    worlds = BOTH_WORLDS
    params: tuple[FaultParam, ...] = (
        FaultParam("size_bytes", 64, 1, 1_048_576, "how long a piece is at most"),
        FaultParam("delay_us", 0, 0, 60_000_000, "how much later each piece follows"),
    )

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Cut."""
        values = self.values(spec)
        pieces = {"average_size": values["size_bytes"], "size_variation": 0, "delay": values["delay_us"]}

        async def add(place: tuple[Proxy, str]) -> None:
            proxy, stream = place
            await proxy.add_toxic(f"{toxic_name(spec)}-{stream}", "slicer", stream, 1.0, **pieces)

        await each([(proxy, stream) for proxy in lane.on(spec) for stream in STREAMS], add)

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Leave whole what is whole."""

        async def take(place: tuple[Proxy, str]) -> None:
            proxy, stream = place
            await remove(proxy, f"{toxic_name(spec)}-{stream}")

        await each([(proxy, stream) for proxy in lane.on(spec) for stream in STREAMS], take)

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Cut."""
        values = self.values(spec)
        for proxy in lane.on(spec):
            for way in (proxy.up, proxy.down):
                way.slice(toxic_name(spec), values["size_bytes"], values["delay_us"] * NS_PER_US)

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Leave whole what is whole."""
        for proxy in lane.on(spec):
            proxy.up.restore(toxic_name(spec))
            proxy.down.restore(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Frames that passed."""
        return sum(1 for _ in passed(row, frames, (FrameKind.REQUEST, FrameKind.RESPONSE)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        values = self.values(row.spec)
        gap_ns, size_bytes = values["delay_us"] * NS_PER_US, values["size_bytes"]
        if not gap_ns:
            return 0  # pieces that follow each other at once look like the whole, at either end

        def least_ns(frame: Frame) -> int:
            return gap_ns * ((frame.size_bytes - 1) // size_bytes)

        late = waits.later_there(row, evidence, least_ns) + waits.later_back(row, evidence, least_ns)
        return late or waits.held_up(row, evidence)


FAULT: FaultKind = Slicer()
