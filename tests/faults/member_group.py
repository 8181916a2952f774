"""A group of processes that read a file in place of a broker, and faults on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

from harness.adapter.member import MemberConversation
from harness.model.consumer_contract import (
    RecordsConsumed,
    Subscribe,
)
from harness.model.contract import AnyEvent
from harness.model.evidence import Evidence
from harness.model.payload import Identity, encode
from harness.model.rows import FaultRow, Phases
from harness.model.spec import AtTime, ClientRef, FaultSpec
from harness.model.written import Written
from harness.plugins.fault import LiveLane
from harness.plugins.registry import fault
from harness.running.members import Members
from testkit.members import FileContents, launch

TOPIC = "t"
LONG_MS = 600_000
#: The program of :mod:`testkit.members`, as a client.
COMPANION = ClientRef("members", "1")


class Group:
    """Two members of a file's group, the history of their trial, and faults on them."""

    def __init__(
        self, folder: Path, owners: int = 0, companions: Mapping[str, ClientRef] = MappingProxyType({})
    ) -> None:
        self.history: list[AnyEvent] = []
        file = folder / "records"
        self.members = Members(
            ("m1", "m2"),
            lambda name, hear: MemberConversation(launch(file), folder / f"{name}.log", hear),
            Subscribe(0, [TOPIC]),
            FileContents(file),
            TOPIC,
            self._hear,
            owners=owners,
            companions=companions,
        )
        self.lane = LiveLane((), None, None, TOPIC, 1, self.members)  # type: ignore[arg-type]
        self._written = 0
        self._news = asyncio.Event()

    def _hear(self, event: AnyEvent) -> None:
        self.history.append(event)
        self._news.set()

    async def write(self) -> int:
        """Write one record and return its number."""
        n = self._written
        self._written += 1
        value = encode(Identity("r", TOPIC, "p1", n), 0)
        await self.members.load("", Written(0, TOPIC, n, [None], [value], [0]))
        return n

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait for ``seen()`` after an event."""
        async with asyncio.timeout(30):
            while not seen():
                self._news.clear()
                await self._news.wait()

    def of(self, kind: type[AnyEvent], process: str) -> list[AnyEvent]:
        """Return the events of a kind of a process."""
        return [event for event in self.history if isinstance(event, kind) and event.producer == process]

    async def delivered_to(self, process: str) -> None:
        """Write a record and wait until the process delivers it."""
        await self.write()
        before = len(self.of(RecordsConsumed, process))
        await self.until(lambda: len(self.of(RecordsConsumed, process)) > before)

    async def under(self, kind: str, during: Callable[[], object], **params: int) -> int:
        """Inject a fault on the first member, await what ``during`` returns, heal, and return the fault's effect."""
        spec = FaultSpec(kind, AtTime(0), LONG_MS, params)
        began_ns = asyncio.get_running_loop().time() * 1e9
        await fault(kind).inject_live(spec, self.lane)
        await during()  # type: ignore[misc]
        await fault(kind).heal_live(spec, self.lane)
        ended_ns = asyncio.get_running_loop().time() * 1e9
        row = FaultRow(0, spec, None, (int(began_ns) - 1, int(ended_ns) + 1))
        record = SimpleNamespace(phases=Phases())
        evidence = Evidence(record, tuple(self.history), (), (row,), ())  # type: ignore[arg-type]
        return fault(kind).effect(row, evidence).count


def played(folder: Path, play: Callable[[Group], object], owners: int = 0) -> Group:
    """Run a group with two members, and close it."""
    group = Group(folder, owners)

    async def run() -> None:
        async with group.members:
            await group.members.startup(30)
            await group.members.configure("r", {}, role="consumer", own={})
            await play(group)  # type: ignore[misc]
            await group.members.close(10_000)

    asyncio.run(run())
    return group
