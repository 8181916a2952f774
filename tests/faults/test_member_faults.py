"""Faults that act on members of a group, tried on processes that read a file in place of a broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.consumer_contract import (
    ConsumerError,
    OffsetsCommitted,
    PartitionsAssigned,
    RecordsConsumed,
    Subscribe,
)
from harness.model.contract import ShutdownComplete, Stats
from harness.model.harness_events import (
    HARNESS,
    GroupCommitted,
    MemberCalled,
    MemberFrozen,
    MemberKilled,
    MemberStarted,
    MemberThawed,
    RecordsWritten,
)
from harness.running import members
from tests.faults.member_group import TOPIC, Group, played


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
    "commit_now",
    client="the process reports the result of each commit for which the application waited",
    broker="the coordinator stores the offsets",
    untouched="the other member commits nothing meanwhile",
)
def test_a_member_commits_what_it_has_processed(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            await group.delivered_to("m1")

        await group.delivered_to("m1")
        assert await group.under("commit_now", during, times=2) == 2

    group = played(tmp_path, play)
    made = [event for event in group.of(OffsetsCommitted, "m1") if event.how == "sync"]  # type: ignore[attr-defined]
    assert len(made) == 2 and not group.of(OffsetsCommitted, "m2")


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


@pytest.mark.control(
    "illegal_calls",
    client="the process tells how both attempts ended, and delivers records after it has begun anew",
    broker="not asked: the client is to refuse before it asks a broker",
    untouched="the other member makes no call, and delivers records",
)
def test_a_member_that_makes_illegal_calls_begins_anew(tmp_path: Path) -> None:
    async def play(group: Group) -> None:
        async def during() -> None:
            await group.delivered_to("m1")
            await group.delivered_to("m2")

        assert await group.under("illegal_calls", during) == 2

    group = played(tmp_path, play)
    asked = [event for event in group.of(MemberCalled, "m1") if isinstance(event, MemberCalled)]
    assert [(each.op, each.call) for each in asked] == [("attempt", "assign"), ("attempt", "poll")]
    assert len(group.of(PartitionsAssigned, "m1")) == 2
    assert not group.of(MemberCalled, "m2")


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
