"""New connections are accepted and closed at once.

## What it does
For the duration of the fault every attempt to connect succeeds, and the connection ends a moment later, before anything
is answered on it. Connections that were open when the fault begins end as soon as their client is silent.

## What it probes
A broker's crash as it looks through a proxy or a load balancer, which accepts on behalf of a host that is down. The
client is never refused, so a client that takes "connected" for "available" tries again without a pause. It must back
off, and must not take the end of a connection for a response.

## How it is made
In live mode the lane has a ``timeout`` toxic upstream with a timeout of 1 ms, on open and on later connections. Data
that clients send meanwhile is discarded. At the end the connections that are left are closed. In simulated mode the
proxy closes the connections that it has accepted.

## Where it is seen
The client reads the end of the stream right after it has connected. At the witness connections end from the client's
side without a response on them. A hit is a connection that ended.

## What it cannot do
It cannot end the connection of a client that never stops sending, because Toxiproxy waits for a silence of 1 ms. It
cannot make the proxy itself unreachable (``refuse`` does that).
"""

from __future__ import annotations

from typing import Final

from faults.address_fault import AddressFault
from faults.effects import cuts
from faults.swallow import let_through, swallow
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.plugins.fault import FaultKind
from harness.plugins.proxy import Proxy
from harness.simulated.proxy import SimulatedProxy

#: The shortest timeout that Toxiproxy supports.
PATIENCE_MS: Final = 1


class AcceptThenClose(AddressFault):
    """The fault kind ``accept_then_close``."""

    name = "accept_then_close"
    summary = "connections are accepted and closed at once for the duration, and open ones end"
    seen_by = ("client", "witness")
    shown_by = "connections ended together with all others to their broker, or as soon as they were made"

    async def take(self, proxy: Proxy, name: str) -> None:
        """Close every connection as soon as it is silent."""
        await swallow(proxy, name, "upstream", PATIENCE_MS)

    async def give_back(self, proxy: Proxy, name: str) -> None:
        """Close the connections that are left, and let new ones stay open."""
        await let_through(proxy, name)

    def take_simulated(self, proxy: SimulatedProxy, name: str) -> None:
        """Close every new connection."""
        proxy.hang_up(name)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.ended_together(row, evidence) + cuts.without_answer(row, evidence)


FAULT: FaultKind = AcceptThenClose()
