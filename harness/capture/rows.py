"""The rows of ``tcp.jsonl``: what TCP did on the client's side of a lane, told by the capture alone.

``t_ns`` is CLOCK_MONOTONIC like everywhere: the kernel stamps packets with the wall clock, whose distance to the
monotonic one the capture measures when it begins and when it ends (:meth:`Recording.monotonic_ns`).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class What(StrEnum):
    """A SYN from the proxy has accepted; ``REFUSED`` is a RST in the place of that."""

    SYN = "syn"
    FIN = "fin"
    RST = "rst"
    REFUSED = "refused"
    RETRANSMISSION = "retransmission"
    ZERO_WINDOW = "zero_window"


class By(StrEnum):
    """Who sent the packet."""

    CLIENT = "client"
    PROXY = "proxy"


class TcpFact(msgspec.Struct, frozen=True, gc=False):
    """One fact; a side's first FIN and first RST, each retransmission, each time its window closes."""

    t_ns: int
    broker: int
    client_port: int
    what: What
    by: By
