"""A lane: one isolated path to a cluster. On every broker it is a proxy, a witness behind it, and a listener.

``client -> proxy -> witness -> broker``. The brokers advertise the proxies' addresses, so whoever bootstraps
through a lane stays on it, and a fault on one lane is no business of its neighbours.
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

#: A witness that has not accepted all that waits by then will not.
EMPTY_S = 5.0


@dataclass(frozen=True)
class Lane:
    """One lane of a running cluster, ready for one trial at a time."""

    number: int
    proxies: tuple[Proxy, ...]
    witness: WitnessLane
    server: ProxyServer | None = None

    @property
    def bootstrap(self) -> str:
        """What clients on this lane are given as ``bootstrap.servers``."""
        return ",".join("{}:{}".format(*proxy.address.advertised) for proxy in self.proxies)

    async def assert_pristine(self) -> None:
        """Raise EnvironmentProblem if a fault is left on the lane, or somebody else has been at its proxies.

        No later trial may inherit a fault, and none may rest on what a stranger did.
        """
        if self.server is not None and (told := await self.server.strangers()):
            raise EnvironmentProblem(
                "toxiproxy-used-by-others",
                "lane {lane}: somebody else used its Toxiproxy: {told}",
                lane=self.number,
                told=tuple(told),
            )
        for proxy in self.proxies:
            if not await proxy.pristine():
                raise EnvironmentProblem(
                    "fault-left",
                    "lane {lane}: the proxy of broker {broker} still carries a fault",
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

        A proxy accepts connections faster than it dials for them, and so does the kernel for the witness: of thousands
        many arrive after their client has ended. A broker that owes an answer does not notice that its peer has gone.
        EnvironmentProblem: some connections may be left.
        """
        try:
            for proxy in self.proxies:
                await proxy.disable()
            async with asyncio.timeout(timeout_s):
                await self.witness.empty()
        except OSError as error:  # TimeoutError is one
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
    """A lane of ``cluster``, its witness listening and its proxies enabled; the witness is closed at exit.

    ``dialled`` are the ports of the witnesses that the lane had before; this one's are added.
    """
    addresses = [address for address in cluster.addresses if address.lane == number]
    witness = WitnessLane(number, dialled=dialled)
    try:
        await witness.open(addresses)
        yield Lane(number, tuple([await server.create(address) for address in addresses]), witness, server)
    finally:
        await witness.close()
