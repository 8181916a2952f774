"""Extract the relevant TCP fields from an Ethernet frame. Pure."""

from __future__ import annotations

import struct
from enum import IntFlag
from typing import NamedTuple

_ETHERNET_BYTES = 14
_IPV4 = b"\x08\x00"
_TCP = 6
_PORTS_TO_WINDOW = struct.Struct(">HHIIBBH")


class Flags(IntFlag):
    """The flags of TCP that begin or end something."""

    FIN = 1
    SYN = 2
    RST = 4
    ACK = 16


class Segment(NamedTuple):
    """One TCP segment. ``t_ns`` is on whatever clock the caller uses."""

    t_ns: int
    source: int
    destination: int
    seq: int
    flags: Flags
    window: int
    payload: bytes


def segment(t_ns: int, data: bytes) -> Segment | None:
    """Return the segment in a packet, or None if it is not TCP or its headers are incomplete."""
    ip = data[_ETHERNET_BYTES:]
    if data[12:14] != _IPV4 or len(ip) < 20 or ip[9] != _TCP:
        return None
    # 0 means that the packet is longer than the field can express
    total = int.from_bytes(ip[2:4]) or len(ip)
    tcp = ip[(ip[0] & 15) * 4 : total]
    if len(tcp) < 20:
        return None
    source, destination, seq, _, offset, flags, window = _PORTS_TO_WINDOW.unpack_from(tcp)
    return Segment(t_ns, source, destination, seq, Flags(flags & 23), window, tcp[(offset >> 4) * 4 :])
