"""The rows of ``tcp.jsonl``: TCP events on the client's side of a lane, and the whole frames that passed there.

Judgement reads only these rows of a capture, so stored evidence can be judged again without its packets. ``t_ns`` is
CLOCK_MONOTONIC as everywhere else. The kernel stamps packets with the wall clock, so the capture measures the offset to
the monotonic clock when it begins and when it ends (:meth:`Recording.monotonic_ns`).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class What(StrEnum):
    """The kind of a fact.

    ``SYN`` is a SYN that the proxy accepted, ``REFUSED`` one that it answered with a RST, ``FRAME`` a whole Kafka
    frame.
    """

    SYN = "syn"
    FIN = "fin"
    RST = "rst"
    REFUSED = "refused"
    RETRANSMISSION = "retransmission"
    ZERO_WINDOW = "zero_window"
    FRAME = "frame"


class By(StrEnum):
    """The side that sent the packet."""

    CLIENT = "client"
    PROXY = "proxy"


class TcpFact(msgspec.Struct, frozen=True, gc=False):
    """One fact: a side's first FIN or first RST, a retransmission, a window that closed, or a frame.

    ``conn`` numbers connections from 1 in the order of their SYNs; the witness has its own numbers. The time of a frame
    is that of its last byte. A frame from the client is a request. The last two fields are for frames only;
    ``size_bytes`` includes the size field.
    """

    t_ns: int
    broker: int
    client_port: int
    what: What
    by: By
    conn: int = 0
    correlation_id: int | None = None
    size_bytes: int | None = None
