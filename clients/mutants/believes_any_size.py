"""An invalid frame size does not end the connection: the client waits for bytes that never arrive."""

from __future__ import annotations

from clients.reference.network.channel import Channel
from clients.reference.ports import ChannelState
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Credulous(Channel):
    """Keeps the connection open after an invalid frame size."""

    def end(self, detail: str, state: ChannelState | None = None) -> None:
        if state is not ChannelState.INVALID_RECEIVE:
            super().end(detail, state)


MUTANT = Mutant(
    "waits for a frame of an invalid size",
    Components(channel=Credulous),
    caught_by=("state_transitions/an_impossible_size_ends_the_connection",),
    breaks=("NET-INF-10",),
)
