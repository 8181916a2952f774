"""A consumer and its application, in a group that a property brings about (see :mod:`.group_simulation`).

The application is a loop: as soon as a call has ended, the next one begins. A property can replace the loop, and run
single calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from clients.adapters.reference.simulated import SimulatedSelector
from clients.reference.consumer.calls import Call, Invoke, Wait
from clients.reference.consumer.components import Components
from clients.reference.telemetry.trace import StateChanged, TraceEvent
from clients.seeding.consumer_variant import variant_of
from harness.simulated.scheduler import WALL_MS_AT_ZERO

if TYPE_CHECKING:
    from suites.properties.group_simulation import Group

E = TypeVar("E", bound=TraceEvent)


class Listener:
    """Records what it is told, tells ``heard`` of it, and raises what ``raises`` has for a method, once."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self.raises: dict[str, Exception] = {}
        self.heard: Callable[[str], object] = lambda what: None

    def _told(self, what: str, partitions: list[Any]) -> None:
        self._member.told.append((what, [index for _, index in partitions]))
        self.heard(what)
        if what in self.raises:
            raise self.raises.pop(what)

    def on_partitions_assigned(self, partitions: list[Any]) -> None:
        """See ConsumerRebalanceListener."""
        self._told("assigned", partitions)

    def on_partitions_revoked(self, partitions: list[Any]) -> None:
        """See ConsumerRebalanceListener."""
        self._told("revoked", partitions)

    def on_partitions_lost(self, partitions: list[Any]) -> None:
        """See ConsumerRebalanceListener."""
        self._told("lost", partitions)


class Member:
    """One consumer and its application. ``told`` are the listener's calls, ``records`` what poll returned."""

    def __init__(self, world: Group, made: Components, **given: Any) -> None:
        self.world = world
        settings = {"bootstrap.servers": "broker-1:9092", "group.id": "g", "auto.offset.reset": "earliest"}
        settings |= {name.replace("_", "."): value for name, value in given.items()}
        self.config = made.config.from_mapping(settings)
        self.trace: list[TraceEvent] = []
        self.selector = SimulatedSelector(world.network, made.channel)
        self.core = variant_of(made).core(
            self.config,
            self.selector,
            jitter=lambda: 0.0,
            wall_ms=lambda: WALL_MS_AT_ZERO + world.now_ms,
            now_ms=world.now_ms,
            trace=self.trace.append,
            components=made,
            plugins=made.plugins(self.config),
        )
        self.listener = Listener(self)
        self.told: list[tuple[str, list[int]]] = []
        self.records: list[tuple[int, int]] = []
        self.errors: list[Exception] = []
        self.loop: Callable[[], Call[Any] | None] = lambda: None
        self.due_ms: int | None = world.now_ms
        self.until_ms: int | None = None
        self._call: Call[Any] | None = None
        self._ended: Callable[[Any, BaseException | None], None] = lambda result, error: None
        self.is_frozen = False

    @property
    def coordinator(self) -> Any:
        """The consumer's membership."""
        return self.core._parts.coordinator

    @property
    def owned(self) -> list[int]:
        """The partitions that it has."""
        return sorted(index for _, index in self.core.assignment)

    # The application

    def polls(self, commit: bool = False, timeout_ms: int = 1_000) -> Member:
        """Let the application poll from now on, and commit after each poll that returned records."""
        self.loop = lambda: self._turn(commit, timeout_ms)
        self.due_ms = self.world.now_ms
        return self

    def _turn(self, commit: bool, timeout_ms: int) -> Call[None]:
        records = yield from self.core.poll(timeout_ms)
        self.records += [(record.partition, record.offset) for record in records]
        if commit and records.count:
            yield from self.core.commit_sync()

    def subscribe(self, *topics: str) -> Member:
        """Subscribe to topics, by default "t"."""
        self.do(self.core.subscribe(topics or ["t"], self.listener))
        return self

    def do(self, call: Call[Any], limit_ms: int = 600_000) -> Any:
        """Run one call to its end, and return its result or raise its exception."""
        outcome: list[tuple[Any, BaseException | None]] = []
        loop, self.loop = self.loop, lambda: None
        self.world.until(lambda: self._call is None, limit_ms)
        self.start(call, lambda result, error: outcome.append((result, error)))
        self.world.until(lambda: bool(outcome), limit_ms)
        self.loop = loop
        result, error = outcome[0]
        if error is not None:
            raise error
        return result

    def start(self, call: Call[Any], ended: Callable[[Any, BaseException | None], None]) -> None:
        """Begin a call. ``ended`` gets its result or its exception."""
        assert self._call is None, "one call at a time"
        self._call, self._ended = call, ended
        self.due_ms = self.world.now_ms
        self._step(None)

    def _step(self, value: Any) -> None:
        """Resume the call until it waits or ends."""
        error: BaseException | None = None
        while self._call is not None:
            self.core.at(self.world.now_ms)
            try:
                step = self._call.send(value) if error is None else self._call.throw(error)
            except StopIteration as end:
                self._end(end.value, None)
                return
            except Exception as raised:
                self._end(None, raised)
                return
            value = error = None
            if isinstance(step, Wait):
                self.until_ms = step.until_ms
                return
            assert isinstance(step, Invoke)
            try:
                value = step.call()
            except Exception as raised:
                error = raised

    def _end(self, result: Any, error: BaseException | None) -> None:
        self._call, self.until_ms = None, None
        ended, self._ended = self._ended, self._noted
        ended(result, error)
        if self.core.has_unsent:
            self.core.run_once(self.world.now_ms)

    def _noted(self, result: Any, error: BaseException | None) -> None:
        if isinstance(error, Exception):
            self.errors.append(error)

    # Rounds

    @property
    def is_running(self) -> bool:
        """Whether the process is alive, and the consumer open."""
        return not self.is_frozen and not self.core.is_closed

    @property
    def next_ms(self) -> int | None:
        """When the next round is due. None if only the network can bring one."""
        times = [time for time in (self.due_ms, self.until_ms) if time is not None]
        return min(times, default=None) if self.is_running else None

    def round(self) -> None:
        """Run one round, go on with the call or begin the next one, and send what that has queued.

        After a call that did not wait, the next one begins at once, unless it failed.
        """
        self.core.run_once(self.world.now_ms)
        if self._call is not None:
            self._step(self.world.now_ms)
        went_on = False
        if self._call is None and not self.core.is_closed:
            following, failed = self.loop(), len(self.errors)
            if following is not None:
                self.start(following, self._noted)
                went_on = self._call is None and len(self.errors) == failed
        before = self.core.progress
        self.due_ms = self.core.run_once(self.world.now_ms)
        if went_on or self.core.progress != before:
            self.due_ms = self.world.now_ms

    def kill(self) -> None:
        """End without a farewell."""
        self.is_frozen = True
        self.selector.close_all()

    def kinds(self, kind: type[E]) -> list[E]:
        """Return the trace events of one kind, in order."""
        return [event for event in self.trace if isinstance(event, kind)]

    def states(self) -> list[str]:
        """The member's states, in order."""
        return [event.after for event in self.kinds(StateChanged) if event.machine == "member"]
