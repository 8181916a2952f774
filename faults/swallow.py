"""Discarding what passes a proxy in one direction; afterwards no connection with a gap in its stream stays open.

A ``timeout`` toxic reads, acknowledges at the level of TCP, and discards, so it never slows the sender down. Removing
it makes Toxiproxy close every connection of the proxy.
"""

from __future__ import annotations

from harness.plugins.fault import remove
from harness.plugins.proxy import Proxy


async def swallow(proxy: Proxy, toxic: str, stream: str, idle_ms: int = 0) -> None:
    """Discard data on open and later connections; above 0, ``idle_ms`` is how long each may be idle before it ends."""
    await proxy.add_toxic(toxic, "timeout", stream, 1.0, timeout=idle_ms)


async def let_through(proxy: Proxy, *toxics: str) -> None:
    """Stop discarding, and end every connection; do nothing if nothing was discarded."""
    for toxic in reversed(toxics):
        await remove(proxy, toxic)
