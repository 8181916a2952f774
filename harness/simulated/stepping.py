"""Stepping several clients of one simulated trial at the same moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from harness.simulated.network import Network


class Steps(Protocol):
    """A simulated client."""

    def step(self, now_ns: int) -> int | None:
        """Do all that is due. Return when the next call is due, or None."""


def step_all(network: Network, clients: Iterable[Steps], now_ns: int) -> int | None:
    """Step the clients one after another. Return when the next of them is due, or None.

    ``network.news`` is about the connections of all of them. Each client looks at its own.
    """
    network.news = False
    return min((due_ns for each in clients if (due_ns := each.step(now_ns)) is not None), default=None)
