"""The rows of ``tcp.jsonl``: what TCP did on the client's side of a lane, and which frames passed there, whole.

They are all that judgement has of a capture, so that yesterday's evidence can be judged without its packets. ``t_ns``
is CLOCK_MONOTONIC like everywhere: the kernel stamps packets with the wall clock, whose distance to the monotonic one
the capture measures when it begins and when it ends (:meth:`Recording.monotonic_ns`).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class What(StrEnum):
    """A SYN from the proxy has accepted; ``REFUSED`` is a RST in the place of that; ``FRAME`` is Kafka's, and whole."""

    SYN = "syn"
    FIN = "fin"
    RST = "rst"
    REFUSED = "refused"
    RETRANSMISSION = "retransmission"
    ZERO_WINDOW = "zero_window"
    FRAME = "frame"


class By(StrEnum):
    """Who sent the packet."""

    CLIENT = "client"
    PROXY = "proxy"


class TcpFact(msgspec.Struct, frozen=True, gc=False):
    """One fact; a side's first FIN and first RST, each retransmission, each time its window closes, each frame.

    ``conn`` numbers connections from 1 in the order of their SYNs; the witness numbers its own. A frame passed with its
    last byte, from the client it is a request; the last two fields are a frame's, ``size_bytes`` with its size field.
    """

    t_ns: int
    broker: int
    client_port: int
    what: What
    by: By
    conn: int = 0
    correlation_id: int | None = None
    size_bytes: int | None = None
