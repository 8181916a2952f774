"""A lane: one isolated path to a cluster. For every broker it has a proxy, a witness after it, and a listener.

``client -> proxy -> witness -> broker``. The brokers advertise the proxies' addresses, so a client that bootstraps
through a lane stays on it. A fault on one lane does not affect other lanes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from harness.model.errors import EnvironmentProblem
from harness.plugins.cluster import Cluster
from harness.plugins.proxy import Proxy, ProxyServer
from harness.witness import WitnessLane

#: If a witness has not accepted all waiting connections by then, it never will.
EMPTY_S = 5.0


@dataclass(frozen=True)
class Lane:
    """A lane of a running cluster, ready for one trial at a time."""

    number: int
    proxies: tuple[Proxy, ...]
    witness: WitnessLane
    server: ProxyServer | None = None

    @property
    def bootstrap(self) -> str:
        """The ``bootstrap.servers`` for clients on this lane."""
        return ",".join("{}:{}".format(*proxy.address.advertised) for proxy in self.proxies)

    async def assert_pristine(self) -> None:
        """Raise EnvironmentProblem if a fault is left on the lane, or if another program has used its proxies.

        Later trials must not inherit a fault or depend on the actions of other programs.
        """
        if self.server is not None and (told := await self.server.strangers()):
            raise EnvironmentProblem(
                "toxiproxy-used-by-others",
                "lane {lane}: another program used its Toxiproxy: {told}",
                lane=self.number,
                told=tuple(told),
            )
        for proxy in self.proxies:
            if not await proxy.pristine():
                raise EnvironmentProblem(
                    "fault-left",
                    "lane {lane}: the proxy of broker {broker} still has a fault",
                    lane=self.number,
                    broker=proxy.address.broker,
                )
        if self.witness.armed:
            names = ", ".join(self.witness.armed)
            raise EnvironmentProblem(
                "rules-left",
                "lane {lane}: the witness still acts on frames, by {names}",
                lane=self.number,
                names=names,
            )

    async def empty(self, timeout_s: float = EMPTY_S) -> None:
        """Reset every connection that a client has left, so that none counts against the next client.

        A proxy accepts connections faster than it dials for them, and so does the kernel for the witness. Of thousands,
        many arrive after their client has ended. A broker that owes a response does not notice that its peer has
        closed. Raise EnvironmentProblem if some connections may be left.
        """
        try:
            for proxy in self.proxies:
                await proxy.disable()
            async with asyncio.timeout(timeout_s):
                await self.witness.empty()
        except OSError as error:  # TimeoutError is an OSError.
            why = error.strerror or f"it takes more than {timeout_s:g} s"
            raise EnvironmentProblem(
                "lane-not-emptied", "lane {lane} cannot be emptied: {why}", lane=self.number, why=why
            ) from error
        finally:
            for proxy in self.proxies:
                await proxy.enable()


@asynccontextmanager
async def open_lane(
    cluster: Cluster, server: ProxyServer, number: int = 0, dialled: Counter[int] | None = None
) -> AsyncIterator[Lane]:
    """Open a lane of ``cluster``: its witness listens, and its proxies are enabled. The witness is closed at exit.

    ``dialled`` has the ports of the lane's earlier witnesses; this witness adds its own.
    """
    addresses = [address for address in cluster.addresses if address.lane == number]
    witness = WitnessLane(number, dialled=dialled)
    try:
        await witness.open(addresses)
        yield Lane(number, tuple([await server.create(address) for address in addresses]), witness, server)
    finally:
        await witness.close()
