"""Every connection is cut, politely (FIN).

## What it does
All connections of the lane end at once, whatever is in flight on them. The listener stays closed for the duration of
the fault, which may be 0: then a client can come back immediately.

## What it probes
Requests whose fate the client cannot know: they may lie unread in a buffer, be applied and unanswered, or answered
and unread. An at-least-once producer has to send them again, an idempotent one under the same sequence numbers.

## How it is made
The proxy is disabled and, after the duration, enabled again. Nothing else closes connections that are idle and those
that are not at one known moment.

## Where it is seen
The client reads the end of the stream, and a refusal while the listener is closed. At the witness the connections
end from the client's side: a hit is a connection that did.

## What it cannot do
Choose one connection of several, or the byte at which it is cut. Where the proxy holds unread bytes of the client
(a request under way in that very moment), the system sends RST instead of FIN.
"""

from __future__ import annotations

from faults.address_fault import AddressFault
from harness.plugins.fault import FaultKind


class Disconnect(AddressFault):
    """The fault kind ``disconnect``."""

    name = "disconnect"
    summary = "all connections end with FIN; the listener is back after the duration"


FAULT: FaultKind = Disconnect()
