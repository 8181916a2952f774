"""Connections to the brokers' addresses are refused.

## What it does
For the duration of the fault every attempt to connect is refused. Connections that are open when it begins end.

## What it probes
How the client recovers: the backoff between attempts, giving up on records whose delivery timeout passes meanwhile, and
finding the cluster again afterwards instead of giving up forever.

## How it is made
The proxy is disabled for the duration, as in ``disconnect``. The two differ in what a scenario uses them for:
``disconnect`` for the cut, ``refuse`` for the time after it.

## Where it is seen
The client sees ``ECONNREFUSED``. A refused attempt never reaches the witness, which only sees the connections that end
when the fault begins. A hit is such a connection.

## What it cannot do
It cannot refuse new connections and leave the open ones alone, or let an attempt time out instead (the address would
have to drop SYNs).
"""

from __future__ import annotations

from faults.address_fault import AddressFault
from harness.plugins.fault import FaultKind


class Refuse(AddressFault):
    """The fault kind ``refuse``."""

    name = "refuse"
    summary = "connections are refused for the duration, and open ones end"
    seen_by = ("client", "witness")


FAULT: FaultKind = Refuse()
