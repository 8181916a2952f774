"""The members of a group in one live trial: client processes that read what the harness writes.

To the runner they behave as one client, as :class:`harness.running.producers.Producers` do: ``load`` writes records
over INTERNAL. Faults make members join, die and freeze. Each process is a
:class:`harness.adapter.member.MemberConversation` of its own.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import Task
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar

from harness.adapter import breaches
from harness.adapter.member import MemberConversation
from harness.model.consumer_contract import Assign, ConsumerCommand, PartitionsAssigned, Subscribe
from harness.model.contract import AnyEvent, Configured, LoadCommand, OpComplete, Setting, StartupComplete
from harness.model.errors import ClientBroken, ClientCrashed, KafkaTrialError
from harness.model.harness_events import MemberFrozen, MemberKilled, MemberThawed
from harness.model.spec import ClientRef
from harness.model.written import Written
from harness.planning import unavailable
from harness.plugins.cluster import Contents
from harness.trial.group import Change, Group

#: How long a command to a member may take. It is a limit for the adapter; slowness of the client is evidence.
CALL_S = 30.0
STARTUP_S = 60.0
#: How long the group may take to gather before records are written.
GATHER_S = 10.0

Told = TypeVar("Told")


def _now() -> tuple[int, int]:
    return time.monotonic_ns(), time.time_ns()


class Members(Group[MemberConversation]):
    """The processes of one group: an async context manager that ends all of them at exit.

    ``places`` are the members with which the trial begins. ``conversation`` makes the one with a process, given its
    name and what takes its events. The group has gathered once ``owners`` of its processes own partitions. ``writers``
    are the transactional producers of the load: for the first one, a cluster creates the topic of its transactions.
    """

    def __init__(
        self,
        places: tuple[str, ...],
        conversation: Callable[[str, Callable[[AnyEvent], None]], MemberConversation],
        begin: Subscribe | Assign,
        contents: Contents,
        group: str,
        hear: Callable[[AnyEvent], None],
        *,
        partitions: int = 1,
        writers: tuple[str, ...] = (),
        is_static: bool = False,
        owners: int = 0,
        companions: Mapping[str, ClientRef] = MappingProxyType({}),
        upgrades: Sequence[Change] = (),
    ) -> None:
        super().__init__(
            group,
            begin,
            hear,
            _now,
            store=contents,
            partitions=partitions,
            is_static=is_static,
            companions=companions,
            upgrades=upgrades,
        )
        self._places, self._conversation = places, conversation
        self._contents, self._owners, self._writers = contents, owners, writers
        self._stack = AsyncExitStack()
        self._owning: set[str] = set()
        self._joining: set[str] = set()
        self._configure: Callable[[str], Awaitable[Configured]] | None = None
        self._news = asyncio.Event()
        self._writing_now = asyncio.Lock()
        self._watching: list[Task[None]] = []

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self._stack = stack
            for place in self._places:
                await self._open(self._name(place))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        for process in self.processes:
            await self.thaw(process)
        await self._stack.__aexit__(kind, error, trace)

    @property
    def processes(self) -> tuple[str, ...]:
        """The processes that live and have their first command, in the order of their start."""
        return tuple(name for name in super().processes if name not in self._joining)

    # The trial's script.

    async def startup(self, timeout_s: float) -> list[StartupComplete]:
        """Wait until the processes of all places have started. Return what those of the client under test told.

        Raise a :class:`~harness.model.errors.KafkaTrialError` if a companion is not the client that its place names.
        """
        told = await asyncio.gather(*(self._of[name].startup(timeout_s) for name in self.processes))
        for writer in self._writers:
            await self._writing.prepare(writer)
        for name, each in zip(self.processes, told, strict=True):
            companion = self._companion(name)
            if companion is not None and each.client_version != companion.version:
                raise breaches.other_version(str(companion), each.client_version)
        return self._of_the_tried(told)

    async def configure(
        self, run_id: str, config: Mapping[str, Setting], *, role: str, own: Mapping[str, str]
    ) -> list[Configured]:
        """Configure each member as a client of the group, let it begin, and wait until the group has gathered.

        Return what those of the client under test told; ``own`` are its settings. A fault on a member that owns nothing
        yet would show nothing.
        """

        async def configure(process: str) -> Configured:
            settings = self._settings(process, config)
            mine = own if self._companion(process) is None else {}
            return await self._of[process].configure(run_id, process, settings, role=role, own=mine)

        self._configure = configure
        told = await asyncio.gather(*map(configure, self.processes))
        await asyncio.gather(*(self.call(name, self._begin) for name in self.processes))
        await self._gather()
        return self._of_the_tried(told)

    def _of_the_tried(self, told: Iterable[Told]) -> list[Told]:
        """Return what the client under test told, of what each process did."""
        return [
            each for name, each in zip(self.processes, told, strict=True) if self._companion(name) is None
        ]

    async def load(self, name: str, command: LoadCommand) -> None:
        """Write the command's records. They are wanted from now on."""
        assert isinstance(command, Written)
        await self._write(command)

    async def hold(self) -> None:
        """See :meth:`harness.trial.group.Group.hold`."""
        await super().hold()
        async with self._writing_now:
            return

    async def _write_now(self, command: Written) -> None:
        async with self._writing_now:
            await super()._write_now(command)

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
            *(self._of[name].close(timeout_ms) for name in self.processes), return_exceptions=True
        )
        grave = [each for each in ended if isinstance(each, BaseException)]
        if others := [each for each in grave if not isinstance(each, ClientCrashed)]:
            raise others[0]
        self._gone.update(self._of)
        if self._writing.is_transactional:
            await asyncio.gather(
                *(self._contents.stable(self._group, each) for each in range(self._partitions))
            )
        self._committed(await self._contents.committed(self._group))
        if grave:
            raise grave[0]

    @property
    def left_out(self) -> dict[str, int]:
        """The number of numbered events of each process that the contract does not define."""
        return {name: each.left_out for name, each in self._of.items()}

    # Faults.

    async def join(self, place: str = "") -> str:
        """Start another process, in a new place or as the successor of the last one in ``place``. Return its name.

        No other fault can act on it before it has its first command.
        """
        process = self._name(place)
        self._joining.add(process)
        try:
            await self._open(process)
            await self._of[process].startup(STARTUP_S)
            assert self._configure is not None
            told = await self._configure(process)
            if (lack := unavailable.upgrade(process, self._change(process), told.not_set)) is not None:
                raise lack
            await self.call(process, self._begin)
        finally:
            self._joining.discard(process)
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

    async def freeze(self, process: str) -> None:
        """Stop a process (SIGSTOP): its connections stay open, and it does nothing."""
        self._of[process].freeze()
        self._add(MemberFrozen, process)

    async def thaw(self, process: str) -> None:
        """Continue a stopped process."""
        if self._of[process].thaw():
            self._add(MemberThawed, process)

    async def renew(self, process: str) -> None:
        """Ask a member for its first command again, after it has unsubscribed."""
        await self.call(process, self._begin)

    async def call(self, process: str, command: ConsumerCommand) -> OpComplete | None:
        """Ask a member for one call. Return its end, or None if there was none in time or before the member's own."""
        self._calls(process, command)
        try:
            return await self._of[process].call(command, CALL_S)
        except ClientBroken:
            if process in self._gone:
                return None
            raise

    # Processes.

    async def _open(self, process: str) -> None:
        says = self._of[process] = self._conversation(process, self._listener(process))
        await self._stack.enter_async_context(says)
        self._began(process)
        self._watching.append(asyncio.get_running_loop().create_task(self._watch(says)))

    async def _gather(self) -> None:
        """Wait until the group has gathered, a member has ended, or the time has passed. What follows shows why."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GATHER_S):
                while len(self._owning) < self._owners and all(
                    self._of[name].error is None for name in self.processes
                ):
                    self._news.clear()
                    await self._news.wait()

    def _accounted(self, process: str, error: Exception) -> Exception:
        """Return the error of a process that ended by itself. The end of a companion says nothing about the client."""
        if (companion := self._companion(process)) is None:
            return error
        return KafkaTrialError(
            "companion-ended",
            "{companion}, in the group beside the client under test, ended: {why}",
            companion=companion,
            why=str(error),
        )

    async def _watch(self, says: MemberConversation) -> None:
        """Wake those who wait once a process has ended."""
        await says.over()
        self._news.set()

    def _heard(self, event: AnyEvent) -> None:
        if isinstance(event, PartitionsAssigned) and event.partitions:
            self._owning.add(str(event.producer))
        super()._heard(event)
        self._news.set()

    async def _until(self, seen: Callable[[], bool]) -> None:
        """Wait for ``seen()`` after an event. Raises the error of a member that ended by itself."""
        while not seen():
            for name in self.processes:
                if (error := self._of[name].error) is not None:
                    raise self._accounted(name, error)
            self._news.clear()
            await self._news.wait()
