"""What the members of a group have in common in live and simulated trials.

Each process has a name: that of its place in the group (``m1``, ``m2``), and for its successors a number (``m1-2``).
The trial is *settled* while some member was given each record that the harness wrote. The harness adds its own events
to the history (:mod:`harness.model.harness_events`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from harness.model.consumer_contract import Assign, Position, RecordsConsumed, Subscribe
from harness.model.contract import AnyEvent, Setting
from harness.model.harness_events import (
    HARNESS,
    GroupCommitted,
    HarnessEvent,
    MemberStarted,
    RecordsWritten,
)
from harness.model.payload import decode
from harness.model.spec import ClientRef, upgraded
from harness.model.written import Written
from harness.wire.records import BatchBuilder

Process = TypeVar("Process")
Made = TypeVar("Made", bound=HarnessEvent)
Change = Mapping[str, Setting | None]


class Group(Generic[Process]):
    """The processes of a group by name. ``group`` names the group, which is also the trial's topic.
    ``begin`` is the first command of each.

    ``tell`` takes the events of all processes and of the harness. ``now`` returns the monotonic time and Unix time, in
    ns. With ``is_static``, each place is a static member. ``companions`` are the places of other clients than the one
    under test, each with its client. ``upgrades`` are what the second, third, ... process in each place changes in its
    settings.
    """

    def __init__(
        self,
        group: str,
        begin: Subscribe | Assign,
        tell: Callable[[AnyEvent], None],
        now: Callable[[], tuple[int, int]],
        *,
        is_static: bool,
        companions: Mapping[str, ClientRef] = MappingProxyType({}),
        upgrades: Sequence[Change] = (),
    ) -> None:
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
        self._acts = 0
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
            self._got.update(each.n for each in found if each is not None and each.trial == self._group)
        self._tell(event)

    def _add(self, kind: type[Made], process: str, **fields: Any) -> None:
        """Add an event of the harness about a process."""
        mono_ns, wall_ns = self._now()
        event = kind(seq=self._spoken[process], mono_ns=mono_ns, wall_ns=wall_ns, producer=process, **fields)
        self._spoken[process] += process == HARNESS
        self._acts += process != HARNESS
        self._tell(event)

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

    def _want(self, command: Written) -> None:
        """Want the records of a command from now on."""
        self._wanted.update(range(command.first, command.first + command.count))

    def _committed(self, offsets: list[Position]) -> None:
        """Note what the group has committed."""
        self._add(GroupCommitted, HARNESS, group=self._group, acts=self._acts, offsets=offsets)


def place_of(process: str) -> str:
    """Return the place of a process in its group."""
    return process.partition("-")[0]


def turn_of(process: str) -> int:
    """Return which one of its place a process is, from 1."""
    return int(process.partition("-")[2] or 1)


def by_partition(command: Written) -> dict[int, list[int]]:
    """Return partition -> the indexes of its records in the command, in order."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for index, partition in enumerate(command.partitions):
        found[partition].append(index)
    return dict(found)


def batches(command: Written, timestamp_ms: int) -> Iterator[tuple[int, bytes]]:
    """Yield each partition of a command and one batch with its records."""
    for partition, indexes in by_partition(command).items():
        builder = BatchBuilder()
        for index in indexes:
            key = command.keys[index]
            builder.append(
                timestamp_ms, None if key is None else key.encode(), command.values[index].encode()
            )
        yield partition, builder.build()
