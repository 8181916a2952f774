"""A size that cannot be does not end the connection: the client waits for bytes that never come."""

from __future__ import annotations

from clients.reference.network.channel import Channel
from clients.reference.ports import ChannelState
from clients.reference.producer.producer import Components


class Credulous(Channel):
    """Goes on after a size that cannot be."""

    def end(self, detail: str, state: ChannelState | None = None) -> None:
        if state is not ChannelState.INVALID_RECEIVE:
            super().end(detail, state)


COMPONENTS = Components(channel=Credulous)
