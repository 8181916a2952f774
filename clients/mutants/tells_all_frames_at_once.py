"""A poll returns every frame of a connection, so one busy broker delays all others."""

from __future__ import annotations

from clients.reference.network.channel import Channel
from clients.reference.ports import Polled
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Greedy(Channel):
    """Reports all received frames at once."""

    def report(self, polled: Polled) -> None:
        super().report(polled)
        while self._frames:
            polled.received.append((self.node_id, self._frames.popleft()))


MUTANT = Mutant(
    "returns all frames of a connection in one poll",
    Components(channel=Greedy),
    caught_by=("state_transitions/fragments_make_whole_frames",),
    breaks=("NET-INF-09",),
)
