"""The members of a group in one trial: client processes that read what the harness writes.

To the runner they behave as one client, as :class:`harness.running.producers.Producers` do: ``load`` writes records
over INTERNAL, and the trial is *settled* while some member got each of them. Faults make members join, die and freeze.

Each process has a name: that of its place in the group (``m1``, ``m2``), and for its successors a number (``m1-2``).
Each is a :class:`harness.adapter.member.MemberConversation` of its own. The harness adds its own events to the history
(:mod:`harness.model.harness_events`).
"""

from __future__ import annotations

import asyncio
import time
from asyncio import Task
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from msgspec.structs import replace

from harness.adapter.member import MemberConversation
from harness.model.consumer_contract import ConsumerCommand, PartitionsAssigned, RecordsConsumed
from harness.model.contract import AnyEvent, Configured, LoadCommand, OpComplete, Setting, StartupComplete
from harness.model.errors import ClientCrashed
from harness.model.harness_events import (
    HARNESS,
    GroupCommitted,
    MemberFrozen,
    MemberKilled,
    MemberStarted,
    MemberThawed,
    RecordsWritten,
)
from harness.model.payload import decode
from harness.model.written import Written
from harness.plugins.cluster import Contents
from harness.running.written import append_all

Event = TypeVar("Event", bound=AnyEvent)
#: How long a command to a member may take. It is a limit for the adapter; slowness of the client is evidence.
CALL_S = 30.0
STARTUP_S = 60.0
#: How long the group may take to gather before records are written.
GATHER_S = 10.0


