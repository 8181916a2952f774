"""Closing a proxy's listener for one fault, and opening it again when no fault wants it closed any more.

Faults may overlap. Each closes under its own name; the listener opens when the last of them lets go, so that the
end of a short fault does not cut a long one short.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from harness.ports import Proxy


@dataclass
class _Closed:
    by: set[str] = field(default_factory=set)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


_closed: WeakKeyDictionary[Proxy, _Closed] = WeakKeyDictionary()


async def close(proxy: Proxy, name: str) -> None:
    """Close every connection and the listener, in the name of ``name``."""
    state = _closed.setdefault(proxy, _Closed())
    async with state.lock:
        state.by.add(name)
        await proxy.disable()


async def reopen(proxy: Proxy, name: str) -> None:
    """Let go of the listener; it opens unless somebody else holds it closed. Also right after a failed close."""
    state = _closed.setdefault(proxy, _Closed())
    async with state.lock:
        state.by.discard(name)
        if not state.by:
            await proxy.enable()
