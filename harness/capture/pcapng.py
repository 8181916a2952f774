"""``capture.pcapng``: one section, one interface, packets, and statistics at the end. Wireshark can open it.

In addition to the packets it contains what is needed to interpret them: each port's broker (the interface's
description), the number of dropped packets (its statistics), and how far the wall clock was ahead of CLOCK_MONOTONIC at
the start and the end (the comments of both blocks).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from harness.capture.tap import Packet
from harness.files import read_stored
from harness.text.sentences import Coded

_SECTION, _INTERFACE, _STATISTICS, _ENHANCED_PACKET = 0x0A0D0D0A, 1, 5, 6
_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_ETHERNET = 1
_COMMENT, _NAME, _DESCRIPTION, _RESOLUTION, _APPLICATION = 1, 2, 3, 9, 4
_START, _END, _SEEN, _DROPPED = 2, 3, 4, 5
_NANOSECONDS = b"\x09"
#: How far the wall clock was ahead of CLOCK_MONOTONIC.
_AHEAD = "ahead_ns={}"

Options = Mapping[int, bytes]


class NoCapture(Coded, ValueError):
    """The bytes are not a complete capture written by :class:`Writer`."""


@dataclass(frozen=True)
class Recording:
    """A capture read from a file. ``brokers``: proxy port -> broker. ``ahead_ns``: at the start and at the end."""

    packets: tuple[Packet, ...]
    brokers: Mapping[int, int]
    seen: int
    dropped: int
    span_ns: tuple[int, int]
    ahead_ns: tuple[int, int]

    @property
    def cut(self) -> int:
        """The number of packets that were longer than a read."""
        return sum(len(packet.data) < packet.size_bytes for packet in self.packets)

    def monotonic_ns(self, wall_ns: int) -> int:
        """Return a packet's time on CLOCK_MONOTONIC. A slewed wall clock is assumed to have drifted evenly."""
        (begin, end), (ahead, at_end) = self.span_ns, self.ahead_ns
        moved = (at_end - ahead) * (wall_ns - begin) // max(1, end - begin)
        return wall_ns - ahead - moved


class Writer:
    """Writes one capture to an open file."""

    def __init__(self, file: BinaryIO, brokers: Mapping[int, int], wall_ns: int, ahead_ns: int) -> None:
        self._file, self._begin_ns = file, wall_ns
        section = struct.pack("=IHHq", _BYTE_ORDER_MAGIC, 1, 0, -1)
        self._block(_SECTION, section, {_APPLICATION: b"kafka-trial"})
        told = "brokers by port: " + ", ".join(f"{port}={broker}" for port, broker in brokers.items())
        about = {
            _COMMENT: _AHEAD.format(ahead_ns).encode(),
            _NAME: b"lo",
            _DESCRIPTION: told.encode(),
            _RESOLUTION: _NANOSECONDS,
        }
        self._block(_INTERFACE, struct.pack("=HHI", _ETHERNET, 0, 0), about)

    def packet(self, packet: Packet) -> None:
        """Write one packet."""
        sizes = struct.pack("=II", len(packet.data), packet.size_bytes)
        body = struct.pack("=I", 0) + _time(packet.wall_ns) + sizes + _padded(packet.data)
        self._block(_ENHANCED_PACKET, body, {})

    def end(self, wall_ns: int, ahead_ns: int, seen: int, dropped: int) -> None:
        """Write the statistics, which complete the capture."""
        about = {
            _COMMENT: _AHEAD.format(ahead_ns).encode(),
            _START: _time(self._begin_ns),
            _END: _time(wall_ns),
            _SEEN: struct.pack("=Q", seen),
            _DROPPED: struct.pack("=Q", dropped),
        }
        self._block(_STATISTICS, struct.pack("=I", 0) + _time(wall_ns), about)

    def _block(self, kind: int, body: bytes, options: Options) -> None:
        told = b"".join(
            struct.pack("=HH", code, len(value)) + _padded(value) for code, value in options.items()
        )
        body += told + bytes(4) if options else b""
        size = struct.pack("=I", 12 + len(body))
        self._file.write(struct.pack("=I", kind) + size + body + size)


def read(path: Path) -> Recording:
    """Return the capture in a file. Raises NoCapture as :func:`parsed` does, and OSError if it cannot be read."""
    return parsed(read_stored(path), str(path))


def parsed(data: bytes, where: str) -> Recording:
    """Return a capture that :class:`Writer` wrote. Raises NoCapture, with ``where``, if it is invalid or incomplete."""
    try:
        return _recording(data)
    except NoCapture as error:
        raise error.at(where) from None
    except (LookupError, ValueError, struct.error):
        raise NoCapture("capture-incomplete", "this is not a capture of a trial, or it is incomplete").at(
            where
        ) from None


def _recording(data: bytes) -> Recording:
    packets: list[Packet] = []
    interface: Options = {}
    statistics: Options = {}
    for kind, body in _blocks(data):
        if kind == _ENHANCED_PACKET:
            kept, size_bytes = struct.unpack_from("=II", body, 12)
            packets.append(Packet(_ns(body[4:12]), body[20 : 20 + kept], size_bytes))
        elif kind == _INTERFACE:
            interface = _options(body[8:])
        elif kind == _STATISTICS:
            statistics = _options(body[12:])
    return Recording(
        packets=tuple(packets),
        brokers={
            int(port): int(broker)
            for port, broker in re.findall(r"(\d{1,5})=(\d{1,9})", interface[_DESCRIPTION].decode())
        },
        seen=struct.unpack("=Q", statistics[_SEEN])[0],
        dropped=struct.unpack("=Q", statistics[_DROPPED])[0],
        span_ns=(_ns(statistics[_START]), _ns(statistics[_END])),
        ahead_ns=(_ahead(interface), _ahead(statistics)),
    )


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    if data[:4] != struct.pack("=I", _SECTION) or data[8:12] != struct.pack("=I", _BYTE_ORDER_MAGIC):
        raise NoCapture("not-pcapng", "this is not a pcapng file of this machine's byte order")
    at = 0
    while at < len(data):
        kind, size = struct.unpack("=II", data[at : at + 8].ljust(8, b"\0"))
        if size < 12 or at + size > len(data):
            raise NoCapture("block-incomplete", "the block at byte {at} is incomplete", at=at)
        yield kind, data[at + 8 : at + size - 4]
        at += size


def _options(data: bytes) -> Options:
    found: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        code, size = struct.unpack_from("=HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4 : at + 4 + size]
        at += 4 + size + -size % 4
    return found


def _ahead(options: Options) -> int:
    found = re.fullmatch(r"ahead_ns=(-?\d{1,19})", options[_COMMENT].decode())
    if found is None:
        raise ValueError
    return int(found[1])


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _time(wall_ns: int) -> bytes:
    return struct.pack("=II", wall_ns >> 32, wall_ns & 0xFFFFFFFF)


def _ns(data: bytes) -> int:
    high, low = struct.unpack("=II", data)
    return int(high << 32 | low)
