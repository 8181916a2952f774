"""The clients of one simulated trial: one for each producer of its load, stepped together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from harness.model.contract import WHOLE_OPS, AnyEvent, Close, Flush, LoadCommand, OpComplete
from harness.model.evidence import PRODUCER
from harness.model.parts import BY
from harness.simulated.network import Network
from harness.simulated.ports import SimulatedClient
from harness.simulated.stepping import step_all


class SimulatedProducers:
    """Clients by the name of their producer, in the order in which they act at one moment."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._of: dict[str, SimulatedClient] = {}
        self._asked = self._settled = 0
        self._ended: Counter[int] = Counter()

    def add(self, name: str, client: SimulatedClient) -> None:
        """Add a producer that has started."""
        self._of[name] = client

    @property
    def trace(self) -> Sequence[Any]:
        """What the clients decided. The rows of all but the first producer name it."""
        return [row for name, each in self._of.items() for row in _by(name, each.trace)]

    @property
    def settled(self) -> bool:
        """True if every record that was handed over has a result."""
        return self._settled >= self._asked

    def load(self, name: str, command: LoadCommand) -> None:
        """Give a command to one producer."""
        self._asked += command.count
        self._of[name].load(command)

    def flush(self, command: Flush) -> Callable[[], bool]:
        """Make all producers flush. Return what is true once all have."""
        for each in self._of.values():
            each.flush(command)
        return self._all_ended(command.id)

    def close(self, command: Close) -> Callable[[], bool]:
        """Close all producers. Return what is true once all have ended."""
        for each in self._of.values():
            each.close(command)
        return self._all_ended(command.id)

    def finish(self) -> None:
        """Do nothing: what producers leave is in the log."""

    def step(self, now_ns: int) -> int | None:
        """Step all producers. Return when the next of them is due, or None."""
        if len(self._of) == 1:
            [only] = self._of.values()
            return only.step(now_ns)
        return step_all(self._network, self._of.values(), now_ns)

    def heard(self, event: AnyEvent) -> None:
        """Process an event of a producer."""
        if isinstance(event, OpComplete):
            if event.op in WHOLE_OPS:
                self._ended[event.id] += 1
            else:
                self._settled += len(event.records)

    def _all_ended(self, id: int) -> Callable[[], bool]:
        return lambda: self._ended[id] >= len(self._of)


def heard_as(names: Sequence[str], name: str, hear: Callable[[AnyEvent], None]) -> Callable[[AnyEvent], None]:
    """Return a function that passes a producer's events on, with its name if there are several producers."""
    return hear if len(names) == 1 else lambda event: hear(replace(event, producer=name))


def _by(name: str, rows: Sequence[Any]) -> Sequence[Any]:
    return rows if name == PRODUCER else [{**msgspec.to_builtins(row), BY: name} for row in rows]
