"""The witness of one lane: a listener in front of every broker, and the destination of a trial's rows.

A connection belongs to the recording during which it was opened. Frames that pass on it during the next trial's
recording belong to no trial, and their rows are dropped.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from harness.limits.frames import WHOLE_LIMIT_BYTES
from harness.limits.meter import BEGUN_BYTES, CONNECTIONS, ELEMENTS, Limit, Meter, OverLimit
from harness.model.addresses import LaneAddress
from harness.model.errors import EnvironmentProblem
from harness.model.rows import Frame
from harness.model.spec import FrameMatch
from harness.witness.acceptor import Acceptor
from harness.witness.actions import Action
from harness.witness.contents import TopicNames
from harness.witness.pace import Pace
from harness.witness.relay import Relay
from harness.witness.rules import FrameRules
from harness.witness.transcript import Transcript

Sink = Callable[[Frame], None]


class WitnessLane:
    """The relays of lane ``lane``. ``idle`` is set while no connection is open.

    An instance belongs to one event loop.
    """

    def __init__(
        self,
        lane: int,
        whole_limit_bytes: int = WHOLE_LIMIT_BYTES,
        dialled: Counter[int] | None = None,
        *,
        pace: Pace | None = None,
        connections: Limit = CONNECTIONS,
    ) -> None:
        self._lane = lane
        self._whole_limit_bytes = whole_limit_bytes
        #: One per listening address, while the lane is open.
        self.acceptors: list[Acceptor] = []
        self.relays: set[Relay] = set()
        self.idle = asyncio.Event()
        self.idle.set()
        self._numbers = itertools.count(1)
        self._names: TopicNames = {}
        self._recording = 0
        self._sink: Sink | None = None
        self._watchers: list[Sink] = []
        self._meter: Meter | None = None
        self._reserved_bytes = 0
        #: The elements that were decoded in this recording, and their limit. Looking it up for each frame is too slow.
        self._elements, self._most_elements = 0, 0
        self._rules = FrameRules()
        self._pace = pace or Pace()
        self._connections = connections
        #: Source port -> the number of connections to brokers from it, made by this witness and earlier ones of the
        #: lane. Any other connection bypasses the lane.
        self.dialled = Counter[int]() if dialled is None else dialled
        self._failure: str | None = None

    @property
    def failure(self) -> str | None:
        """The reason why the latest recording is disturbed or incomplete through no fault of the client, or None."""
        if self._failure is None and not all(acceptor.is_open for acceptor in self.acceptors):
            return f"the witness of lane {self._lane} does not listen any more"
        return self._failure

    @property
    def open_connections(self) -> int:
        """The number of open connections, including those of earlier trials."""
        return len(self.relays)

    @property
    def armed(self) -> tuple[str, ...]:
        """The names of the rules that are in force."""
        return tuple(self._rules.armed)

    async def open(self, addresses: Sequence[LaneAddress]) -> None:
        """Listen on the ``witness`` address of each lane address.

        Raises EnvironmentProblem if one cannot be opened. In that case all of them are closed again.
        """
        for address in addresses:
            try:
                self.acceptors.append(Acceptor(address.witness, partial(self._takes, address), self._fail))
            except OSError as error:
                await self.close()
                host, port = address.witness
                raise EnvironmentProblem(
                    "port-taken",
                    "the witness cannot listen on {host}:{port}: {why}",
                    host=host,
                    port=port,
                    why=error.strerror or error,
                ) from error

    async def close(self) -> None:
        """Stop listening and reset all open connections. Returns when every socket is closed."""
        acceptors, self.acceptors = self.acceptors, []
        for acceptor in acceptors:
            await acceptor.close()
        await self._end_all()

    def record(self, sink: Sink | None, meter: Meter | None = None) -> None:
        """Send the rows of connections opened from now on to ``sink``, and drop the rows of older ones.

        ``meter`` enforces the client's limits, even on data that the client leaves behind when it ends.
        """
        self._recording += 1
        self._numbers = itertools.count(1)
        self._sink, self._meter = sink, meter
        self._elements, self._most_elements = 0, 0 if meter is None else meter.most(ELEMENTS)
        if sink is not None:
            self._failure = None

    def watch(self, callback: Sink) -> None:
        """Also call ``callback`` with every row, right after its bytes have been passed on."""
        self._watchers.append(callback)

    def unwatch(self, callback: Sink) -> None:
        """Undo :meth:`watch`."""
        self._watchers.remove(callback)

    def arm(self, name: str, match: FrameMatch, action: Action, brokers: tuple[int, ...] = ()) -> None:
        """Apply ``action`` to the frames that ``match`` describes. Raises ValueError if the name is in use."""
        self._rules.arm(name, match, action, brokers)

    def disarm(self, name: str) -> None:
        """Undo :meth:`arm` and pass on the frames that the rule holds. Does nothing if the rule is not armed."""
        self._rules.disarm(name)
        for relay in tuple(self.relays):
            relay.go_on(relay.client)
            relay.go_on(relay.broker)

    async def empty(self) -> None:
        """Reset every connection made so far, including those not accepted yet. Raises OSError as ``drain`` does."""
        for acceptor in self.acceptors:
            await acceptor.drain()
        await self._end_all()

    async def _end_all(self) -> None:
        relays = list(self.relays)
        for relay in relays:
            relay.abort()
        await asyncio.gather(*(relay.done.wait() for relay in relays))

    def _takes(self, address: LaneAddress) -> asyncio.Protocol | None:
        return self._relay(address).client if self._within(self._connections, len(self.relays) + 1) else None

    def _relay(self, address: LaneAddress) -> Relay:
        recording = self._recording

        def count(elements: int) -> None:
            if recording == self._recording:
                self._elements += elements
                if self._elements > self._most_elements:
                    self._within(ELEMENTS, self._elements)

        number = next(self._numbers)
        transcript = Transcript(
            self._lane, address.broker, number, self._names, self._whole_limit_bytes, count=count
        )

        def emit(row: Frame) -> None:
            if recording == self._recording:
                self._give(row)

        relay = Relay(
            address.listener,
            transcript,
            emit,
            self._fail,
            self._forget,
            self._rules,
            self._whole_limit_bytes,
            self.dialled,
            self.reserves,
            self._pace,
        )
        self.relays.add(relay)
        self.idle.clear()
        return relay

    def reserves(self, more_bytes: int) -> bool:
        """Count bytes of requests that have begun. Return False if the trial's client exceeds its limit."""
        self._reserved_bytes += more_bytes
        return more_bytes <= 0 or self._within(BEGUN_BYTES, self._reserved_bytes)

    def _within(self, limit: Limit, amount: int) -> bool:
        """Return False if the trial's client exceeds its limit. The meter reports that to the trial."""
        if self._meter is not None:
            try:
                self._meter.hold(limit, amount)
            except OverLimit:
                return False
        return True

    def _forget(self, relay: Relay) -> None:
        self.relays.discard(relay)
        if not self.relays:
            self.idle.set()

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or f"the witness of lane {self._lane} lost a row: {error!r}"

    def _give(self, row: Frame) -> None:
        if self._sink is not None:
            self._sink(row)
        for watcher in tuple(self._watchers):
            watcher(row)
