"""Members that other faults have ended, and companions, on processes that read a file in place of a broker."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import psutil

from harness.model.consumer_contract import (
    Wakeup,
)
from harness.model.contract import ShutdownComplete, StartupComplete
from harness.model.errors import ClientBroken, KafkaTrialError
from harness.model.harness_events import (
    MemberKilled,
    MemberStarted,
    MemberThawed,
)
from harness.model.spec import ClientRef
from harness.running.members import Members
from testkit.codes import raises_code
from tests.faults.member_group import COMPANION, Group, played


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
