"""Reserve a block of contiguous free TCP ports for one run.

The range is below 32768, where Linux's ephemeral ports begin. It is divided into granules, and a run claims as many as
it needs. A claim is a bound abstract Unix socket. Such a name has the same scope as the ports (the network namespace),
is visible to all users and containers in it, and disappears with the process. After the claim, every port is tried. A
port with a connection in TIME_WAIT counts as taken: a client that outlived an earlier run must never reach a new broker
at an old address.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from harness.model.errors import EnvironmentProblem

FIRST, LAST = 20_000, 32_767
GRANULE = 32


class PortsExhausted(EnvironmentProblem):
    """No block of the requested size is free."""


@contextmanager
def port_block(count: int, first: int = FIRST, last: int = LAST) -> Iterator[range]:
    """Reserve ``count`` contiguous ports that are free on 127.0.0.1, so that no other run gets them meanwhile.

    The ports are not held open: their users bind them. Raises PortsExhausted if there is no such block.
    """
    if count < 1:
        raise ValueError(f"a block of {count} ports")
    width = -(-count // GRANULE) * GRANULE
    for start in range(first, last + 2 - width, GRANULE):
        ports = range(start, start + count)
        with ExitStack() as claims:
            if all(_claim(granule, claims) for granule in range(start, start + width, GRANULE)) and all(
                map(_is_free, ports)
            ):
                yield ports
                return
    raise PortsExhausted(
        "ports-exhausted",
        "no {count} neighbouring TCP ports are free on 127.0.0.1 between {first} and {last}",
        hint="ss -Htlnp src 127.0.0.1",
        count=count,
        first=first,
        last=last,
    )


def _claim(granule: int, claims: ExitStack) -> bool:
    name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        name.bind(f"\0kafka-trial-ports-{granule}")
    except OSError:
        name.close()
        return False
    claims.enter_context(name)
    return True


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe, suppress(OSError):
        probe.bind(("127.0.0.1", port))
        return True
    return False
