"""The interfaces of simulated mode: a client that runs in it, and a fault kind that works in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from harness.model.consumer_contract import ConsumerCommand
from harness.model.contract import AnyEvent, Close, Configure, Flush, LoadCommand
from harness.model.dice import Dice
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.simulated.lane import SimulatedLane
from harness.simulated.network import Network

#: Returns the virtual time in nanoseconds.
Clock = Callable[[], int]
Tell = Callable[[AnyEvent], None]


class SimulatedClient(Protocol):
    """A verifiable client in virtual time. Commands return at once, and their results are reported as events.

    Commands that arrive while the application is blocked in a call wait for it, as they would in a program.
    """

    @property
    def trace(self) -> Sequence[Any]:
        """What the client has decided so far, in order (channel A). It only grows at its end, and may be empty."""

    def load(self, command: LoadCommand) -> None:
        """Begin the command's elements. The client reports the result of each, once, in an event."""

    def flush(self, command: Flush) -> None:
        """Report the end once everything before has a result, or after the command's ``timeout_ms``."""

    def close(self, command: Close) -> None:
        """Close within the command's ``timeout_ms``. The client reports nothing afterwards."""

    def step(self, now_ns: int) -> int | None:
        """Do all that is due, and process what the network delivered. Return when the next call is due, or None."""


class SimulatedMember(Protocol):
    """A consumer in virtual time: one member of a group. Calls return at once, and their results are events."""

    def call(self, command: ConsumerCommand) -> None:
        """Let the application do one call, between two turns of its poll loop."""

    def close(self, command: Close) -> None:
        """Close within the command's ``timeout_ms``. The client reports nothing afterwards."""

    def kill(self) -> None:
        """End all connections, as the end of a process does. The client is not stepped any more."""

    def step(self, now_ns: int) -> int | None:
        """Do all that is due, and process what the network delivered. Return when the next call is due, or None."""


@runtime_checkable
class SimulatedClientKind(Protocol):
    """A client kind that can also run in simulated mode."""

    def simulated(
        self, settings: Configure, network: Network, clock: Clock, dice: Dice, tell: Tell
    ) -> SimulatedClient | SimulatedMember | None:
        """Start and configure a client.

        ``clock`` returns the virtual time in nanoseconds, ``dice`` replaces all other randomness, and ``tell`` takes
        the client's events, the first of which is ``startup_complete``. With the role consumer it is a member. Return
        None if the client refuses the settings, after it has reported so in a ``fatal``.
        """


@runtime_checkable
class SimulatedFaultKind(Protocol):
    """The simulated side of a fault kind."""

    def values(self, spec: FaultSpec) -> dict[str, int]:
        """Return all parameters, with defaults. Raise UsageError for one that is unknown or out of bounds."""

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Start the fault in the lane's network or brokers, at the virtual time of the call."""

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Undo ``inject_sim``. Must also work if nothing began, or if the fault has ended by itself."""

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Return how often the fault affected the client, from the witness's frames or the lane's own count."""
