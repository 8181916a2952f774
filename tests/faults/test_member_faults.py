"""Faults that act on members of a group, tried on processes that read a file in place of a broker."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import psutil
import pytest

from harness.adapter.member import MemberConversation
from harness.model.consumer_contract import (
    ConsumerError,
    PartitionsAssigned,
    RecordsConsumed,
    Subscribe,
    Wakeup,
)
from harness.model.contract import AnyEvent, ShutdownComplete, StartupComplete, Stats
from harness.model.errors import ClientBroken, KafkaTrialError
from harness.model.evidence import Evidence
from harness.model.harness_events import (
    HARNESS,
    GroupCommitted,
    MemberFrozen,
    MemberKilled,
    MemberStarted,
    MemberThawed,
    RecordsWritten,
)
from harness.model.payload import Identity, encode
from harness.model.rows import FaultRow, Phases
from harness.model.spec import AtTime, ClientRef, FaultSpec
from harness.model.written import Written
from harness.plugins.fault import LiveLane
from harness.plugins.registry import fault
from harness.running import members
from harness.running.members import Members
from testkit.codes import raises_code
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


@pytest.mark.control(
    "member_join",
    client="another process of the client joins, delivers records, and closes at the end",
    broker="not asked: the scenarios with the fault see its rebalances",
    untouched="the other member delivers records during the fault and afterwards",
)
def test_a_member_joins_and_leaves(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            await group.delivered_to("m3")
            assert group.members.processes == ("m1", "m2", "m3")

        assert await group.under("member_join", during) == 1
        assert group.members.processes == ("m1", "m2")
        await group.delivered_to("m1")

    group = played(tmp_path, play)
    assert group.of(ShutdownComplete, "m3")


@pytest.mark.control(
    "member_kill",
    client="the process ends without a word; a successor in its place delivers records at the end",
    broker="not asked: the scenarios with the fault see the member expire",
    untouched="the other member delivers records during the fault and afterwards",
)
def test_a_killed_member_is_succeeded(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            assert group.members.processes == ("m2",)
            await group.delivered_to("m2")

        assert await group.under("member_kill", during) == 1
        await group.delivered_to("m1-2")

    group = played(tmp_path, play)
    of_it = [event for event in group.history if event.producer == "m1"]
    assert isinstance(of_it[-1], MemberKilled) and of_it[-1].seq == of_it[-2].seq + 1
    assert not group.of(ShutdownComplete, "m1") and group.of(ShutdownComplete, "m1-2")


@pytest.mark.control(
    "member_leave",
    client="the process closes and ends; a successor in its place delivers records at the end",
    broker="not asked: the scenarios with the fault see the member leave",
    untouched="the other member delivers records during the fault and afterwards",
)
def test_a_leaving_member_is_succeeded(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            assert group.members.processes == ("m2",)
            await group.delivered_to("m2")

        assert await group.under("member_leave", during) == 1
        await group.delivered_to("m1-2")

    group = played(tmp_path, play)
    assert group.of(ShutdownComplete, "m1") and not group.of(MemberKilled, "m1")


@pytest.mark.control(
    "member_freeze",
    client="the process reports nothing until the end, and goes on then",
    broker="not asked: the scenarios with the fault see the member expire",
    untouched="the other member delivers records during the fault and afterwards",
)
def test_a_frozen_member_says_nothing(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            frozen = group.of(MemberFrozen, "m1")
            assert len(frozen) == 1
            for _ in range(5):
                await group.delivered_to("m2")
            # What it had written before it stopped may still arrive.
            assert all(event.mono_ns <= frozen[0].mono_ns for event in group.of(Stats, "m1"))

        await group.under("member_freeze", during)
        await group.delivered_to("m1")

    group = played(tmp_path, play)
    assert group.of(MemberThawed, "m1")


@pytest.mark.control(
    "slow_processing",
    client="the process reports records only after it has worked as long as the fault demands",
    broker="not asked: members commit later",
    untouched="the other member delivers records during the fault and afterwards",
)
def test_a_slow_member_works_longer(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            await group.delivered_to("m1")
            await group.delivered_to("m2")

        assert await group.under("slow_processing", during, processing_ms=200) >= 1

    group = played(tmp_path, play)
    slow = [each for each in group.of(RecordsConsumed, "m1") if each.mono_ns - each.polled_ns >= 200_000_000]  # type: ignore[attr-defined]
    assert slow and all(
        each.mono_ns - each.polled_ns < 200_000_000 for each in group.of(RecordsConsumed, "m2")
    )  # type: ignore[attr-defined]


@pytest.mark.control(
    "wakeup",
    client="the process reports one exception for each time, and delivers records afterwards",
    broker="not asked: the client is interrupted before it asks a broker",
    untouched="the other member reports no exception",
)
def test_an_interrupted_member_goes_on(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            await group.delivered_to("m1")

        assert await group.under("wakeup", during, times=3) == 3

    group = played(tmp_path, play)
    assert len(group.of(ConsumerError, "m1")) == 3 and not group.of(ConsumerError, "m2")


@pytest.mark.control(
    "listener_throws",
    client="the process reports the exception at its next assignment, and none after the fault",
    broker="not asked: a listener is no part of the protocol",
    untouched="the other member is assigned partitions without an exception",
)
def test_a_listener_throws_until_the_fault_ends(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            for process in ("m1", "m2"):
                await group.members.call(process, Subscribe(0, [TOPIC]))
            await group.delivered_to("m1")

        assert await group.under("listener_throws", during, callback=0, times=2) == 1
        await group.members.call("m1", Subscribe(0, [TOPIC]))
        await group.delivered_to("m1")

    group = played(tmp_path, play)
    assert len(group.of(ConsumerError, "m1")) == 1 and not group.of(ConsumerError, "m2")


@pytest.mark.control(
    "pause_partitions",
    client="the process delivers nothing until the end, and then all that it has not delivered",
    broker="not asked: a client that has paused asks for nothing",
    untouched="the other member delivers records during the fault",
)
def test_a_paused_member_delivers_later(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            before = len(group.of(RecordsConsumed, "m1"))
            for _ in range(5):
                await group.delivered_to("m2")
            assert len(group.of(RecordsConsumed, "m1")) == before

        await group.delivered_to("m1")
        await group.under("pause_partitions", during)
        await group.delivered_to("m1")

    group = played(tmp_path, play)
    offsets = _offsets(group, "m1")
    assert len(offsets) >= 6 and offsets == list(range(len(offsets)))


@pytest.mark.control(
    "seek_back",
    client="the process delivers again all that it had delivered",
    broker="not asked: the scenarios with the fault see its requests",
    untouched="the other member delivers each record once",
)
def test_a_member_that_seeks_back_delivers_again(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            await group.delivered_to("m1")

        for _ in range(3):
            await group.delivered_to("m1")
        assert await group.under("seek_back", during) == 3
        await group.delivered_to("m2")

    group = played(tmp_path, play)
    assert _offsets(group, "m1")[:6] == [0, 1, 2, 0, 1, 2]
    assert _offsets(group, "m2") == list(range(len(_offsets(group, "m2"))))


def test_successors_of_a_companion_are_companions(tmp_path: Path) -> None:
    group = Group(tmp_path, companions={"m2": COMPANION})

    async def run() -> None:
        async with group.members as client:
            assert len(await client.startup(30)) == 1
            assert len(await client.configure("r", {}, role="consumer", own={"k": "v"})) == 1
            await client.kill("m2")
            await client.join("m2")
            await client.join()
            await client.close(10_000)

    asyncio.run(run())
    started = [event for event in group.history if isinstance(event, MemberStarted)]
    assert {each.member: each.companion for each in started} == {
        "m1": "",
        "m2": str(COMPANION),
        "m2-2": str(COMPANION),
        "m3": "",
    }


def test_a_companion_of_another_version_is_refused(tmp_path: Path) -> None:
    group = Group(tmp_path, companions={"m2": ClientRef("members", "other")})

    async def run() -> None:
        async with group.members as client:
            with raises_code(ClientBroken, "client-version-differs"):
                await client.startup(30)

    asyncio.run(run())


def test_a_companion_that_ends_is_no_failure_of_the_client(tmp_path: Path) -> None:
    group = Group(tmp_path, companions={"m2": COMPANION})

    async def run() -> None:
        async with group.members as client:
            await client.startup(30)
            await client.configure("r", {}, role="consumer", own={})
            await client.freeze("m1")
            os.kill(_adapter_of(client, "m2"), signal.SIGKILL)
            await group.write()
            with raises_code(KafkaTrialError, "companion-ended"):
                await client.settle(30)

    asyncio.run(run())


def _adapter_of(members: Members, process: str) -> int:
    """Return the process id of a member's program, below its keeper."""
    [found] = psutil.Process(members._of[process]._child.pid).children()
    return found.pid


