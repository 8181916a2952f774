"""Throwing away what passes a proxy in one direction; no connection with a hole in its stream lives on afterwards.

A ``timeout`` toxic reads, acknowledges on the level of TCP, and discards: nobody is ever held back by it. Removing it
makes Toxiproxy close every connection of the proxy.
"""

from __future__ import annotations

from faults.kind import remove
from harness.plugins.proxy import Proxy


async def swallow(proxy: Proxy, toxic: str, stream: str, idle_ms: int = 0) -> None:
    """Discard from now on, on open and on later connections; above 0, end each after ``idle_ms`` without a byte."""
    await proxy.add_toxic(toxic, "timeout", stream, 1.0, timeout=idle_ms)


async def let_through(proxy: Proxy, *toxics: str) -> None:
    """Discard no more, and end every connection; nothing happens where nothing was discarded."""
    for toxic in reversed(toxics):
        await remove(proxy, toxic)
