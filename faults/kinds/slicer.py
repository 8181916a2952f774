"""Bytes arrive in small pieces.

## What it does
While the fault lasts, all data in both directions is cut into pieces of at most ``size_bytes``, each of which leaves
``delay_us`` after the one before. When the fault ends, the rest of a frame arrives at once.

## What it probes
Framing: a size field in two reads, a header without its body, one byte at a time, the end of one response and the
beginning of the next in one piece. With a delay it also probes requests that trickle in beyond their timeout.

## How it is made
In live mode each direction has a ``slicer`` toxic without variation, on open and on later connections. It halves what
it reads until no piece is larger. At the end it is first set to cut nothing, and then removed. In simulated mode data
is cut at multiples of the size when it enters a connection.

## Where it is seen
Frames arrive whole at either end, only later. A hit is a frame that passed the witness during the fault.

## What it cannot do
It cannot join what was sent separately, or choose where to cut. Without a delay, pieces may be joined again in the
buffer of a peer that reads late.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import waits
from faults.toxics import STREAMS
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultKind, FaultParam, LiveLane, each, passed, remove, toxic_name
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane

NS_PER_US = 1_000


class Slicer(Fault):
    """The fault kind ``slicer``."""

    name = "slicer"
    summary = "data arrives in small pieces, in both directions"
    seen_by = ("witness",)
    shown_by = (
        "batches or their results took as long as their pieces require, or records waited until the "
        "fault ended"
    )
    modes = BOTH_MODES
    params: tuple[FaultParam, ...] = (
        FaultParam("size_bytes", 64, 1, 1_048_576, "the maximum size of a piece"),
        FaultParam("delay_us", 0, 0, 60_000_000, "how much later each piece follows"),
    )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Slice the data."""
        values = self.values(spec)
        pieces = {"average_size": values["size_bytes"], "size_variation": 0, "delay": values["delay_us"]}

        async def add(place: tuple[Proxy, str]) -> None:
            proxy, stream = place
            await proxy.add_toxic(f"{toxic_name(spec)}-{stream}", "slicer", stream, 1.0, **pieces)

        await each([(proxy, stream) for proxy in lane.on(spec) for stream in STREAMS], add)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Stop slicing."""

        async def take(place: tuple[Proxy, str]) -> None:
            proxy, stream = place
            await remove(proxy, f"{toxic_name(spec)}-{stream}")

        await each([(proxy, stream) for proxy in lane.on(spec) for stream in STREAMS], take)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Slice the data."""
        values = self.values(spec)
        for proxy in lane.on(spec):
            for way in (proxy.up, proxy.down):
                way.slice(toxic_name(spec), values["size_bytes"], values["delay_us"] * NS_PER_US)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Stop slicing."""
        for proxy in lane.on(spec):
            proxy.up.restore(toxic_name(spec))
            proxy.down.restore(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the frames that passed."""
        return sum(1 for _ in passed(row, frames, (FrameKind.REQUEST, FrameKind.RESPONSE)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        values = self.values(row.spec)
        gap_ns, size_bytes = values["delay_us"] * NS_PER_US, values["size_bytes"]
        if not gap_ns:
            return 0  # without a gap the pieces cannot be distinguished from the whole, at either end

        def least_ns(frame: Frame) -> int:
            return gap_ns * ((frame.size_bytes - 1) // size_bytes)

        late = waits.later_there(row, evidence, least_ns) + waits.later_back(row, evidence, least_ns)
        return late or waits.held_up(row, evidence)


FAULT: FaultKind = Slicer()
