"""Why connections end, in words: those that end by themselves and those that the client ends."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from clients.reference.ports import ChannelState, Disconnection


class LocalEnd(Enum):
    """Why the client itself ended a connection, beside the ChannelStates of those that ended by themselves."""

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
    """The transport's sentence, behind what it usually means."""
    hint = _HINTS.get(disconnection.state)
    return f"{hint}: {disconnection.detail}" if hint else disconnection.detail
