"""What the members of a group have in common in live and simulated trials.

Each process has a name: that of its place in the group (``m1``, ``m2``), and for its successors a number (``m1-2``).
The trial is *settled* while some member was given each record that the harness wrote. The harness adds its own events
to the history (:mod:`harness.model.harness_events`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from harness.model.consumer_contract import (
    Assign,
    Attempt,
    ConsumerCommand,
    Pause,
    Position,
    RecordsConsumed,
    Resume,
    Seek,
    Subscribe,
)
from harness.model.contract import AnyEvent, Setting
from harness.model.harness_events import (
    HARNESS,
    AsideWritten,
    GroupCommitted,
    HarnessEvent,
    MemberCalled,
    MemberStarted,
    RecordsWritten,
    TransactionEnded,
)
from harness.model.load import FIRST
from harness.model.payload import decode
from harness.model.spec import ClientRef, upgraded
from harness.model.written import Written
from harness.plugins.cluster import Store
from harness.trial.contents import End, Put, Records, acts, aside, by_partition
from harness.trial.writing import Writing

#: The turns of records aside that faults write begin behind those of commands.
_FIRST_OPENED = 1_000_000

Process = TypeVar("Process")
Made = TypeVar("Made", bound=HarnessEvent)
Change = Mapping[str, Setting | None]


class Group(Generic[Process]):
    """The processes of a group by name. ``group`` names the group, which is also the trial's topic.
    ``begin`` is the first command of each.

    ``tell`` takes the events of all processes and of the harness. ``now`` returns the monotonic time and Unix time, in
    ns. With ``is_static``, each place is a static member. ``companions`` are the places of other clients than the one
    under test, each with its client. ``store`` takes what the harness writes to the topic, which has ``partitions``.
    ``upgrades`` are what the second, third, ... process in each place changes in its settings.
    """

    def __init__(
        self,
        group: str,
        begin: Subscribe | Assign,
        tell: Callable[[AnyEvent], None],
        now: Callable[[], tuple[int, int]],
        *,
        store: Store,
        partitions: int,
        is_static: bool,
        companions: Mapping[str, ClientRef] = MappingProxyType({}),
        upgrades: Sequence[Change] = (),
    ) -> None:
        self._writing, self._partitions = Writing(group, store, now), partitions
        self._companions, self._upgrades = companions, upgrades
        self._begin = begin
        #: How long each works on a turn unless a fault changes it.
        self.processing_ms = begin.processing_ms
        self._group, self._tell, self._now, self._is_static = group, tell, now, is_static
        #: Fault -> the process on which it acts, while it does.
        self.held: dict[str, str] = {}
        self._of: dict[str, Process] = {}
        self._gone: set[str] = set()
        self._spoken: Counter[str] = Counter()
        self._acts = self._opened = 0
        #: The commands that wait to be written, while they do.
        self._waiting: list[Written] | None = None
        self._wanted: set[int] = set()
        self._got: set[int] = set()

    @property
    def processes(self) -> tuple[str, ...]:
        """The processes that live, in the order of their start."""
        return tuple(name for name in self._of if name not in self._gone)

    @property
    def settled(self) -> bool:
        """True if some member was given each record."""
        return self._wanted <= self._got

    def _name(self, place: str) -> str:
        """Return the name of the next process in a place; without one, in a new place."""
        turns = Counter(place_of(name) for name in self._of)
        place = place or f"m{len(turns) + 1}"
        return f"{place}-{turns[place] + 1}" if turns[place] else place

    def _companion(self, process: str) -> ClientRef | None:
        """Return the client of a process if it is not the client under test. A successor has that of its place."""
        return self._companions.get(place_of(process))

    def _began(self, process: str) -> None:
        """Note that a process was asked to join."""
        self._add(MemberStarted, HARNESS, member=process, companion=str(self._companion(process) or ""))

    def _settings(self, process: str, config: Mapping[str, Setting]) -> dict[str, Setting]:
        """Return the settings of a process: those of all, changed by its upgrade, and its own as a member."""
        own = {"client.id": process, "group.id": self._group}
        static = {"group.instance.id": place_of(process)} if self._is_static else {}
        return {**upgraded(config, self._change(process)), **own, **static}

    def _change(self, process: str) -> Change:
        """Return what a process changes in the settings of the first one in its place. The last upgrade stays."""
        turn = min(turn_of(process) - 1, len(self._upgrades))
        return self._upgrades[turn - 1] if turn else {}

    def _listener(self, process: str) -> Callable[[AnyEvent], None]:
        """Return what takes the events of a process."""

        def hear(event: AnyEvent) -> None:
            self._spoken[process] = event.seq + 1
            self._heard(replace(event, producer=process))

        return hear

    def _heard(self, event: AnyEvent) -> None:
        if isinstance(event, RecordsConsumed):
            found = (decode(value) for part in event.partitions for value in part.values)
            self._got.update(
                each.n
                for each in found
                if each is not None and each.trial == self._group and each.producer == FIRST
            )
        self._tell(event)

    def _add(self, kind: type[Made], process: str, **fields: Any) -> None:
        """Add an event of the harness about a process."""
        mono_ns, wall_ns = self._now()
        event = kind(seq=self._spoken[process], mono_ns=mono_ns, wall_ns=wall_ns, producer=process, **fields)
        self._spoken[process] += process == HARNESS
        self._acts += process != HARNESS
        self._tell(event)

    def _calls(self, process: str, command: ConsumerCommand) -> None:
        """Note that a process is asked for a call that its ``op_complete`` does not describe."""
        call = ""
        match command:
            case Seek(position=position):
                positions = [position]
            case Pause(partitions=places) | Resume(partitions=places):
                positions = [Position(place.topic, place.partition, -1) for place in places]
            case Attempt(call=call, partitions=positions):
                pass
            case _:
                return
        op = str(command.__struct_config__.tag)
        self._add(MemberCalled, process, op=op, positions=positions, call=call)

    def _wrote(self, command: Written, bases: Mapping[int, int], invoke_ns: int) -> None:
        """Note that the records of a command are in the log. ``bases``: partition -> offset of its first record."""
        offsets = [0] * command.count
        for partition, indexes in by_partition(command).items():
            for step, index in enumerate(indexes):
                offsets[index] = bases[partition] + step
        self._add(
            RecordsWritten,
            HARNESS,
            numbers=list(range(command.first, command.first + command.count)),
            partitions=list(command.partitions),
            offsets=offsets,
            invoke_ns=invoke_ns,
        )

    async def _write(self, command: Written) -> None:
        """Write the records of a command, and what surrounds them. They are wanted from now on."""
        self._wanted.update(range(command.first, command.first + command.count))
        if self._waiting is not None:
            self._waiting.append(command)
            return
        await self._write_now(command)

    async def _write_now(self, command: Written) -> None:
        invoke_ns, _ = self._now()
        bases: Mapping[int, int] = {}
        for act in acts(command, self._group, self._partitions):
            if isinstance(act, End):
                await self._end(act)
            else:
                found = await self._writing.put(act)
                bases = found if act.is_load else bases
        self._wrote(command, bases, invoke_ns)

    async def hold(self) -> None:
        """Let the commands of the load wait until :meth:`release`, once the one that is being written is in the log."""
        self._waiting = []

    async def release(self) -> None:
        """Write what waits, and go on writing."""
        while self._waiting:
            await self._write_now(self._waiting.pop(0))
        self._waiting = None

    async def write_aside(self, count: int) -> None:
        """Write records aside to each partition, outside of transactions."""
        records = self._aside(count)
        bases = await self._writing.put(Put(records))
        places = [
            (partition, bases[partition] + step, value)
            for partition, column in records.items()
            for step, (_, value) in enumerate(column)
        ]
        partitions, offsets, values = map(list, zip(*places, strict=True))
        self._add(AsideWritten, HARNESS, partitions=partitions, offsets=offsets, values=values)

    def _aside(self, count: int) -> dict[int, Records]:
        self._opened += 1
        return aside(self._group, tuple(range(self._partitions)), count, _FIRST_OPENED + self._opened)

    async def prepare_transaction(self, name: str) -> None:
        """Get the producer of :meth:`open_transaction`."""
        await self._writing.prepare(name)

    async def open_transaction(self, name: str, count: int) -> None:
        """Write records aside to each partition, in a transaction that stays open."""
        await self._writing.put(Put(self._aside(count), writer=name))

    async def end_transaction(self, name: str, *, commits: bool) -> None:
        """End the transaction of :meth:`open_transaction`, if it is open."""
        if self._writing.is_open(name):
            await self._end(End(name, commits))

    async def _end(self, act: End) -> None:
        writer, invoke_ns = await self._writing.end(act)
        self._add(
            TransactionEnded,
            HARNESS,
            producer_id=writer.producer_id,
            producer_epoch=writer.producer_epoch,
            committed=act.commits,
            partitions=[partition for partition, _ in writer.places],
            offsets=[offset for _, offset in writer.places],
            ends=sorted(writer.joined),
            began_ns=invoke_ns if writer.began_ns < 0 else writer.began_ns,
            invoke_ns=invoke_ns,
        )
        writer.ended()

    def _committed(self, offsets: list[Position]) -> None:
        """Note what the group has committed."""
        self._add(GroupCommitted, HARNESS, group=self._group, acts=self._acts, offsets=offsets)


def place_of(process: str) -> str:
    """Return the place of a process in its group."""
    return process.partition("-")[0]


def turn_of(process: str) -> int:
    """Return which one of its place a process is, from 1."""
    return int(process.partition("-")[2] or 1)
