"""The members of a group in one simulated trial, as :class:`harness.running.members.Members` are in a live one.

All act at the same moments, in the order of their start. A frozen member is not stepped: its connections stay open, and
what arrives on them waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.consumer_contract import ConsumerCommand, Position
from harness.model.contract import AnyEvent, Close, Flush, LoadCommand, ShutdownComplete
from harness.model.harness_events import (
    HARNESS,
    GroupCommitted,
    MemberFrozen,
    MemberKilled,
    MemberStarted,
    MemberThawed,
    RecordsWritten,
)
from harness.model.parts import BY
from harness.model.written import Written
from harness.simulated.network import Network
from harness.simulated.ports import SimulatedMember
from harness.simulated.scheduler import NS_PER_MS, WALL_MS_AT_ZERO
from harness.wire.records import BatchBuilder

Start = Callable[[str, str, Callable[[AnyEvent], None]], SimulatedMember]
"""Starts and configures a process, given its name, its place, and what takes its events."""


class SimulatedMembers:
    """The processes of one group, by name. ``begin`` is the first command of each. ``group`` is also the topic."""

    def __init__(
        self,
        network: Network,
        cluster: ScriptedCluster,
        start: Start,
        begin: ConsumerCommand,
        group: str,
        tell: Callable[[AnyEvent], None],
        next_id: Callable[[], int],
    ) -> None:
        self._network, self._cluster, self._start = network, cluster, start
        self._begin, self._group, self._tell, self._next_id = begin, group, tell, next_id
        self.held: dict[str, str] = {}
        self.processing_ms: int = getattr(begin, "processing_ms", 0)
        self._of: dict[str, SimulatedMember] = {}
        self._spoken: dict[str, int] = {HARNESS: 0}
        self._gone: set[str] = set()
        self._frozen: set[str] = set()
        self._places: set[str] = set()

    # The trial's script.

    @property
    def trace(self) -> Sequence[Any]:
        """What the members decided. The rows name their process."""
        return [
            {**msgspec.to_builtins(row), BY: name} for name, each in self._of.items() for row in each.trace
        ]

    def load(self, name: str, command: LoadCommand) -> None:
        """Write the command's records into the log, each to its partition."""
        assert isinstance(command, Written)
        now_ns = self._network.scheduler.now_ns
        offsets = [0] * command.count
        for partition in sorted(set(command.partitions)):
            indexes = [index for index, each in enumerate(command.partitions) if each == partition]
            builder = BatchBuilder()
            for index in indexes:
                key = command.keys[index]
                stamp_ms = WALL_MS_AT_ZERO + now_ns // NS_PER_MS
                builder.append(
                    stamp_ms, None if key is None else key.encode(), command.values[index].encode()
                )
            [base] = self._cluster.fill(command.topic, partition, [builder.build()], now_ns)
            for step, index in enumerate(indexes):
                offsets[index] = base + step
        self._add(
            RecordsWritten,
            HARNESS,
            numbers=list(range(command.first, command.first + command.count)),
            partitions=list(command.partitions),
            offsets=offsets,
            invoke_ns=now_ns,
        )

    def flush(self, command: Flush) -> None:
        """Do nothing: a group has nothing to flush."""

    def close(self, command: Close) -> None:
        """Close all members that live."""
        for name in self.processes:
            self._of[name].close(command)

    def finish(self) -> None:
        """Read what the group has committed."""
        committed = sorted(self._cluster.committed(self._group).items())
        offsets = [Position(topic, partition, each.offset) for (topic, partition), each in committed]
        self._add(GroupCommitted, HARNESS, group=self._group, offsets=offsets)

    def step(self, now_ns: int) -> int | None:
        """Step all members. Return when the next of them is due, or None."""
        # Each client resets the flag, which is about the connections of all of them.
        news, more = self._network.news, False
        due = []
        for name in self.processes:
            if name in self._frozen:
                more = more or news
                continue
            self._network.news = news
            due_ns = self._of[name].step(now_ns)
            more = more or self._network.news
            if due_ns is not None:
                due.append(due_ns)
        self._network.news = more and not self._frozen
        return min(due, default=None)

    # Faults.

    @property
    def processes(self) -> tuple[str, ...]:
        """The processes that live, in the order of their start."""
        return tuple(name for name in self._of if name not in self._gone)

    def join(self, place: str = "") -> str:
        """Start another process, in a new place or as the successor of the last one in ``place``. Return its name."""
        place = place or f"m{len(self._places) + 1}"
        self._places.add(place)
        turn = sum(name.partition("-")[0] == place for name in self._of) + 1
        process = place if turn == 1 else f"{place}-{turn}"

        def hear(event: AnyEvent) -> None:
            self._spoken[process] = event.seq + 1
            if isinstance(event, ShutdownComplete):
                self._gone.add(process)
            self._tell(replace(event, producer=process))

        self._spoken[process] = 0
        self._add(MemberStarted, HARNESS, member=process)
        self._of[process] = self._start(process, place, hear)
        self.call(process, self._begin)
        return process

    def kill(self, process: str) -> None:
        """Kill a process: its connections end, and it does nothing more."""
        self._gone.add(process)
        self._of[process].kill()
        self._add(MemberKilled, process)

    def leave(self, process: str, timeout_ms: int) -> None:
        """Let one member close in an orderly way."""
        self._of[process].close(Close(self._next_id(), timeout_ms))

    def freeze(self, process: str) -> None:
        """Stop a process."""
        self._frozen.add(process)
        self._add(MemberFrozen, process)

    def thaw(self, process: str) -> None:
        """Continue a stopped process."""
        if process in self._frozen:
            self._frozen.discard(process)
            self._network.news = True
            self._add(MemberThawed, process)

    def call(self, process: str, command: ConsumerCommand) -> None:
        """Ask a member for one call."""
        self._of[process].call(replace(command, id=self._next_id()))

    def _add(self, kind: type[Any], process: str, **fields: Any) -> None:
        """Add an event of the harness about a process."""
        now_ns = self._network.scheduler.now_ns
        wall_ns = WALL_MS_AT_ZERO * NS_PER_MS + now_ns
        event = kind(seq=self._spoken[process], mono_ns=now_ns, wall_ns=wall_ns, producer=process, **fields)
        self._spoken[process] += process == HARNESS
        self._tell(event)
