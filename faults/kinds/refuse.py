"""Nobody listens at the brokers' addresses.

## What it does
For the duration of the fault every attempt to connect is refused. Connections that were open end when it begins.

## What it probes
The client's way back: back-off between attempts, giving up on records whose delivery timeout passes meanwhile, and
finding the cluster again afterwards instead of staying away for ever.

## How it is made
The proxy is disabled for the duration, as in ``disconnect``; what differs is what the scenario means by it: there the
cut, here the time after it.

## Where it is seen
The client sees ``ECONNREFUSED``. A refused attempt never reaches the witness; what it sees are the connections that
end when the fault begins: a hit is such a connection.

## What it cannot do
Refuse new connections and leave the open ones alone; let an attempt time out instead (the address would have to
swallow SYNs).
"""

from __future__ import annotations

from faults.address_fault import AddressFault
from harness.plugins.fault import FaultKind


class Refuse(AddressFault):
    """The fault kind ``refuse``."""

    name = "refuse"
    summary = "connections are refused for the duration, and open ones end"


FAULT: FaultKind = Refuse()
