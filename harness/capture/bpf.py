"""The kernel's packet filter: complete TCP over IPv4 from or to one of some ports, each packet once.

On loopback a capture sees each packet twice, outgoing and incoming. The incoming one is kept, since it has really
arrived. The program is classic BPF over an Ethernet frame, assembled here so that no compiler needs to be installed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

MAX_PORTS = 100  # a jump covers at most 255 instructions

_LOAD_WORD, _LOAD_HALF, _LOAD_BYTE, _LOAD_HALF_BEHIND_IP, _IP_HEADER = 0x20, 0x28, 0x30, 0x48, 0xB1
_IF_EQUAL, _IF_ANY_BIT, _RETURN = 0x15, 0x45, 0x06
_PACKET_TYPE = 0xFFFFF004
_OUTGOING = 4
_ETHERTYPE_AT, _IP_AT, _FRAGMENT_AT, _PROTOCOL_AT = 12, 14, 20, 23
_IPV4, _TCP, _FRAGMENT_OFFSET = 0x0800, 6, 0x1FFF
_ALL = 0xFFFFFFFF
_INSTRUCTION = struct.Struct("=HBBI")

Instruction = tuple[int, int, int, int]


def program(ports: Sequence[int]) -> bytes:
    """Return the instructions. Raises ValueError for no port or too many ports."""
    if not 0 < len(ports) <= MAX_PORTS:
        raise ValueError(f"a filter on {len(ports)} ports")
    by_port = _ports_at(_IP_AT, ports, behind=len(ports) + 1) + _ports_at(_IP_AT + 2, ports, behind=0)
    reject = len(by_port)
    head: list[Instruction] = [
        (_LOAD_WORD, 0, 0, _PACKET_TYPE),
        (_IF_EQUAL, reject + 7, 0, _OUTGOING),
        (_LOAD_HALF, 0, 0, _ETHERTYPE_AT),
        (_IF_EQUAL, 0, reject + 5, _IPV4),
        (_LOAD_BYTE, 0, 0, _PROTOCOL_AT),
        (_IF_EQUAL, 0, reject + 3, _TCP),
        (_LOAD_HALF, 0, 0, _FRAGMENT_AT),
        (_IF_ANY_BIT, reject + 1, 0, _FRAGMENT_OFFSET),
        (_IP_HEADER, 0, 0, _IP_AT),
    ]
    tail: list[Instruction] = [(_RETURN, 0, 0, 0), (_RETURN, 0, 0, _ALL)]
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in head + by_port + tail)


def _ports_at(offset: int, ports: Sequence[int], behind: int) -> list[Instruction]:
    """Return jumps to the last instruction for each port. ``behind`` instructions follow before the end."""
    jumps = [(_IF_EQUAL, behind + len(ports) - at, 0, port) for at, port in enumerate(ports)]
    return [(_LOAD_HALF_BEHIND_IP, 0, 0, offset), *jumps]
