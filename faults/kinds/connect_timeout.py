"""Nobody answers at the brokers' addresses.

## What it does
Open connections end when the fault begins. For its duration an attempt to connect is neither accepted nor refused.
At its end the attempts that still wait are accepted, in the live world when the system next repeats them: one, two,
four seconds after each other.

## What it probes
The connection setup timeout, and what a client does beside a connection that hangs: others must go on, and the
attempt must be given up by the clock, for nothing else will end it.

## How it is made
In the live world the proxy is disabled, and a socket of the harness takes its port, whose queue of new connections has
room for one and is full at once: the system drops whatever else knocks. At the end that socket is closed and the proxy
enabled. In the simulated world the proxy leaves attempts without an answer.

## Where it is seen
The client sees the end of what was open, and then nothing at all. Attempts to connect never reach the witness: in the
live world a hit is a connection that ended from the client's side, and that no new one begins meanwhile can be seen
there too. In the simulated world it is an attempt that was left without an answer.

## What it cannot do
Answer some attempts and not others; leave the open connections alone. While the port changes hands, at the beginning
and at the end, for a moment attempts are refused. An attempt that comes in that same moment may be taken for
established by the client, and is reset when the fault ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults import listener
from faults.address_fault import AddressFault
from faults.kind import toxic_name
from harness.model.rows import FaultRow, Frame
from harness.plugins.fault import FaultKind
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane
from harness.simulated.proxy import SimulatedProxy


class ConnectTimeout(AddressFault):
    """The fault kind ``connect_timeout``."""

    name = "connect_timeout"
    summary = "attempts to connect have no answer for the duration, and open connections end"

    async def take(self, proxy: Proxy, name: str) -> None:
        """Cut, and answer nobody."""
        await listener.ignore(proxy, name)

    def take_simulated(self, proxy: SimulatedProxy, name: str) -> None:
        """Answer nobody."""
        proxy.ignore(name)

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Attempts to connect that had no answer."""
        return lane.touched(toxic_name(row.spec))


FAULT: FaultKind = ConnectTimeout()
