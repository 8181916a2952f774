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

    Each client resets ``network.news``, which is about the connections of all of them.
    """
    news, more = network.news, False
    due = []
    for each in clients:
        network.news = news
        due_ns = each.step(now_ns)
        more = more or network.news
        if due_ns is not None:
            due.append(due_ns)
    network.news = more
    return min(due, default=None)
