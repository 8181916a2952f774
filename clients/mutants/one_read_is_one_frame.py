"""The bytes of one read are taken for one frame, so a frame that arrives in pieces is lost."""

from __future__ import annotations

from clients.reference.network.channel import Channel
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant
from harness.wire.primitives import Data


class Naive(Channel):
    """Discards the incomplete frame before each read."""

    def feed(self, data: Data) -> None:
        self._reader = type(self._reader)()
        super().feed(data)


MUTANT = Mutant(
    "treats the bytes of one read as one frame",
    Components(channel=Naive),
    caught_by=("state_transitions/fragments_make_whole_frames",),
    breaks=("NET-INF-10",),
)
