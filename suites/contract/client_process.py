"""One client process as the cases of the contract see it, with what they ask it to do."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from harness.adapter.member import MemberConversation
from harness.model.contract import AnyEvent, Configured, Setting
from harness.model.spec import OWN, ClientRef, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.plugins.workload import Config, WorkloadKind
from harness.text.sentences import Coded
from harness.trial.patience import LIMITS

ELEMENTS = 3
LIMIT_MS = 1_500
CLOSE_TIMEOUT_MS = 1_000
#: Short waits, as far as the workload has these settings.
SHORT = {"linger.ms": 5, "max.block.ms": 500, "reconnect.backoff.max.ms": 1_000, "request.timeout.ms": 1_000}


class ContractViolation(Coded):
    """The client did something other than the case requires. The message says what."""


class NotConcerned(Exception):
    """A case is not about this client or this workload."""


@dataclass(frozen=True)
class ClientProcess:
    """One client process, its events, how late it may be, an address that refuses it, and what it is asked to do."""

    says: MemberConversation
    heard: list[AnyEvent]
    patience_s: float
    nowhere: str
    workload: WorkloadKind

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the configuration, one of the workload's."""
        known = self.workload.features
        return Guarantee.AT_LEAST_ONCE if Guarantee.AT_LEAST_ONCE in known else next(iter(known))

    def config(self, limit_ms: int = LIMIT_MS) -> dict[str, Setting]:
        """Return a full, legal configuration. ``limit_ms`` is the time for each element."""
        usual = self.workload.config(self.guarantee, {})
        short = SHORT | dict.fromkeys(LIMITS, limit_ms)
        own: Config = {name: value for name, value in short.items() if name in usual}
        where: Config = {"bootstrap.servers": self.nowhere, "client.id": "contract"}
        return self.workload.config(self.guarantee, own) | where

    async def configure(self, config: dict[str, Setting]) -> Configured:
        """Start the client and configure it."""
        await self.says.startup(self.patience_s)
        role = self.workload.role
        return await self.says.configure("contract", "p1", config, role=role, timeout_s=self.patience_s)

    async def load(self) -> None:
        """Give the client a few elements of its work. Raises NotConcerned if the harness does the workload's load."""
        if self.workload.role == "consumer":
            raise NotConcerned
        client = ClientRef("contract", OWN, ("contract",))
        work = Workload(records=ELEMENTS, records_per_command=ELEMENTS, kind=self.workload.name)
        spec = TrialSpec("contract", client, "", "", self.guarantee, 0, work, (), {})
        await self.says.load(self.workload.command(spec, "contract", "contract", range(ELEMENTS)))

    async def must_leave(self, why: str) -> None:
        """Check that the client sends ``shutdown_complete`` and exits with 0."""
        await self.says.ended(self.patience_s)
        if self.says.error is not None:
            raise ContractViolation("ended-after", "after {why}: {error}", why=why, error=self.says.error)


Case = Callable[[ClientProcess], Awaitable[None]]


@contextmanager
def refusing_port() -> Iterator[int]:
    """Yield a port of 127.0.0.1 that is bound and does not listen, so that connections are refused."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
