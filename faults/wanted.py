"""The values that overlapping faults want for something that a broker has only once: a setting, or being down.

Each fault wants a value under its own name, and the latest one applies. When a fault ends, the latest value of the
others applies, so that the end of a short fault does not end a long one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

V = TypeVar("V")


class Wanted(Generic[V]):
    """The values wanted for one thing, by the names of the faults that want them."""

    def __init__(self) -> None:
        self._values: dict[str, V] = {}
        self._lock = asyncio.Lock()

    def add(self, name: str, value: V) -> V:
        """Want a value; it applies from now on."""
        self._values.pop(name, None)
        self._values[name] = value
        return value

    def drop(self, name: str) -> V | None:
        """Stop wanting a value. Return the value that applies from now on, or None. Works also if nothing was added."""
        self._values.pop(name, None)
        return next(reversed(self._values.values()), None)

    async def put(self, name: str, value: V, apply: Callable[[V], Awaitable[None]]) -> None:
        """Like :meth:`add`, and ``apply`` the value under a lock."""
        async with self._lock:
            await apply(self.add(name, value))

    async def take_back(self, name: str, apply: Callable[[V | None], Awaitable[None]]) -> None:
        """Like :meth:`drop`, and ``apply`` the value that is left, under a lock."""
        async with self._lock:
            await apply(self.drop(name))


_wanted: WeakKeyDictionary[Any, dict[Hashable, Wanted[Any]]] = WeakKeyDictionary()


def wanted(cluster: object, thing: Hashable) -> Wanted[Any]:
    """Return what is wanted for one thing of a cluster, in either mode."""
    return _wanted.setdefault(cluster, {}).setdefault(thing, Wanted())
