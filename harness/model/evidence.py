"""Evidence: everything that one trial left, and the two views of it that judgement needs.

Pure and read-only. ``operations`` folds the clients' events into one row per record: the result of sending it, or its
first delivery to a consumer. ``copies`` finds each record's places in the log. The outcome of a record that was invoked
and never completed is ``info``: unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, TypeVar

import msgspec

from harness.model.consumer_contract import RecordsConsumed
from harness.model.contract import WHOLE_OPS, AnyEvent, OpComplete, OpInvoke
from harness.model.harness_events import RecordsWritten
from harness.model.load import FIRST
from harness.model.payload import Identity, decode
from harness.model.rows import Disposition, FaultRow, Frame, LogRecord, TrialRecord
from harness.model.tcp_facts import TcpFact
from harness.model.verdicts import Outcome

PRODUCER = FIRST
Seen = TypeVar("Seen")
_OUTCOMES: dict[str, Outcome] = {outcome.value: outcome for outcome in Outcome}


class Operation(msgspec.Struct, frozen=True, gc=False):
    """One element of the load, such as a record, as its client reported it.

    ``complete_ns`` is None if the element has no result. ``partition`` and ``offset`` are -1, and ``value`` is None, if
    the client did not report them.
    """

    n: int
    invoke_ns: int
    complete_ns: int | None = None
    outcome: Outcome = Outcome.INFO
    partition: int = -1
    offset: int = -1
    error: str | None = None
    value: str | None = None

    @property
    def pending(self) -> bool:
        """True if the client never reported a result."""
        return self.complete_ns is None


@dataclass(frozen=True)
class Evidence:
    """The complete input of judgement."""

    record: TrialRecord
    history: tuple[AnyEvent, ...]
    frames: tuple[Frame, ...]
    faults: tuple[FaultRow, ...]
    log: tuple[LogRecord, ...]
    #: The client's decisions, if it traces them (channel A). No check of a promise may depend on them.
    trace: tuple[Any, ...] = ()
    #: Frames that a fault kept from passing, so that the receiver never got them.
    blocked_frames: tuple[Frame, ...] = ()
    #: The packet capture's facts about the client's side; empty without a capture.
    tcp: tuple[TcpFact, ...] = ()
    #: The producer that this evidence is about (:mod:`harness.model.parts`).
    producer: str = PRODUCER

    @cached_property
    def operations(self) -> dict[int, Operation]:
        """Element number -> what the client reported about it, in invocation order."""
        invoked: dict[int, int] = {}
        completed: dict[int, Operation] = {}
        # A member may report a record before the harness notes that it was written.
        for event in self.history:
            if isinstance(event, RecordsWritten):
                invoked |= dict.fromkeys(event.numbers, event.invoke_ns)
        # A stored event may claim any count; the plan limits the number of elements.
        left = self.record.spec.workload.records
        for event in self.history:
            if isinstance(event, OpInvoke) and event.op not in WHOLE_OPS:
                for n in range(event.first, event.first + min(event.count, left)):
                    invoked.setdefault(n, event.mono_ns)
                left -= max(0, min(event.count, left))
            elif isinstance(event, OpComplete) and event.op not in WHOLE_OPS:
                _complete(completed, event)
            elif isinstance(event, RecordsConsumed):
                self._consume(completed, invoked, event)
        begun = {n: completed.get(n) or Operation(n, invoke_ns) for n, invoke_ns in invoked.items()}
        return begun | completed

    def _consume(
        self, completed: dict[int, Operation], invoked: dict[int, int], event: RecordsConsumed
    ) -> None:
        """Complete each of the harness's records that a member of the group got for the first time."""
        for part in event.partitions:
            for offset, value in zip(part.offsets, part.values, strict=True):
                identity = decode(value)
                if identity is None or not self.is_ours(identity):
                    continue
                n = identity.n
                if n in invoked and n not in completed:
                    completed[n] = Operation(
                        n, invoked[n], event.polled_ns, Outcome.OK, part.partition, offset
                    )

    @cached_property
    def acknowledged(self) -> dict[int, Operation]:
        """The operations with the outcome ok."""
        return {n: each for n, each in self.operations.items() if each.outcome is Outcome.OK}

    @cached_property
    def identities(self) -> tuple[Identity | None, ...]:
        """The identity in each record of ``log``; None if the value is damaged or not from kafka-trial."""
        return tuple([decode(record.value) for record in self.log])

    @cached_property
    def numbers(self) -> tuple[int | None, ...]:
        """The number of each record of ``log``; None if the record is not from this trial."""
        run_id, topic, producer = self.own
        return tuple(
            [
                each[3]
                if each is not None and each[0] == run_id and each[1] == topic and each[2] == producer
                else None
                for each in self.identities
            ]
        )

    @cached_property
    def copies(self) -> dict[int, list[LogRecord]]:
        """Record number -> its places in the log, in log order, without foreign and damaged records."""
        copies: dict[int, list[LogRecord]] = {}
        for record, n in zip(self.log, self.numbers, strict=True):
            if n is None or record.control:
                continue
            known = copies.get(n)
            if known is None:
                copies[n] = [record]
            else:
                known.append(record)
        return copies

    def is_ours(self, identity: Identity) -> bool:
        """Return True if ``identity`` names this run, trial and producer."""
        return identity[:3] == self.own

    @cached_property
    def own(self) -> tuple[str, str, str]:
        """The run, trial and producer with which the identity of each of this trial's records begins."""
        return self.record.run_id, self.record.topic, self.producer

    @cached_property
    def views(self) -> dict[Callable[..., Any], Any]:
        """The cached results of each :func:`view`."""
        return {}


def view(find: Callable[[Evidence], Seen]) -> Callable[[Evidence], Seen]:
    """Make ``find`` run once per evidence and cache its result. Callers must not change the result."""

    @wraps(find)
    def seen(evidence: Evidence) -> Seen:
        views = evidence.views
        if find not in views:
            views[find] = find(evidence)
        found: Seen = views[find]
        return found

    return seen


def passed_and_stopped(rows: Iterable[Frame]) -> tuple[tuple[Frame, ...], tuple[Frame, ...]]:
    """Split the witness's rows into ``frames`` and ``blocked_frames`` of an Evidence."""
    passed: list[Frame] = []
    stopped: list[Frame] = []
    for row in rows:
        (stopped if row.disposition is Disposition.BLOCKED else passed).append(row)
    return tuple(passed), tuple(stopped)


def _complete(completed: dict[int, Operation], event: OpComplete) -> None:
    rows = len(event.records)
    for n, invoke_ns, complete_ns, outcome, partition, offset, error, value in zip(
        event.records,
        event.invoke_ns,
        event.complete_ns,
        event.outcome,
        event.partition or [-1] * rows,
        event.offset or [-1] * rows,
        event.error,
        event.value or [None] * rows,
        strict=True,
    ):
        completed[n] = Operation(
            n, invoke_ns, complete_ns, _OUTCOMES[outcome], partition, offset, error, value
        )
