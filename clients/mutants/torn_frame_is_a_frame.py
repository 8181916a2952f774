"""If a connection ends within a frame, the incomplete frame is returned like a complete one."""

from __future__ import annotations

from clients.reference.network.channel import Channel
from clients.reference.ports import ChannelState
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant
from harness.wire.primitives import Data


class Greedy(Channel):
    """Returns the rest of the read bytes as a frame."""

    def __init__(self, node_id: int, *given: object) -> None:
        super().__init__(node_id)
        self._read = b""

    def feed(self, data: Data) -> None:
        self._read += data
        super().feed(data)

    def end(self, detail: str, state: ChannelState | None = None) -> None:
        whole = sum(4 + len(frame) for frame in self._frames)
        rest = self._read[whole + 4 :]
        if rest and self.ended is None:
            self._frames.append(rest)
        super().end(detail, state)


MUTANT = Mutant(
    "returns the incomplete frame at the end of a connection as a complete frame",
    Components(channel=Greedy),
    caught_by=("state_transitions/a_torn_frame_is_an_end",),
    breaks=("NET-INF-10",),
)
