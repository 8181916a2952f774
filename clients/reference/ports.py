"""The one door between the core and the network.

The core never waits. ``poll()`` hands over what has happened and returns at once; how long to wait before the next
call is the driver's affair, who knows the deadline that ``ProducerCore.run_once`` returned and the sockets.
So the same core runs on real sockets and in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import msgspec

Jitter = Callable[[], float]
"""A number in [-1, 1], a new one at each call: the only dice that the core has, and they are handed in."""

INT32_MAX = 2**31 - 1

Address = tuple[str, int]
"""One address that a name stands for, and a port: what can be connected to without asking anybody."""


@dataclass(frozen=True, slots=True)
class Node:
    """A broker by name. Bootstrap servers have the ids -1, -2, ... until Metadata tells the true ones."""

    id: int
    host: str
    port: int


class ChannelState(Enum):
    """How far a connection had come when it ended (ChannelState in Java): the core reacts to each differently."""

    NOT_CONNECTED = "NOT_CONNECTED"
    """It could not be established."""
    AUTHENTICATE = "AUTHENTICATE"
    """It ended during authentication, without a word about why."""
    AUTHENTICATION_FAILED = "AUTHENTICATION_FAILED"
    """The broker, or the mechanism, refused the credentials."""
    READY = "READY"
    """It was established, and then lost."""
    FAILED_SEND = "FAILED_SEND"
    """A frame could not be written."""
    INVALID_RECEIVE = "INVALID_RECEIVE"
    """The broker announced a frame of a size that cannot be."""


@dataclass(frozen=True, slots=True)
class Disconnection:
    """Why a connection ended: the kind, and one sentence."""

    state: ChannelState
    detail: str


class Polled(msgspec.Struct):
    """What happened on the network since the last poll, by node id.

    At most one ``received`` frame per node (NET-INF-09), in the order in which they arrived; a frame that was read
    before its connection ended is handed over in a poll before the one that reports the end. No node is both
    connected and disconnected in one poll, and after ``close`` nothing of the old connection is reported.
    """

    connected: list[int] = []
    completed_sends: list[int] = []
    received: list[tuple[int, bytes]] = []
    disconnected: dict[int, Disconnection] = {}


class Selector(Protocol):
    """Connections by node id. A connection that fails is reported by ``poll``, never by an exception."""

    def resolve(self, host: str, port: int) -> tuple[Address, ...]:
        """The addresses that a name stands for now, in the resolver's order; none where it is unknown."""

    def connect(self, node_id: int, address: Address) -> None:
        """Begin to connect; the end is reported as connected or disconnected."""

    def send(self, node_id: int, data: bytes) -> bool | None:
        """Write one whole frame. Only one may be under way per node; its end is a completed send.

        True where that end has come already: then ``poll`` does not tell it.
        """

    def poll(self) -> Polled:
        """Everything that happened since the last call; never waits."""

    def close(self, node_id: int) -> None:
        """Drop the connection, if there is one, without a report."""

    def mute(self, node_id: int) -> None:
        """Stop reading: no frame of the connection is handed over until ``unmute``."""

    def unmute(self, node_id: int) -> None:
        """Go on reading."""
