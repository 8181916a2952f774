"""What faults want of brokers that have it only once: a setting, a process that is down.

Faults may overlap. Each wants under its own name, and what came last holds; with the end of a fault it is what the last
of the others wants, so that the end of a short one does not end a long one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

V = TypeVar("V")


class Wanted(Generic[V]):
    """What is wanted of one thing, by the names of those who want it."""

    def __init__(self) -> None:
        self._values: dict[str, V] = {}
        self._lock = asyncio.Lock()

    def add(self, name: str, value: V) -> V:
        """Want it; this value holds from now on."""
        self._values.pop(name, None)
        self._values[name] = value
        return value

    def drop(self, name: str) -> V | None:
        """Want it no more: the value that holds from now on, None if nobody wants one. Also where nothing was added."""
        self._values.pop(name, None)
        return next(reversed(self._values.values()), None)

    async def put(self, name: str, value: V, apply: Callable[[V], Awaitable[None]]) -> None:
        """As :meth:`add`, and ``apply`` it; nobody else does so meanwhile."""
        async with self._lock:
            await apply(self.add(name, value))

    async def take_back(self, name: str, apply: Callable[[V | None], Awaitable[None]]) -> None:
        """As :meth:`drop`, and ``apply`` what holds then; nobody else does so meanwhile."""
        async with self._lock:
            await apply(self.drop(name))


_wanted: WeakKeyDictionary[Any, dict[Hashable, Wanted[Any]]] = WeakKeyDictionary()


def wanted(cluster: object, thing: Hashable) -> Wanted[Any]:
    """What is wanted of one thing of a cluster, in either world."""
    return _wanted.setdefault(cluster, {}).setdefault(thing, Wanted())
