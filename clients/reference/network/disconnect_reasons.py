"""The reasons for the end of a connection, in words: for connections that fail and those that the client closes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from clients.reference.ports import ChannelState, Disconnection


class LocalEnd(Enum):
    """Why the client itself closed a connection. ChannelState covers the connections that it did not close."""

    LOCAL_CLOSE = "LOCAL_CLOSE"
    EXPIRED = "EXPIRED"
    SETUP_TIMEOUT = "SETUP_TIMEOUT"
    REQUEST_TIMEOUT = "REQUEST_TIMEOUT"
    REBOOTSTRAP = "REBOOTSTRAP"


_HINTS: Mapping[ChannelState, str] = {
    ChannelState.NOT_CONNECTED: "could not be established, the node may not be available",
    ChannelState.AUTHENTICATE: "ended during authentication, the listener may speak another protocol",
    ChannelState.AUTHENTICATION_FAILED: "failed authentication",
}


def explained(disconnection: Disconnection) -> str:
    """Return the transport's sentence, preceded by its usual meaning."""
    hint = _HINTS.get(disconnection.state)
    return f"{hint}: {disconnection.detail}" if hint else disconnection.detail