class Members:
    """The processes of one group: an async context manager that ends all of them at exit.

    ``places`` are the members with which the trial begins. ``conversation`` makes the one with a process, given its
    name and what takes its events. ``begin`` is the first command of each member. ``group`` names the group, which is
    also the topic, and ``is_static`` makes each place a static member. The group has gathered once ``owners`` of its
    processes own partitions.
    """

    def __init__(
        self,
        places: tuple[str, ...],
        conversation: Callable[[str, Callable[[AnyEvent], None]], MemberConversation],
        begin: ConsumerCommand,
        contents: Contents,
        group: str,
        hear: Callable[[AnyEvent], None],
        *,
        is_static: bool = False,
        owners: int = 0,
    ) -> None:
        self._places, self._conversation, self._begin = places, conversation, begin
        self._contents, self._group, self._tell, self._is_static = contents, group, hear, is_static
        self._owners = owners
        self._stack = AsyncExitStack()
        self.held: dict[str, str] = {}
        self.processing_ms: int = getattr(begin, "processing_ms", 0)
        #: Process -> its conversation, and place -> its current process.
        self._of: dict[str, MemberConversation] = {}
        self._now_at: dict[str, str] = {}
        self._spoken: Counter[str] = Counter()
        self._gone: set[str] = set()
        self._owning: set[str] = set()
        self._configure: Callable[[str, MemberConversation], Any] | None = None
        self._wanted: set[int] = set()
        self._got: set[int] = set()
        self._news = asyncio.Event()
        self._watching: list[Task[None]] = []

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self._stack = stack
            for place in self._places:
                await self._open(place)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        for process in self._alive:
            self.thaw(process)
        await self._stack.__aexit__(kind, error, trace)

    # The trial's script.

    async def startup(self, timeout_s: float) -> list[StartupComplete]:
        """Wait until the processes of all places have started."""
        return list(await asyncio.gather(*(self._of[name].startup(timeout_s) for name in self._alive)))

    async def configure(
        self, run_id: str, config: Mapping[str, Setting], *, role: str, own: Mapping[str, str]
    ) -> list[Configured]:
        """Configure each member as a client of the group, let it begin, and wait until the group has gathered.

        A fault on a member that owns nothing yet would show nothing.
        """

        async def configure(process: str, says: MemberConversation) -> Configured:
            place = process.partition("-")[0]
            settings = {**config, "client.id": process, "group.id": self._group}
            if self._is_static:
                settings["group.instance.id"] = place
            return await says.configure(run_id, process, settings, role=role, own=own)

        self._configure = configure
        told = await asyncio.gather(*(configure(name, self._of[name]) for name in self._alive))
        await asyncio.gather(*(self._say(name, self._begin) for name in self._alive))
        await self._gather()
        return list(told)

    async def load(self, name: str, command: LoadCommand) -> None:
        """Write the command's records. They are wanted from now on."""
        assert isinstance(command, Written)
        invoke_ns = time.monotonic_ns()
        self._wanted.update(range(command.first, command.first + command.count))
        partitions, offsets = await append_all(self._contents, command)
        numbers = list(range(command.first, command.first + command.count))
        self._add(
            RecordsWritten,
            HARNESS,
            numbers=numbers,
            partitions=partitions,
            offsets=offsets,
            invoke_ns=invoke_ns,
        )

    async def settle(self, timeout_s: float) -> None:
        """Wait until every record was delivered, for at most this time. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            await self._until(lambda: self.settled)

    async def flush(self, timeout_ms: int) -> None:
        """Wait until every record was delivered, for at most this time: a group has nothing to flush."""
        await self.until(lambda: False, timeout_ms / 1000)

    async def until(self, seen: Callable[[], bool], timeout_s: float) -> None:
        """Wait until every record was delivered or ``seen()`` is true after an event, for at most this time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._until(lambda: self.settled or seen())
        except TimeoutError:
            return

    async def close(self, timeout_ms: int) -> None:
        """Close all members and end their processes. Then read what the group has committed."""
        ended = await asyncio.gather(
            *(self._of[name].close(timeout_ms) for name in self._alive), return_exceptions=True
        )
        grave = [each for each in ended if isinstance(each, BaseException)]
        if others := [each for each in grave if not isinstance(each, ClientCrashed)]:
            raise others[0]
        self._gone.update(self._of)
        committed = await self._contents.committed(self._group)
        self._add(GroupCommitted, HARNESS, group=self._group, offsets=committed)
        if grave:
            raise grave[0]

    @property
    def settled(self) -> bool:
        """True if some member got every record."""
        return self._wanted <= self._got

    @property
    def left_out(self) -> dict[str, int]:
        """The number of numbered events of each process that the contract does not define."""
        return {name: each.left_out for name, each in self._of.items()}

    # Faults.

    @property
    def processes(self) -> tuple[str, ...]:
        """The processes that live, in the order of their start."""
        return tuple(self._alive)

    async def join(self, place: str = "") -> str:
        """Start another process, in a new place or as the successor of the last one in ``place``. Return its name."""
        process = await self._open(place or f"m{len(self._now_at) + 1}")
        says = self._of[process]
        await says.startup(STARTUP_S)
        assert self._configure is not None
        await self._configure(process, says)
        await self._say(process, self._begin)
        return process

    async def kill(self, process: str) -> None:
        """Kill a process at once, as SIGKILL does."""
        self._gone.add(process)
        await self._of[process].kill()
        self._add(MemberKilled, process)

    async def leave(self, process: str, timeout_ms: int) -> None:
        """Close one member in an orderly way."""
        self._gone.add(process)
        await self._of[process].close(timeout_ms)

    def freeze(self, process: str) -> None:
        """Stop a process (SIGSTOP): its connections stay open, and it does nothing."""
        self._of[process].freeze()
        self._add(MemberFrozen, process)

    def thaw(self, process: str) -> None:
        """Continue a stopped process."""
        if self._of[process].thaw():
            self._add(MemberThawed, process)

    async def call(self, process: str, command: ConsumerCommand) -> OpComplete | None:
        """Ask a member for one call, and return its end, or None if there was none in time."""
        return await self._of[process].call(command, CALL_S)

    # Processes.

    async def _open(self, place: str) -> str:
        turn = sum(name.partition("-")[0] == place for name in self._of) + 1
        process = place if turn == 1 else f"{place}-{turn}"

        def hear(event: AnyEvent) -> None:
            self._spoken[process] = event.seq + 1
            self._hear(replace(event, producer=process))

        says = self._of[process] = self._conversation(process, hear)
        self._now_at[place] = process
        await self._stack.enter_async_context(says)
        self._add(MemberStarted, HARNESS, member=process)
        self._watching.append(asyncio.get_running_loop().create_task(self._watch(says)))
        return process

    async def _gather(self) -> None:
        """Wait until the group has gathered, a member has ended, or the time has passed. What follows shows why."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GATHER_S):
                while len(self._owning) < self._owners and all(
                    self._of[name].error is None for name in self._alive
                ):
                    self._news.clear()
                    await self._news.wait()

    async def _watch(self, says: MemberConversation) -> None:
        """Wake those who wait once a process has ended."""
        await says.over()
        self._news.set()

    async def _say(self, process: str, command: ConsumerCommand) -> None:
        await self._of[process].call(command, CALL_S)

    @property
    def _alive(self) -> list[str]:
        return [name for name in self._of if name not in self._gone]

    def _hear(self, event: AnyEvent) -> None:
        if isinstance(event, RecordsConsumed):
            for part in event.partitions:
                found = (decode(value) for value in part.values)
                self._got.update(each.n for each in found if each is not None and each.trial == self._group)
        elif isinstance(event, PartitionsAssigned) and event.partitions:
            self._owning.add(str(event.producer))
        self._tell(event)
        self._news.set()

    async def _until(self, seen: Callable[[], bool]) -> None:
        """Wait for ``seen()`` after an event. Raises the error of a member that ended by itself."""
        while not seen():
            for name in self._alive:
                if (error := self._of[name].error) is not None:
                    raise error
            self._news.clear()
            await self._news.wait()

    def _add(self, kind: type[Event], process: str, **fields: Any) -> None:
        """Add an event of the harness about a process."""
        event = kind(
            seq=self._spoken[process],
            mono_ns=time.monotonic_ns(),
            wall_ns=time.time_ns(),
            producer=process,
            **fields,
        )
        self._spoken[process] += process == HARNESS
        self._tell(event)
