"""The members of a group in one simulated trial, as :class:`harness.running.members.Members` are in a live one.

All act at the same moments, in the order of their start. A frozen member is not stepped: its connections stay open, and
what arrives on them waits. The methods for faults never wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.consumer_contract import Assign, ConsumerCommand, Position, Subscribe
from harness.model.contract import AnyEvent, Close, Flush, LoadCommand, OpComplete, Setting, ShutdownComplete
from harness.model.harness_events import MemberFrozen, MemberKilled, MemberThawed
from harness.model.written import Written
from harness.simulated.network import Network
from harness.simulated.ports import SimulatedMember
from harness.simulated.stepping import step_all
from harness.simulated.store import SimulatedStore, at_once
from harness.trial.group import Change, Group

Start = Callable[[str, dict[str, Setting], Callable[[AnyEvent], None]], SimulatedMember]
"""Starts and configures a process, given its name, its settings, and what takes its events."""


class SimulatedMembers(Group[SimulatedMember]):
    """The processes of one group. ``config`` has the settings of all of them."""

    def __init__(
        self,
        network: Network,
        cluster: ScriptedCluster,
        start: Start,
        config: dict[str, Setting],
        begin: Subscribe | Assign,
        group: str,
        tell: Callable[[AnyEvent], None],
        next_id: Callable[[], int],
        *,
        partitions: int = 1,
        is_static: bool = False,
        upgrades: Sequence[Change] = (),
    ) -> None:
        scheduler = network.scheduler
        super().__init__(
            group,
            begin,
            tell,
            lambda: (scheduler.now_ns, network.wall_ns),
            store=SimulatedStore(cluster, scheduler, network),
            partitions=partitions,
            is_static=is_static,
            upgrades=upgrades,
        )
        self._network, self._cluster, self._start = network, cluster, start
        self._config, self._next_id = config, next_id
        self._frozen: set[str] = set()

    # The trial's script.

    def load(self, name: str, command: LoadCommand) -> None:
        """Write the command's records into the log, each to its partition."""
        assert isinstance(command, Written)
        at_once(self._write(command))

    def flush(self, command: Flush) -> Callable[[], bool]:
        """Return what is true once every record was delivered: a group has nothing to flush."""
        return lambda: self.settled

    def close(self, command: Close) -> Callable[[], bool]:
        """Close all members that live. Return what is true once all have ended."""
        for name in self.processes:
            self._of[name].close(command)
        return lambda: not self.processes

    def finish(self) -> None:
        """Read what the group has committed."""
        committed = sorted(self._cluster.committed(self._group).items())
        self._committed([Position(topic, partition, each.offset) for (topic, partition), each in committed])

    def step(self, now_ns: int) -> int | None:
        """Step all members but frozen ones. Return when the next of them is due, or None."""
        moving = [self._of[name] for name in self.processes if name not in self._frozen]
        return step_all(self._network, moving, now_ns)

    # Faults.

    async def join(self, place: str = "") -> str:
        """Start another process, in a new place or as the successor of the last one in ``place``. Return its name."""
        return self.begin(place)

    def begin(self, place: str = "") -> str:
        """Start a process, and let it subscribe. Return its name."""
        process = self._name(place)
        self._began(process)
        settings = self._settings(process, self._config)
        self._of[process] = self._start(process, settings, self._listener(process))
        self._ask(process, self._begin)
        return process

    async def kill(self, process: str) -> None:
        """Kill a process: its connections end, and it does nothing more."""
        self._gone.add(process)
        self._frozen.discard(process)
        self._of[process].kill()
        self._add(MemberKilled, process)

    async def leave(self, process: str, timeout_ms: int) -> None:
        """Let one member close in an orderly way."""
        self._of[process].close(Close(self._next_id(), timeout_ms))

    async def freeze(self, process: str) -> None:
        """Stop a process."""
        self._frozen.add(process)
        self._add(MemberFrozen, process)

    async def thaw(self, process: str) -> None:
        """Continue a stopped process."""
        if process in self._frozen:
            self._frozen.discard(process)
            self._network.news = True
            self._add(MemberThawed, process)

    async def call(self, process: str, command: ConsumerCommand) -> OpComplete | None:
        """Ask a member for one call. Its end is an event."""
        self._calls(process, command)
        self._ask(process, command)
        return None

    async def renew(self, process: str) -> None:
        """Ask a member for its first command again, after it has unsubscribed."""
        self._ask(process, self._begin)

    def _ask(self, process: str, command: ConsumerCommand) -> None:
        self._of[process].call(replace(command, id=self._next_id()))

    def _heard(self, event: AnyEvent) -> None:
        if isinstance(event, ShutdownComplete):
            self._gone.add(str(event.producer))
        super()._heard(event)
