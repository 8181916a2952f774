"""Make connections whose source port is known before anyone can accept them.

A broker logs the source port of every connection that it accepted. To recognise the harness's own connections there,
each port must be known before the connection attempt: an attempt that was abandoned may still have been accepted.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import Counter

from harness.model.addresses import Address

#: The source addresses, in the order of use. A bound port stays taken for a minute after its connection has ended. With
#: only one address, a client that opens and closes thousands of connections would use up the ports of all lanes.
LOOPBACK = tuple(f"127.0.0.{number}" for number in range(1, 255))


async def dial(address: Address, dialled: Counter[int]) -> socket.socket:
    """Return a connected socket. Its source port is counted in ``dialled`` before it connects.

    Raises OSError as ``connect`` does. The port is then uncounted, since no connection was accepted.
    """
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        _bind(connection)
        port = connection.getsockname()[1]
        dialled[port] += 1
        try:
            await asyncio.get_running_loop().sock_connect(connection, address)
        except OSError:
            dialled[port] -= 1
            raise
    except BaseException:
        connection.close()
        raise
    return connection


def _bind(connection: socket.socket) -> None:
    for host in LOOPBACK:
        try:
            connection.bind((host, 0))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or host == LOOPBACK[-1]:
                raise
        else:
            return
