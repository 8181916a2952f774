"""Taking a proxy's listener away for a fault, and giving it back when no fault needs it away any more.

Faults may overlap. Each acts under its own name, and the listener opens when the last of them releases it, so that the
end of a short fault does not cut a long one short. A listener that is away either refuses connections or leaves them
unanswered. To leave them unanswered, a socket of the harness takes the port and its queue of new connections is full,
so that the operating system drops every further attempt. If one fault asks to refuse and another to leave unanswered,
connections are refused.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from harness.model.addresses import Address
from harness.model.errors import EnvironmentProblem
from harness.plugins.proxy import Proxy


class FullQueue:
    """A port where attempts to connect are neither accepted nor refused. EnvironmentProblem if it is taken."""

    def __init__(self, address: Address) -> None:
        self._listener, self._first = socket.socket(), socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind(address)
        except OSError as error:
            self.close()
            host, port = address
            raise EnvironmentProblem(
                "port-taken", "port {port} of {host} is not available: {why}", host=host, port=port, why=error
            ) from error
        # A queue of 0 has room for one. There is no need to wait: on loopback it is full when the call returns.
        self._listener.listen(0)
        self._first.setblocking(False)
        self._first.connect_ex(address)

    def close(self) -> None:
        """Release the port."""
        self._first.close()
        self._listener.close()


@dataclass
class _Away:
    refused_by: set[str] = field(default_factory=set)
    ignored_by: set[str] = field(default_factory=set)
    queue: FullQueue | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


_away: WeakKeyDictionary[Proxy, _Away] = WeakKeyDictionary()


async def close(proxy: Proxy, name: str) -> None:
    """Close every connection and refuse new ones, in the name of ``name``."""
    state = _away.setdefault(proxy, _Away())
    async with state.lock:
        state.refused_by.add(name)
        _settle_queue(proxy, state)
        await proxy.disable()


async def ignore(proxy: Proxy, name: str) -> None:
    """Close every connection and leave new ones without an answer, in the name of ``name``."""
    state = _away.setdefault(proxy, _Away())
    async with state.lock:
        state.ignored_by.add(name)
        await proxy.disable()
        _settle_queue(proxy, state)


async def reopen(proxy: Proxy, name: str) -> None:
    """Release the listener, which opens unless another fault needs it away. Also works right after a failed close."""
    state = _away.setdefault(proxy, _Away())
    async with state.lock:
        state.refused_by.discard(name)
        state.ignored_by.discard(name)
        _settle_queue(proxy, state)
        if not state.refused_by and not state.ignored_by:
            await proxy.enable()


def _settle_queue(proxy: Proxy, state: _Away) -> None:
    is_wanted = bool(state.ignored_by) and not state.refused_by
    if is_wanted and state.queue is None:
        state.queue = FullQueue(proxy.address.advertised)
    elif not is_wanted and state.queue is not None:
        state.queue.close()
        state.queue = None
