"""Connections of ours whose own port is known before anybody can have accepted them.

A broker's log tells of every connection that it accepted, by the port it came from. Who is to say of each whether it is
ours must know its ports first: one that is learned from a connection that stands is not known of one that was given up.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from harness.ports import Address

LOOPBACK = "127.0.0.1"


async def dial(address: Address, told: Callable[[int], object]) -> socket.socket:
    """A connected socket, its own port passed to ``told`` before. OSError as of ``connect``."""
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.bind((LOOPBACK, 0))
        told(connection.getsockname()[1])
        await asyncio.get_running_loop().sock_connect(connection, address)
    except BaseException:
        connection.close()
        raise
    return connection
