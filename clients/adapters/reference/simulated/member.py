"""The application of a consumer: a poll loop that takes records, works on them, reports and commits them.

It does in virtual time what ``python_lib/verifiable/member`` does in a program. A yield is where the application waits:
for a time, for a command (None), or in a call of the consumer (:class:`Waits`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from re import compile as pattern_of
from typing import Any, TypeVar

from clients.adapters.reference.simulated.events import Events
from clients.adapters.reference.simulated.rebalances import Rebalances, places
from clients.reference.consumer.calls import Call, Wait
from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.consumer.consumer_record import ConsumerRecord
from clients.reference.consumer.errors import ConsumerError
from clients.reference.consumer.subscription.positions import OffsetAndMetadata, TopicPartition
from harness.model import consumer_contract as contract
from harness.model.contract import Close
from harness.model.errors import KafkaTrialError
from harness.simulated.scheduler import NS_PER_MS

T = TypeVar("T")
POLL_MS = 100
ERROR_PAUSE_NS = 100 * NS_PER_MS


@dataclass(frozen=True)
class Waits:
    """The application is in a call that waits: for a round that brings something, or until ``until_ns``."""

    before: tuple[int, int]
    until_ns: int | None


#: When the application must continue: at a time, in a call, or None at the next command.
Doing = Generator[int | Waits | None, None, T]


class Application:
    """Executes ``commands`` between its turns. ``taken`` and ``finished`` count records."""

    def __init__(self, core: ConsumerCore, events: Events) -> None:
        self.commands: deque[contract.ConsumerCommand | Close] = deque()
        self.taken = self.finished = 0
        self.has_ended = False
        self.waits: int | Waits | None = None
        self._core, self._events = core, events
        self._owned = Rebalances(core, events)
        self._polls = False
        self._commit_mode, self._processing_ms = "none", 0
        self._doing = self._live()

    def go_on(self) -> None:
        """Continue until the application has to wait."""
        self.waits = next(self._doing)

    def _live(self) -> Doing[None]:
        while not self.has_ended:
            if self.commands:
                yield from self._obey(self.commands.popleft())
            elif self._polls:
                yield from self._turn()
            else:
                yield None
        yield None

    # Turns

    def _turn(self) -> Doing[None]:
        try:
            records = yield from self._call(self._core.poll(POLL_MS))
        except KafkaTrialError as error:
            self._survived("poll", error)
            yield self._events.now_ns + ERROR_PAUSE_NS
            return
        if len(records) and not (yield from self._take(list(records))):
            self._go_back(records)
            yield self._events.now_ns + ERROR_PAUSE_NS

    def _take(self, records: Sequence[ConsumerRecord]) -> Doing[bool]:
        """Work on records. Return False if they are not processed, because they could not be committed first."""
        polled_ns = self._events.now_ns
        self.taken += len(records)
        offsets = {(each.topic, each.partition): each.offset + 1 for each in records}
        if self._commit_mode == "sync-first":
            error = yield from self._commit(offsets, "sync")
            if error is not None:
                self.finished += len(records)
                return False
        if self._processing_ms:
            yield polled_ns + self._processing_ms * NS_PER_MS
        self._events.consumed(records, polled_ns)
        self.finished += len(records)
        self._owned.processed.update(offsets)
        if self._commit_mode in ("sync", "async"):
            yield from self._commit(offsets, self._commit_mode)
        return True

    def _go_back(self, records: Iterable[ConsumerRecord]) -> None:
        """Set the positions to the first of these records."""
        first: dict[TopicPartition, int] = {}
        for each in records:
            first.setdefault((each.topic, each.partition), each.offset)
        for place, offset in first.items():
            try:
                self._core.seek(place, offset)
            except KafkaTrialError as error:
                self._survived("seek", error)

    def _commit(self, offsets: Mapping[TopicPartition, int], how: str) -> Doing[str | None]:
        """Commit, and return the error if it is known already."""
        invoke_ns = self._events.now_ns

        def done(error: Exception | None) -> None:
            self._events.committed(offsets, how, invoke_ns, None if error is None else _name(error))

        asked = {place: OffsetAndMetadata(offset) for place, offset in offsets.items()}
        try:
            if how == "async":
                yield from self._call(self._core.commit_async(asked, lambda _offsets, error: done(error)))
                return None
            yield from self._call(self._core.commit_sync(asked, None))
        except KafkaTrialError as error:
            done(error)
            return self._survived("commit", error)
        done(None)
        return None

    # Commands

    def _obey(self, command: contract.ConsumerCommand | Close) -> Doing[None]:
        name = command.__struct_config__.tag
        invoke_ns = self._events.op_invoke(str(name), command.id)
        error: str | None = None
        try:
            error = yield from self._do(command)
        except KafkaTrialError as failure:
            error = self._survived(str(name), failure)
        self._events.op_complete(str(name), command.id, invoke_ns, error)
        if isinstance(command, Close):
            self._events.shutdown_complete()
            self.has_ended = True

    def _do(self, command: contract.ConsumerCommand | Close) -> Doing[str | None]:
        core = self._core
        match command:
            case contract.Subscribe():
                yield from self._subscribe(command)
            case contract.Assign():
                yield from self._assign(command)
            case contract.Unsubscribe():
                self._polls = False
                yield from self._call(core.unsubscribe())
                self._owned.processed.clear()
            case contract.Seek(position=at):
                self._seek((at.topic, at.partition), at.offset)
            case contract.Pause(partitions=asked):
                core.pause(places(asked))
            case contract.Resume(partitions=asked):
                core.resume(places(asked))
            case contract.Commit(how=how):
                return (yield from self._commit(dict(self._owned.processed), how))
            case contract.Attempt():
                yield from self._attempt(command)
            case contract.Process(processing_ms=processing_ms):
                self._processing_ms = processing_ms
            case contract.Throw(callback=callback, times=times):
                self._owned.throws[callback] = times
            case contract.Wakeup():
                core.wakeup()
            case Close(timeout_ms=timeout_ms):
                yield from self._call(core.close(timeout_ms))
        return None

    def _subscribe(self, command: contract.Subscribe) -> Doing[None]:
        self._commit_mode, self._processing_ms = command.commit, command.processing_ms
        if command.pattern is not None:
            self._core.subscribe_pattern(pattern_of(command.pattern), self._owned)
        else:
            yield from self._call(self._core.subscribe(command.topics, self._owned))
        self._polls = True

    def _assign(self, command: contract.Assign) -> Doing[None]:
        self._commit_mode, self._processing_ms = command.commit, command.processing_ms
        yield from self._call(self._core.assign((each.topic, each.partition) for each in command.partitions))
        for each in command.partitions:
            if each.offset != contract.LATEST:
                self._seek((each.topic, each.partition), each.offset)
        self._polls = True

    def _attempt(self, command: contract.Attempt) -> Doing[None]:
        if command.call == "poll":
            records = yield from self._call(self._core.poll(POLL_MS))
            if len(records):
                yield from self._take(list(records))
        else:
            yield from self._call(
                self._core.assign((each.topic, each.partition) for each in command.partitions)
            )

    def _seek(self, place: TopicPartition, offset: int) -> None:
        self._owned.processed.pop(place, None)
        if offset == contract.LATEST:
            self._core.seek_to_end([place])
        elif offset == contract.EARLIEST:
            self._core.seek_to_beginning([place])
        else:
            self._core.seek(place, offset)

    def _survived(self, call: str, error: Exception) -> str:
        """Report an exception of the consumer, and return its name."""
        retriable = error.retriable if isinstance(error, ConsumerError) else None
        self._events.emit(
            contract.ConsumerError, call=call, error=_name(error), message=str(error), retriable=retriable
        )
        return _name(error)

    # Calls

    def _call(self, call: Call[T]) -> Doing[T]:
        """Run a call of the core to its end. The application's own code runs at once."""
        value: Any = None
        error: Exception | None = None
        while True:
            self._core.at(self._events.now_ns // NS_PER_MS)
            try:
                step = call.send(value) if error is None else call.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
            value = error = None
            if isinstance(step, Wait):
                until_ns = None if step.until_ms is None else step.until_ms * NS_PER_MS
                yield Waits(self._core.progress, until_ns)
                value = self._events.now_ns // NS_PER_MS
                continue
            value, error = _run(step.call)


def _run(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except Exception as raised:
        return None, raised


def _name(error: Exception) -> str:
    return error.name if isinstance(error, ConsumerError) else type(error).__name__
