"""What kinds of faults share, besides their base class in :mod:`harness.plugins.fault`.

A kind is its module. The docstring is its published page, and ``FAULT`` is its one object, which has no state. In live
mode a kind works on proxies (``inject_live``, ``heal_live``), in simulated mode on a lane (``inject_sim``,
``heal_sim``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.model.rows import FaultRow, Frame, FrameKind
from harness.plugins.fault import passed

#: How long after the fault's end the witness may still see the close of a connection that the fault closed.
GRACE_NS = 200_000_000


def cut(row: FaultRow, frames: Iterable[Frame]) -> Iterator[Frame]:
    """Yield the ends of connections from the client's side, where the proxy is, while the fault was in effect."""
    closed = passed(row, frames, (FrameKind.CLOSE,), grace_ns=GRACE_NS)
    return (frame for frame in closed if frame.closed_by == "client")
