"""A client program as one consumer: its commands, and its events, each checked by the rules of the contract."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from harness.adapter.protocol_rules import ProtocolRules
from harness.model.consumer_contract import (
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    Place,
    RecordsConsumed,
)
from harness.model.contract import (
    AnyEvent,
    Close,
    Command,
    Configure,
    Configured,
    OpComplete,
    ShutdownComplete,
    StartupComplete,
    UnknownCommand,
)

T = TypeVar("T", bound=AnyEvent)
#: A program writes ``stats`` each second, so this limit is noticed even if nothing else happens.
LIMIT_S = 60
CLOSE_TIMEOUT_MS = 10_000
_NS_PER_S = 1_000_000_000


class Member:
    """A process of one client, configured as a consumer. ``events`` are those read so far.

    Every wait raises RuleBroken for an event that breaks the contract, and AssertionError after LIMIT_S. ``stuck`` is
    called before that.
    """

    def __init__(self, process: subprocess.Popen[bytes], stuck: Callable[[], object] = lambda: None) -> None:
        self.process, self._stuck = process, stuck
        self.events: list[AnyEvent] = []
        self._rules = ProtocolRules(time.monotonic_ns() - LIMIT_S * _NS_PER_S)
        self._ids = itertools.count(1)
        self.features = tuple(self._next(StartupComplete).features)

    def configure(self, config: Mapping[str, Any]) -> Configured:
        """Build the consumer, and return what was applied."""
        number = next(self._ids)
        self._write(Configure(id=number, run_id="r", instance="m", role="consumer", config=dict(config)))
        configured: Configured = self._next(Configured)
        return configured

    def ask(self, kind: Callable[..., Command], **fields: Any) -> int:
        """Write a command, and return its id."""
        command = kind(id=next(self._ids), **fields)
        self._write(command)
        return command.id

    def call(self, kind: Callable[..., Command], **fields: Any) -> OpComplete | UnknownCommand:
        """Write a command, and return its answer."""
        number = self.ask(kind, **fields)
        answer: OpComplete | UnknownCommand = self.until(bool, OpComplete, UnknownCommand, id=number)
        return answer

    def done(self, kind: Callable[..., Command], **fields: Any) -> None:
        """Write a command whose answer must be ok."""
        answer = self.call(kind, **fields)
        assert isinstance(answer, OpComplete) and answer.outcome == ["ok"], answer

    def until(self, accept: Callable[[Any], Any], *kinds: type[Any], **fields: Any) -> Any:
        """Read events until one of these kinds, with these fields, for which ``accept`` is true. Return it."""
        while True:
            event = self._next(*kinds)
            same = all(getattr(event, name) == value for name, value in fields.items())
            if same and accept(event):
                return event

    def until_true(self, condition: Callable[[], bool]) -> None:
        """Read events until a condition of them holds."""
        limit = time.monotonic() + LIMIT_S
        while not condition():
            self._read()
            self._assert_before(limit, condition)

    def close(self) -> list[AnyEvent]:
        """Close the client. Return the events from then on. The exit code must be 0."""
        begin = len(self.events)
        self.done(Close, timeout_ms=CLOSE_TIMEOUT_MS)
        self._next(ShutdownComplete)
        assert self.process.wait(LIMIT_S) == 0
        return self.events[begin:]

    def of(self, kind: type[T]) -> list[T]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def records(self, since: int = 0) -> dict[int, list[tuple[int, str | None]]]:
        """Partition -> (offset, value) in the order of delivery, of the events from index ``since`` on."""
        read: dict[int, list[tuple[int, str | None]]] = defaultdict(list)
        for event in self.events[since:]:
            if isinstance(event, RecordsConsumed):
                for part in event.partitions:
                    read[part.partition] += zip(part.offsets, part.values, strict=True)
        return read

    def committed(self) -> dict[int, int]:
        """Partition -> the offset of the newest successful commit."""
        done = (event for event in self.of(OffsetsCommitted) if event.success)
        return {at.partition: at.offset for event in done for at in event.offsets}

    def owned(self) -> set[Place]:
        """The partitions that the listener's calls leave to the member."""
        owned: set[Place] = set()
        for event in self.events:
            if isinstance(event, PartitionsAssigned):
                owned |= set(event.partitions)
            elif isinstance(event, PartitionsRevoked | PartitionsLost):
                owned -= set(event.partitions)
        return owned

    def _write(self, command: Command) -> None:
        assert self.process.stdin is not None
        self._rules.asked(command)
        self.process.stdin.write(msgspec.json.encode(command) + b"\n")

    def _next(self, *kinds: type[Any]) -> Any:
        limit = time.monotonic() + LIMIT_S
        while True:
            event = self._read()
            if isinstance(event, kinds):
                return event
            self._assert_before(limit, kinds)

    def _assert_before(self, limit: float, awaited: object) -> None:
        if time.monotonic() >= limit:
            self._stuck()
            raise AssertionError(awaited, self.events[-20:])

    def _read(self) -> AnyEvent | None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the program ended after {self.events[-5:]}"
        event = self._rules.said(line, time.monotonic_ns())
        if event is not None:
            self.events.append(event)
        return event
