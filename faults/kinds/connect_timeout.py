"""Connection attempts to the brokers' addresses get no answer.

## What it does
Open connections end when the fault begins. For its duration an attempt to connect is neither accepted nor refused. When
it ends, the attempts that still wait are accepted. In live mode this happens when the operating system next
repeats them: after one, two, four seconds.

## What it probes
The connection setup timeout, and what a client does next to a connection that hangs. Other connections must keep
working, and the client must give up the attempt by its own clock, because nothing else will end it.

## How it is made
In live mode the proxy is disabled, and a socket of the harness takes over its port. That socket's queue of new
connections has room for one and is filled at once, so the operating system drops every further attempt. At the end that
socket is closed and the proxy is enabled. In simulated mode the proxy leaves attempts unanswered.

## Where it is seen
The client sees the end of its open connections, and then nothing at all. Attempts to connect never reach the witness.
In live mode a hit is a connection that ended from the client's side, and the witness also shows that no new
connection begins meanwhile. In simulated mode a hit is an attempt that was left unanswered.

## What it cannot do
It cannot answer some attempts and not others, or leave the open connections alone. While the port changes hands, at the
beginning and at the end, attempts are refused for a moment. A client may consider an attempt made at that same moment
established, and it is reset when the fault ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults import listener
from faults.address_fault import AddressFault
from harness.model.rows import FaultRow, Frame
from harness.plugins.fault import FaultKind, toxic_name
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane
from harness.simulated.proxy import SimulatedProxy


class ConnectTimeout(AddressFault):
    """The fault kind ``connect_timeout``."""

    name = "connect_timeout"
    summary = "attempts to connect have no answer for the duration, and open connections end"
    seen_by = ("client", "witness")

    async def take(self, proxy: Proxy, name: str) -> None:
        """Cut the open connections and leave attempts to connect unanswered."""
        await listener.ignore(proxy, name)

    def take_simulated(self, proxy: SimulatedProxy, name: str) -> None:
        """Leave attempts to connect unanswered."""
        proxy.ignore(name)

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Count the attempts to connect that got no answer."""
        return lane.touched(toxic_name(row.spec))


FAULT: FaultKind = ConnectTimeout()
