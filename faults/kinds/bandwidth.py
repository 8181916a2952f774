"""The rate at which bytes pass is limited.

## What it does
While the fault lasts, each connection carries no more than the given number of bytes per second in a direction. A rate
of 0 means no limit. The order of the bytes is kept and nothing is lost. When the fault ends, everything that is still
on the way arrives at once.

## What it probes
The request timeout, which counts from the moment a request is sent and not from its arrival; batches that grow while
the connection is busy; and delivery timeouts that expire while bytes are still on the way.

## How it is made
In live mode each limited direction has a ``bandwidth`` toxic, on open and on later connections. The bytes that it holds
leave in steps of a tenth of a second. At the end its rate is first set so high that it holds nothing, and then the
toxic is removed. In simulated mode each piece of data takes its size divided by the rate, and the pieces after it wait.

## Where it is seen
Requests arrive late at the witness, or responses arrive late at the client. A hit is a frame in a limited direction
that passed the witness during the fault.

## What it cannot do
It cannot share one limit between several connections, or slow down a FIN that has no data in front of it. In live mode
a rate must be a multiple of 1,000 bytes per second, because that is Toxiproxy's unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from faults.effects import waits
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES, Mode
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultKind, FaultParam, LiveLane, each, passed, remove, toxic_name
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane

_SLOW = {"upstream": FrameKind.REQUEST, "downstream": FrameKind.RESPONSE}
_MAX = 1_000_000_000
_BYTES_PER_KB = 1_000
_NS_PER_S = 1_000_000_000


class Bandwidth(Fault):
    """The fault kind ``bandwidth``."""

    name = "bandwidth"
    summary = "bytes are sent no faster than a rate, in order and without loss"
    seen_by = ("client", "witness")
    shown_by = (
        "batches or their results took as long as the rate requires, or records waited until the fault ended"
    )
    modes = BOTH_MODES
    params: tuple[FaultParam, ...] = (
        FaultParam("upstream_bytes_per_s", 0, 0, _MAX, "how fast requests leave; 0 for no limit"),
        FaultParam("downstream_bytes_per_s", 0, 0, _MAX, "how fast responses leave; 0 for no limit"),
    )

    def check(self, spec: FaultSpec, mode: Mode) -> None:
        """Check the parameters. Raise UsageError if neither direction has a limit."""
        rates = self._rates(spec)
        if not rates:
            raise UsageError(
                "fault-does-nothing",
                "fault {fault!r} needs upstream_bytes_per_s or downstream_bytes_per_s above 0",
                fault=self.name,
            )
        for stream, rate in rates.items():
            if mode == Mode.LIVE and rate % _BYTES_PER_KB:
                raise UsageError(
                    "bandwidth-not-whole-thousands",
                    "{stream}_bytes_per_s of fault {fault!r} must be a multiple of 1,000 with Toxiproxy, not {rate}",
                    fault=self.name,
                    stream=stream,
                    rate=rate,
                )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Limit the rate."""
        rates = self._rates(spec)

        async def add(place: tuple[Proxy, str]) -> None:
            proxy, stream = place
            rate = rates[stream] // _BYTES_PER_KB
            await proxy.add_toxic(f"{toxic_name(spec)}-{stream}", "bandwidth", stream, 1.0, rate=rate)

        await each([(proxy, stream) for proxy in lane.on(spec) for stream in rates], add)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Remove the limit."""

        async def take(place: tuple[Proxy, str]) -> None:
            proxy, stream = place
            await remove(proxy, f"{toxic_name(spec)}-{stream}")

        await each([(proxy, stream) for proxy in lane.on(spec) for stream in self._rates(spec)], take)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Limit the rate."""
        for proxy in lane.on(spec):
            for stream, rate in self._rates(spec).items():
                proxy.way(stream).throttle(toxic_name(spec), rate)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Remove the limit."""
        for proxy in lane.on(spec):
            proxy.up.restore(toxic_name(spec))
            proxy.down.restore(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the frames that passed in a limited direction."""
        return sum(1 for _ in passed(row, frames, [_SLOW[stream] for stream in self._rates(row.spec)]))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        rates = self._rates(row.spec)

        def least_ns(stream: str) -> Callable[[Frame], int]:
            return lambda frame: frame.size_bytes * _NS_PER_S // rates[stream]

        late = 0
        if "upstream" in rates:
            late += waits.later_there(row, evidence, least_ns("upstream"))
        if "downstream" in rates:
            late += waits.later_back(row, evidence, least_ns("downstream"))
        return late or waits.held_up(row, evidence)

    def _rates(self, spec: FaultSpec) -> dict[str, int]:
        values = self.values(spec)
        return {stream: rate for stream in _SLOW if (rate := values[f"{stream}_bytes_per_s"])}


FAULT: FaultKind = Bandwidth()
