"""The ports of simulated mode: a client that runs inside it, and a fault kind that works in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from harness.model.contract import AnyEvent, Close, Configure, Flush, LoadCommand
from harness.model.dice import Dice
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.simulated.lane import SimulatedLane
from harness.simulated.network import Network

#: The virtual time in nanoseconds.
Clock = Callable[[], int]
Tell = Callable[[AnyEvent], None]


class SimulatedClient(Protocol):
    """A verifiable client in virtual time. Commands return at once; what comes of them is told in events.

    Commands that come while the application is held up in a call wait for it, as they would in a program. ``trace``
    is what the client decided, in order (channel A); it may be empty.
    """

    @property
    def trace(self) -> Sequence[Any]:
        """What it decided so far; it grows at its end only."""

    def load(self, command: LoadCommand) -> None:
        """Each element's end is reported once, in an event."""

    def flush(self, command: Flush) -> None:
        """Its end is told once all that was sent before has a result, or after the command's ``timeout_ms``."""

    def close(self, command: Close) -> None:
        """It is over by the command's ``timeout_ms`` at the latest; nothing is told afterwards."""

    def step(self, now_ns: int) -> int | None:
        """Do all that is due now or that the network brought; when the next call is due by itself, if ever."""


@runtime_checkable
class SimulatedClientKind(Protocol):
    """A client kind that can also run in simulated mode."""

    def simulated(
        self, settings: Configure, network: Network, clock: Clock, dice: Dice, tell: Tell
    ) -> SimulatedClient | None:
        """Start and configure one; None if it refuses the settings, which it has told then."""


@runtime_checkable
class SimulatedFaultKind(Protocol):
    """The simulated side of a fault kind; ``end`` must also work where nothing began."""

    def values(self, spec: FaultSpec) -> dict[str, int]:
        """The parameters, defaults filled in; UsageError for one that does not exist or is out of bounds."""

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Put the fault into the lane's network or brokers, at the virtual time of the call."""

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Undo ``begin``; a fault that was over by itself is fine too."""

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """How often the fault touched the client, by the witness's frames or the lane's own count."""