def test_a_frozen_member_can_be_killed(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def kill() -> None:
            await group.under("member_kill", nothing)

        async def nothing() -> None:
            assert group.members.processes == ("m2",)

        await group.under("member_freeze", kill)

    group = played(tmp_path, play)
    assert isinstance([event for event in group.history if event.producer == "m1"][-1], MemberKilled)
    assert not group.of(MemberThawed, "m1")


def test_a_member_that_joined_can_be_killed(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def kill_it() -> None:
            await group.under("member_kill", nothing, member=3)

        async def nothing() -> None:
            assert group.members.processes == ("m1", "m2")

        await group.under("member_join", kill_it)
        assert group.members.processes == ("m1", "m2", "m3-2")

    group = played(tmp_path, play)
    assert group.of(MemberKilled, "m3") and not group.of(ShutdownComplete, "m3")


def test_a_fault_finds_no_member(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def again() -> None:
            assert group.members.processes == ()
            assert await group.under("member_freeze", nothing) == 0

        async def kill_another() -> None:
            await group.under("member_kill", again, member=2)

        async def nothing() -> None:
            pass

        await group.under("member_kill", kill_another)
        assert group.members.processes == ("m2-2", "m1-2")

    played(tmp_path, play)


def test_a_call_ends_with_its_member(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        await group.members.freeze("m1")
        asked = asyncio.create_task(group.members.call("m1", Wakeup(0)))
        await asyncio.sleep(0)
        await group.members.kill("m1")
        assert await asked is None

    played(tmp_path, play)


def test_no_fault_acts_on_a_member_that_has_not_begun(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        joining = asyncio.create_task(group.members.join())
        await group.until(lambda: bool(group.of(StartupComplete, "m3")))
        assert group.members.processes == ("m1", "m2")
        await joining
        assert group.members.processes == ("m1", "m2", "m3")

    played(tmp_path, play)


def _offsets(group: Group, process: str) -> list[int]:
    """Return the offsets that a process has delivered, in order."""
    return [
        offset
        for event in group.history
        if isinstance(event, RecordsConsumed) and event.producer == process
        for part in event.partitions
        for offset in part.offsets
    ]


def test_a_group_is_settled_once_some_member_got_each_record(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        for _ in range(3):
            await group.write()
        await group.members.settle(30)
        assert group.members.settled

    group = played(tmp_path, play)
    told = [event for event in group.history if event.producer == HARNESS]
    assert [type(event) for event in told] == [MemberStarted] * 2 + [RecordsWritten] * 3 + [GroupCommitted]
    assert [event.seq for event in told] == list(range(len(told)))


def test_a_group_begins_once_its_members_own_partitions(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        assert all(group.of(PartitionsAssigned, name) for name in group.members.processes)

    played(tmp_path, play, owners=2)


def test_a_group_whose_members_own_nothing_begins_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "GATHER_S", 0.01)

    async def play(group: Group) -> None:
        await group.delivered_to("m1")

    played(tmp_path, play, owners=3)
