"""The only part that needs a privilege: a raw socket on loopback, which sees packets but cannot change them.

The filter is attached before the socket is bound, so that it never receives other packets. Its buffer is large, because
the kernel drops packets that do not fit. The kernel counts these, and the count is recorded. Reads are longer than any
packet on loopback.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from collections.abc import Sequence
from typing import NamedTuple

from harness.capture.bpf import program

BUFFER_BYTES = 64 * 2**20
READ_BYTES = 256 * 2**10
LACKS_RIGHT = "this process may not open a raw socket (CAP_NET_RAW)"

_ETH_P_ALL = 3
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 26, 33, 35
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_TIMESPEC = struct.Struct("qq")


class Packet(NamedTuple):
    """A packet as the kernel saw it at ``wall_ns``. It is cut if ``data`` is shorter than ``size_bytes``."""

    wall_ns: int
    data: bytes
    size_bytes: int


class Tap:
    """Captures all packets of these TCP ports from now on. PermissionError: no privilege; OSError: not supported."""

    def __init__(self, ports: Sequence[int], interface: str = "lo", buffer_bytes: int = BUFFER_BYTES) -> None:
        self._socket = raw_socket()
        try:
            _attach(self._socket, program(ports))
            _enlarge(self._socket, buffer_bytes)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self._socket.setblocking(False)
            self._socket.bind((interface, _ETH_P_ALL))
        except BaseException:
            self._socket.close()
            raise
        self._buffer = bytearray(READ_BYTES)
        self.seen = self.dropped = 0

    def fileno(self) -> int:
        """Return the descriptor, for ``select``."""
        return self._socket.fileno()

    def read(self) -> Packet | None:
        """Return the next packet, or None if there is none now."""
        try:
            size, about, _, _ = self._socket.recvmsg_into(
                [self._buffer], socket.CMSG_SPACE(_TIMESPEC.size), socket.MSG_TRUNC
            )
        except BlockingIOError:
            return None
        [seconds, nanoseconds] = next(
            (_TIMESPEC.unpack(data) for _, kind, data in about if kind == _SO_TIMESTAMPNS),
            divmod(time.time_ns(), 10**9),
        )
        return Packet(seconds * 10**9 + nanoseconds, bytes(self._buffer[: min(size, READ_BYTES)]), size)

    def count(self) -> None:
        """Update ``seen`` and ``dropped``. The kernel's own counters are reset whenever they are read."""
        seen, dropped = struct.unpack("II", self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        self.seen += seen
        self.dropped += dropped

    def close(self) -> None:
        """Close the socket. Packets that were not read are lost."""
        self._socket.close()


def raw_socket() -> socket.socket:
    """Return a raw socket that receives nothing yet. Raises PermissionError without the privilege."""
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


def lacking() -> str | None:
    """Return the reason why nothing can be captured here, or None."""
    try:
        raw_socket().close()
    except PermissionError:
        return LACKS_RIGHT
    except (AttributeError, OSError) as error:
        return f"there are no raw sockets here: {error}"
    return None


def wall_ahead_ns() -> int:
    """Return how far the wall clock, which stamps packets, is ahead of CLOCK_MONOTONIC, by the fastest reading."""
    looks = []
    for _ in range(9):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        looks.append((after - before, wall - (before + after) // 2))
    return min(looks)[1]


def _attach(raw: socket.socket, instructions: bytes) -> None:
    code = ctypes.create_string_buffer(instructions, len(instructions))
    raw.setsockopt(
        socket.SOL_SOCKET,
        _SO_ATTACH_FILTER,
        struct.pack(
            "HxxxxxxP" if struct.calcsize("P") == 8 else "HxxP",
            len(instructions) // 8,
            ctypes.addressof(code),
        ),
    )


def _enlarge(raw: socket.socket, buffer_bytes: int) -> None:
    try:
        raw.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, buffer_bytes)
    except PermissionError:  # needs CAP_NET_ADMIN; without it the system's limit applies
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
