"""The application: a program that executes one command after the other, and waits where a call blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import NamedTuple

from clients.adapters.reference.simulated.events import WALL_NS_AT_ZERO, Events
from clients.adapters.reference.simulated.selector import SimulatedSelector
from clients.adapters.reference.simulated.transactor import Transactor
from clients.reference.producer.producer import ProducerCore
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.send_handle import Delivery
from harness.model.contract import Close, Flush
from harness.simulated.scheduler import NS_PER_MS
from harness.workloads.produce.commands import Produce
from harness.workloads.transactions.commands import Transact

#: When the application must check again. None: only after an event.
Wake = int | None


class Producer(NamedTuple):
    """A producer of the client: its core, and its side of the network."""

    core: ProducerCore
    selector: SimulatedSelector


class Application:
    """Executes ``commands``. ``sent`` counts the records it has sent. ``has_ended`` is true after a close.

    ``producer`` is the producer in use. ``made`` builds it, and further ones in its place.
    """

    def __init__(self, made: Callable[[], Producer], max_block_ms: int, events: Events) -> None:
        self.commands: deque[Produce | Transact | Flush | Close] = deque()
        self.producer = made()
        self._made, self._max_block_ns = made, max_block_ms * NS_PER_MS
        self.sent = 0
        self.has_ended = False
        self.wake_ns: Wake = None
        #: Returns whether the wait has ended. Called in every round.
        self.may_go_on: Callable[[], object] = self.commands.__len__
        self._events = events
        self._transactor = Transactor(self, events)
        self._doing = self._obey()

    def go_on(self) -> None:
        """Continue until the application has to wait."""
        self.wake_ns = next(self._doing)

    def _obey(self) -> Generator[Wake, None, None]:
        """Execute one command after the other. A yield is where the application waits."""
        while not self.has_ended:
            self.may_go_on = self.commands.__len__
            while not self.commands:
                yield None
            command = self.commands.popleft()
            match command:
                case Produce():
                    yield from self._produce(command)
                case Transact():
                    yield from self._transactor.transact(command)
                case Flush():
                    yield from self._flush(command)
                case Close():
                    yield from self._close(command)
        yield None

    def _produce(self, command: Produce) -> Generator[Wake, None, None]:
        self._events.op_invoke("send", command.id, command.first, len(command.values))
        yield from self.send(command, self._events.result)

    def send(self, command: Produce | Transact, result: Callable[..., None]) -> Generator[Wake, None, None]:
        """Send the records of a command. ``result`` gets the id, the number and the time of each, and its result."""
        now_ns = self._events.now_ns
        for index, value in enumerate(command.values):
            self.sent += 1
            key = command.keys[index]
            delivery, _ = self.producer.core.send(
                command.topic,
                None if key is None else key.encode(),
                value.encode(),
                timestamp_ms=(WALL_NS_AT_ZERO + now_ns) // NS_PER_MS,
                now_ms=now_ns // NS_PER_MS,
                partition=None if command.partitions is None else command.partitions[index],
                callback=partial(result, command.id, command.first + index, now_ns),
            )
            if delivery.batch is None and delivery.is_blocked:
                yield from self._until_admitted(delivery)
                now_ns = self._events.now_ns

    def _until_admitted(self, delivery: Delivery) -> Generator[Wake, None, None]:
        self.may_go_on = lambda: not delivery.is_blocked
        while delivery.is_blocked:
            yield None

    def renew(self) -> None:
        """Close the producer without waiting, and build another one."""
        core, selector = self.producer
        now_ms = self._events.now_ns // NS_PER_MS
        core.close(now_ms, 0)
        core.run_once(now_ms)
        selector.close_all()
        self.producer = self._made()

    def until(self, is_true: Callable[[], object]) -> Generator[Wake, None, None]:
        """Wait until something is true, for at most max.block.ms."""
        deadline_ns = self._events.now_ns + self._max_block_ns
        self.may_go_on = is_true
        while not is_true() and self._events.now_ns < deadline_ns:
            yield deadline_ns

    def pause(self, for_ns: int) -> Generator[Wake, None, None]:
        """Let time pass."""
        end_ns = self._events.now_ns + for_ns
        self.may_go_on = lambda: False
        while self._events.now_ns < end_ns:
            yield end_ns

    def _flush(self, command: Flush) -> Generator[Wake, None, None]:
        invoke_ns = self._events.op_invoke("flush", command.id)
        done = yield from self.flushed(invoke_ns + command.timeout_ms * NS_PER_MS)
        self._events.op_complete("flush", command.id, invoke_ns, None if done else "the client is not done")

    def flushed(self, deadline_ns: int) -> Generator[Wake, None, bool]:
        """Wait until every record that was sent has its result. Return False at the deadline."""
        core = self.producer.core
        batches = core.begin_flush()
        self.may_go_on = lambda: all(map(_is_published, batches))
        while not (done := all(map(_is_published, batches))) and self._events.now_ns < deadline_ns:
            yield deadline_ns
        core.end_flush()
        return done

    def _close(self, command: Close) -> Generator[Wake, None, None]:
        invoke_ns = self._events.op_invoke("close", command.id)
        core, selector = self.producer
        core.close(invoke_ns // NS_PER_MS, command.timeout_ms)
        self.may_go_on = lambda: core.is_closed
        while not core.is_closed:
            yield None
        core.publish(self._events.now_ns // NS_PER_MS)
        selector.close_all()
        self._events.op_complete("close", command.id, invoke_ns, None)
        self._events.shutdown_complete()
        self.has_ended = True


def _is_published(batch: ProducerBatch) -> bool:
    return batch.is_published
