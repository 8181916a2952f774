"""The reference client inside the simulated world: the core, its selector on the simulated network, and the contract.

It is what the program of ``__main__`` is in the live world, in virtual time: one application that carries out
commands one after the other and is held up where ``send`` is, results gathered into columns every 20 ms, a
heartbeat every second.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from clients.reference.channel import Channel
from clients.reference.config import KEYS, ProducerConfig
from clients.reference.delivery import Delivery
from clients.reference.errors import SendError
from clients.reference.ports import Address, ChannelState, Polled
from clients.reference.producer import Components, ProducerCore
from clients.reference.producer_batch import ProducerBatch, RecordMetadata
from clients.reference.trace import TraceEvent
from harness.contract import (
    CONTRACT_VERSION,
    AnyEvent,
    Close,
    Configure,
    Configured,
    Fatal,
    Flush,
    OpComplete,
    OpInvoke,
    Produce,
    ShutdownComplete,
    StartupComplete,
    Stats,
)
from harness.dice import Dice
from harness.errors import UsageError
from harness.simulated.connection import Connection
from harness.simulated.network import Network
from harness.simulated.ports import Clock, Tell
from harness.simulated.scheduler import NS_PER_MS, WALL_MS_AT_ZERO

RESULTS_INTERVAL_NS = 20 * NS_PER_MS
STATS_INTERVAL_NS = 1_000 * NS_PER_MS
WALL_NS_AT_ZERO = WALL_MS_AT_ZERO * NS_PER_MS
#: So many rounds at one moment are a client that spins; the real one would merely be busy, so time goes on by 1 ms.
SPINNING_ROUNDS = 64
FEATURES = ["producer", "idempotence"]

#: When the application wants to look again by itself; None: only when something has happened.
Wake = int | None


class SimulatedSelector:
    """The Selector port on a simulated network; the framing is the same as on sockets (channel.py)."""

    def __init__(self, network: Network, channel: type[Channel] = Channel) -> None:
        self._network, self._channel = network, channel
        self._channels: dict[int, tuple[Connection, Channel]] = {}

    @property
    def has_news(self) -> bool:
        """Would a poll tell something?"""
        if self._network.news:
            return True
        for _, channel in self._channels.values():  # noqa: SIM110 - asked every round, and a generator costs more
            if channel.has_news:
                return True
        return False

    def resolve(self, host: str, port: int) -> tuple[Address, ...]:
        return self._network.resolve(host, port)

    def connect(self, node_id: int, address: Address) -> None:
        self.close(node_id)
        self._channels[node_id] = self._network.connect(address), self._channel(node_id)

    def send(self, node_id: int, data: bytes) -> None:
        connection, channel = self._channels[node_id]
        channel.send(data)
        if channel.ended is None:
            _write(connection, channel)

    def poll(self) -> Polled:
        self._network.news = False
        polled = Polled()
        for node_id, (connection, channel) in list(self._channels.items()):
            if connection.changed:
                _read(connection, channel)
            if channel.has_news:
                channel.report(polled)
                if node_id in polled.disconnected:
                    self.close(node_id)
        return polled

    def close(self, node_id: int) -> None:
        if node_id in self._channels:
            self._channels.pop(node_id)[0].close()

    def close_all(self) -> None:
        """End everything."""
        for node_id in list(self._channels):
            self.close(node_id)

    def mute(self, node_id: int) -> None:
        if node_id in self._channels:
            self._channels[node_id][1].is_muted = True

    def unmute(self, node_id: int) -> None:
        if node_id in self._channels:
            connection, channel = self._channels[node_id]
            channel.is_muted = False
            connection.changed = self._network.news = True


def _write(connection: Connection, channel: Channel) -> None:
    if channel.outgoing is not None:
        data = bytes(channel.outgoing)
        try:
            connection.send(data)
        except ConnectionError as error:
            channel.end(str(error), ChannelState.FAILED_SEND if channel.state is ChannelState.READY else None)
        else:
            channel.wrote(len(data))


def _read(connection: Connection, channel: Channel) -> None:
    if channel.ended is not None:
        return
    if connection.is_connected and channel.state is ChannelState.NOT_CONNECTED:
        channel.established()
    if connection.error is not None:
        channel.end(connection.error)
    elif channel.wants_to_read:
        for data in connection.incoming:
            channel.feed(data)
        connection.incoming.clear()
        if connection.fin:
            channel.end("the broker closed the connection")
    connection.changed = False
    if channel.ended is None:
        _write(connection, channel)


class SimulatedReference:
    """See :class:`harness.simulated.ports.SimulatedClient`."""

    def __init__(
        self,
        config: ProducerConfig,
        network: Network,
        clock: Clock,
        dice: Dice,
        events: Events,
        components: Components | None,
    ) -> None:
        self.trace: list[TraceEvent] = []
        self._network, self._clock, self._events = network, clock, events
        self._selector = SimulatedSelector(network, components.channel if components else Channel)
        self._core = ProducerCore(
            config,
            self._selector,
            jitter=lambda: dice.between(-1_000_000, 1_000_000) / 1_000_000,
            trace=self.trace.append,
            components=components,
        )
        self._commands: deque[Produce | Flush | Close] = deque()
        self._may_go_on: Callable[[], bool] = lambda: bool(self._commands)
        self._application = self._obey()
        self._wake_ns: Wake = None
        self._due_ns: int | None = clock()
        self._sent = 0
        self._ended = False

    # commands

    def produce(self, command: Produce) -> None:
        self._commands.append(command)

    def flush(self, command: Flush) -> None:
        self._commands.append(command)

    def close(self, command: Close) -> None:
        self._commands.append(command)

    # time

    def step(self, now_ns: int) -> int | None:
        if self._ended:
            return None
        due_ns, wake_ns = self._due_ns, self._wake_ns
        if (
            self._network.news
            or self._commands
            or (due_ns is not None and due_ns <= now_ns)
            or (wake_ns is not None and wake_ns <= now_ns)
        ):
            self._rounds(now_ns)
            if self._ended:
                return None
            due_ns, wake_ns = self._due_ns, self._wake_ns
        next_ns = self._events.beat(now_ns, self._sent)
        if due_ns is not None and due_ns < next_ns:
            next_ns = due_ns
        return wake_ns if wake_ns is not None and wake_ns < next_ns else next_ns

    def _rounds(self, now_ns: int) -> None:
        """Rounds of the application and the core until nothing more happens at this moment."""
        core, selector, now_ms = self._core, self._selector, now_ns // NS_PER_MS
        for _ in range(SPINNING_ROUNDS):
            self._wake_ns = next(self._application)
            if self._ended:
                return
            due_ms = core.run_once(now_ms)
            core.publish(now_ms)
            self._due_ns = None if due_ms is None else due_ms * NS_PER_MS
            if not ((due_ms is not None and due_ms <= now_ms) or self._may_go_on() or selector.has_news):
                return
        self._due_ns = now_ns + NS_PER_MS

    # the application

    def _obey(self) -> Generator[Wake, None, None]:
        """Carry out one command after the other; a yield is where the application waits."""
        while not self._ended:
            self._may_go_on = lambda: bool(self._commands)
            while not self._commands:
                yield None
            command = self._commands.popleft()
            match command:
                case Produce():
                    yield from self._produce(command)
                case Flush():
                    yield from self._flush(command)
                case Close():
                    yield from self._close(command)
        yield None

    def _produce(self, command: Produce) -> Generator[Wake, None, None]:
        self._events.op_invoke("send", command.id, command.first, len(command.values))
        core, clock, put = self._core, self._clock, self._events.put
        now_ns = clock()
        for index, value in enumerate(command.values):

            def delivered(
                metadata: RecordMetadata | None,
                error: SendError | None,
                n: int = command.first + index,
                invoke_ns: int = now_ns,
            ) -> None:
                if metadata is not None:
                    put(command.id, ("ok", None, invoke_ns, clock(), n, metadata.partition, metadata.offset))
                elif error is not None:
                    outcome = "fail" if error.outcome == "fail" else "info"
                    put(command.id, (outcome, error.name, invoke_ns, clock(), n, -1, -1))

            self._sent += 1
            key = command.keys[index]
            delivery, _ = core.send(
                command.topic,
                None if key is None else key.encode(),
                value.encode(),
                timestamp_ms=(WALL_NS_AT_ZERO + now_ns) // NS_PER_MS,
                now_ms=now_ns // NS_PER_MS,
                partition=None if command.partitions is None else command.partitions[index],
                callback=delivered,
            )
            if delivery.is_blocked:
                yield from self._until_admitted(delivery)
                now_ns = clock()
        self._due_ns = now_ns

    def _until_admitted(self, delivery: Delivery) -> Generator[Wake, None, None]:
        self._may_go_on = lambda: not delivery.is_blocked
        while delivery.is_blocked:
            yield None

    def _flush(self, command: Flush) -> Generator[Wake, None, None]:
        invoke_ns = self._events.op_invoke("flush", command.id)
        deadline_ns = invoke_ns + command.timeout_ms * NS_PER_MS
        batches = self._core.begin_flush()
        self._may_go_on = lambda: all(map(_is_published, batches))
        while not (done := all(map(_is_published, batches))) and self._clock() < deadline_ns:
            yield deadline_ns
        self._core.end_flush()
        self._events.op_complete("flush", command.id, invoke_ns, None if done else "the client is not done")

    def _close(self, command: Close) -> Generator[Wake, None, None]:
        invoke_ns = self._events.op_invoke("close", command.id)
        self._core.close(invoke_ns // NS_PER_MS, command.timeout_ms)
        self._may_go_on = lambda: self._core.is_closed
        while not self._core.is_closed:
            yield None
        self._core.publish(self._clock() // NS_PER_MS)
        self._selector.close_all()
        self._events.op_complete("close", command.id, invoke_ns, None)
        self._events.shutdown_complete()
        self._ended = True


class Events:
    """What the contract wants told: numbered, stamped, the results of sends gathered into columns."""

    def __init__(self, clock: Clock, tell: Tell) -> None:
        self._clock, self._tell = clock, tell
        self._seq = 0
        self._rows: dict[int, list[tuple[Any, ...]]] = {}
        self._completed = 0
        self._started_ns = clock()
        self._results_ns: int | None = None
        self._stats_ns = self._started_ns + STATS_INTERVAL_NS

    def _event(self, kind: type[Any], **fields: Any) -> int:
        now_ns = self._clock()
        event: AnyEvent = kind(seq=self._seq, mono_ns=now_ns, wall_ns=WALL_NS_AT_ZERO + now_ns, **fields)
        self._seq += 1
        self._tell(event)
        return now_ns

    def startup_complete(self, client: str, version: str) -> None:
        self._event(
            StartupComplete,
            client=client,
            client_version=version,
            language="python",
            features=FEATURES,
            contract_version=CONTRACT_VERSION,
        )

    def configured(self, command: Configure, known: dict[str, Any]) -> None:
        self._event(
            Configured,
            id=command.id,
            applied={name: (name, value) for name, value in known.items()},
            not_set={
                name: "the reference client has no such setting"
                for name in command.config
                if name not in known
            },
        )

    def refused(self, why: str) -> None:
        self._event(Fatal, error="ConfigRefused", message=why)

    def op_invoke(self, op: str, id: int, first: int = 0, count: int = 0) -> int:
        return self._event(OpInvoke, op=op, id=id, first=first, count=count)

    def op_complete(self, op: str, id: int, invoke_ns: int, error: str | None) -> None:
        self.write()
        self._event(
            OpComplete,
            op=op,
            id=id,
            outcome=["fail" if error else "ok"],
            error=[error],
            invoke_ns=[invoke_ns],
            complete_ns=[self._clock()],
        )

    def shutdown_complete(self) -> None:
        self._event(ShutdownComplete)

    def put(self, id: int, row: tuple[Any, ...]) -> None:
        """The result of one record; it is told with others, a little later."""
        self._completed += 1
        rows = self._rows.get(id)
        if rows is None:
            rows = self._rows[id] = []
        rows.append(row)
        if self._results_ns is None:
            passed_ns = self._clock() - self._started_ns
            self._results_ns = self._started_ns + (passed_ns // RESULTS_INTERVAL_NS + 1) * RESULTS_INTERVAL_NS

    def write(self) -> None:
        """Tell all results that are kept."""
        self._results_ns = None
        for id, rows in self._rows.items():
            outcome, error, invoke_ns, complete_ns, records, partition, offset = map(
                list, zip(*rows, strict=True)
            )
            self._event(
                OpComplete,
                op="send",
                id=id,
                outcome=outcome,
                error=error,
                invoke_ns=invoke_ns,
                complete_ns=complete_ns,
                records=records,
                partition=partition,
                offset=offset,
            )
        self._rows = {}

    def beat(self, now_ns: int, sent: int) -> int:
        """What the clock asks for: results that are due, and the heartbeat; when it will ask again."""
        if self._results_ns is not None and self._results_ns <= now_ns:
            self.write()
        if self._stats_ns <= now_ns:
            self._stats_ns += STATS_INTERVAL_NS
            self._event(Stats, sent=sent, completed=self._completed)
        return self._stats_ns if self._results_ns is None else min(self._stats_ns, self._results_ns)


def start(
    name: str,
    version: str,
    components: Components | None,
    settings: Configure,
    network: Network,
    clock: Clock,
    dice: Dice,
    tell: Tell,
) -> SimulatedReference | None:
    """The client, started and configured; None if it refuses the settings, which it has told then."""
    events = Events(clock, tell)
    events.startup_complete(name, version)
    known = {key: value for key, value in settings.config.items() if key in KEYS}
    try:
        config = (components.config if components else ProducerConfig).from_mapping(known)
    except UsageError as error:
        events.refused(str(error))
        return None
    events.configured(settings, known)
    return SimulatedReference(config, network, clock, dice, events, components)


def _is_published(batch: ProducerBatch) -> bool:
    return batch.is_published
