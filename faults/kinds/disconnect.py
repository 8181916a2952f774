"""Every connection is closed cleanly (FIN).

## What it does
All connections of the lane end at once, whatever is in flight on them. The listener stays closed for the duration of
the fault, which may be 0; then a client can reconnect immediately.

## What it probes
Requests whose fate the client cannot know: they may be unread in a buffer, applied but unanswered, or answered but
unread. An at-least-once producer has to send them again. An idempotent producer has to send them again with the same
sequence numbers.

## How it is made
The proxy is disabled and, after the duration, enabled again. No other fault closes idle and busy connections alike at
one known moment.

## Where it is seen
The client reads the end of the stream, and is refused while the listener is closed. At the witness the connections end
from the client's side. A hit is a connection that ended this way.

## What it cannot do
It cannot choose one connection of several, or the byte at which the connection is cut. If the proxy holds unread bytes
of the client (a request in flight at that moment), the operating system sends RST instead of FIN.
"""

from __future__ import annotations

from faults.address_fault import AddressFault
from harness.plugins.fault import FaultKind


class Disconnect(AddressFault):
    """The fault kind ``disconnect``."""

    name = "disconnect"
    summary = "all connections end with FIN; the listener is back after the duration"
    seen_by = ("client", "witness")


FAULT: FaultKind = Disconnect()
