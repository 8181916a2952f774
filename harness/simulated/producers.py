"""The clients of one simulated trial: one for each producer of its load, stepped together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from harness.model.contract import AnyEvent, Close, Flush, LoadCommand
from harness.model.evidence import PRODUCER
from harness.model.parts import BY
from harness.simulated.network import Network
from harness.simulated.ports import SimulatedClient


class SimulatedProducers:
    """Clients by the name of their producer, in the order in which they act at one moment."""

    def __init__(self, network: Network, clients: dict[str, SimulatedClient]) -> None:
        self._network, self._of = network, clients

    @property
    def trace(self) -> Sequence[Any]:
        """What the clients decided. The rows of all but the first producer name it."""
        return [row for name, each in self._of.items() for row in _by(name, each.trace)]

    def load(self, name: str, command: LoadCommand) -> None:
        """Give a command to one producer."""
        self._of[name].load(command)

    def flush(self, command: Flush) -> None:
        """Make all producers flush."""
        for each in self._of.values():
            each.flush(command)

    def close(self, command: Close) -> None:
        """Close all producers."""
        for each in self._of.values():
            each.close(command)

    def step(self, now_ns: int) -> int | None:
        """Step all producers. Return when the next of them is due, or None."""
        if len(self._of) == 1:
            [only] = self._of.values()
            return only.step(now_ns)
        # Each client resets the flag, which is about the connections of all of them.
        news, more = self._network.news, False
        due = []
        for each in self._of.values():
            self._network.news = news
            due_ns = each.step(now_ns)
            more = more or self._network.news
            if due_ns is not None:
                due.append(due_ns)
        self._network.news = more
        return min(due, default=None)


def heard_as(names: Sequence[str], name: str, hear: Callable[[AnyEvent], None]) -> Callable[[AnyEvent], None]:
    """Return a function that passes a producer's events on, with its name if there are several producers."""
    return hear if len(names) == 1 else lambda event: hear(replace(event, producer=name))


def _by(name: str, rows: Sequence[Any]) -> Sequence[Any]:
    return rows if name == PRODUCER else [{**msgspec.to_builtins(row), BY: name} for row in rows]
