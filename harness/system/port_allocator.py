"""A block of neighbouring free TCP ports that one run has to itself.

The range lies below 32768, where Linux begins to give ports to outgoing connections. It is cut into granules; a run
claims as many as it needs. A claim is a bound abstract Unix socket: such names have the scope of the ports themselves
(the network namespace), hold between all users and containers that share it, and vanish with the process. Then every
port is tried. A port that still has a connection in TIME_WAIT counts as taken: a client that outlived an earlier run
must never find a broker of ours behind an old address.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from harness.model.errors import EnvironmentProblem

FIRST, LAST = 20_000, 32_767
GRANULE = 32


class PortsExhausted(EnvironmentProblem):
    """No block of the wanted size is free."""


@contextmanager
def port_block(count: int) -> Iterator[range]:
    """``count`` neighbouring ports, free on 127.0.0.1, which no other run is given meanwhile.

    They are not held open: whoever needs one binds it. PortsExhausted: there is no such block.
    """
    if count < 1:
        raise ValueError(f"a block of {count} ports")
    width = -(-count // GRANULE) * GRANULE
    for start in range(FIRST, LAST + 2 - width, GRANULE):
        ports = range(start, start + count)
        with ExitStack() as claims:
            if all(_claim(granule, claims) for granule in range(start, start + width, GRANULE)) and all(
                map(_is_free, ports)
            ):
                yield ports
                return
    raise PortsExhausted(
        f"no {count} neighbouring TCP ports are free on 127.0.0.1 between {FIRST} and {LAST}",
        hint="ss -Htlnp src 127.0.0.1",
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
