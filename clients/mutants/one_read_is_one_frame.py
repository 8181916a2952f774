"""What one read brings is taken for one frame: a frame that comes in pieces is lost."""

from __future__ import annotations

from clients.reference.network.channel import Channel
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Naive(Channel):
    """Trusts the network to keep frames together."""

    def feed(self, data: bytes) -> None:
        self._reader = type(self._reader)()
        super().feed(data)


MUTANT = Mutant(
    "takes what one read brings for one frame",
    Components(channel=Naive),
    caught_by=("state_transitions/fragments_make_whole_frames",),
    breaks=("NET-INF-10",),
)
