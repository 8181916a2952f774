"""The only interface between the core and the network.

The core never waits. ``poll()`` returns what has happened, without blocking. How long to wait before the next call is
up to the driver, which knows the sockets and the deadline that ``ProducerCore.run_once`` returned. The same core
therefore runs on real sockets and in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import msgspec

from harness.wire.primitives import Data

Jitter = Callable[[], float]
"""Returns a new number in [-1, 1] at each call. It is the core's only source of randomness, and is injected."""

INT32_MAX = 2**31 - 1

Address = tuple[str, int]
"""A resolved IP address and a port, to which a connection needs no further lookup."""


@dataclass(frozen=True, slots=True)
class Node:
    """A broker by name. Bootstrap servers have the ids -1, -2, ... until Metadata supplies the real ids.

    ``rack`` is the broker's, if it has one. A node stays the same if its rack changes.
    """

    id: int
    host: str
    port: int
    rack: str | None = field(default=None, compare=False)


class ChannelState(Enum):
    """The state of a connection when it ended (ChannelState in Java). The core reacts to each differently."""

    NOT_CONNECTED = "NOT_CONNECTED"
    """It could not be established."""
    AUTHENTICATE = "AUTHENTICATE"
    """It ended during authentication, without a reason."""
    AUTHENTICATION_FAILED = "AUTHENTICATION_FAILED"
    """The broker or the mechanism refused the credentials."""
    READY = "READY"
    """It was established, and then lost."""
    FAILED_SEND = "FAILED_SEND"
    """A frame could not be written."""
    INVALID_RECEIVE = "INVALID_RECEIVE"
    """The broker announced a frame with an invalid size."""


@dataclass(frozen=True, slots=True)
class Disconnection:
    """Why a connection ended: the kind, and one sentence."""

    state: ChannelState
    detail: str


class Polled(msgspec.Struct):
    """What happened on the network since the last poll, by node id.

    ``received`` has at most one frame per node (NET-INF-09), in order of arrival. A frame that was read before its
    connection ended is returned in an earlier poll than the end. No node is both connected and disconnected in one
    poll. After ``close``, nothing about the old connection is reported.
    """

    connected: list[int] = []
    completed_sends: list[int] = []
    received: list[tuple[int, Data]] = []
    disconnected: dict[int, Disconnection] = {}


class Selector(Protocol):
    """Connections by node id. ``poll`` reports a connection that fails. Methods do not raise for it."""

    def resolve(self, host: str, port: int) -> tuple[Address, ...] | None:
        """Return the addresses that a name currently resolves to, in the resolver's order. Empty if it is unknown.

        None if that needs a lookup that takes time. A later call, after another poll, then returns its result.
        """

    def connect(self, node_id: int, address: Address) -> None:
        """Start to connect. ``poll`` reports the result as connected or disconnected."""

    def send(self, node_id: int, data: bytes) -> bool | None:
        """Start to write one whole frame. Only one frame per node may be in progress.

        Return True if the whole frame has been written already. ``poll`` then does not report it as a completed send.
        """

    def poll(self) -> Polled:
        """Return everything that happened since the last call. Never blocks."""

    def close(self, node_id: int) -> None:
        """Close the connection, if there is one. ``poll`` does not report it."""
