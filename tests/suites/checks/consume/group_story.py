"""The evidence of a trial whose clients consume, built step by step. Time is in milliseconds since load began."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace as changed

from harness.model.consumer_contract import (
    Consumed,
    ConsumerError,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    Place,
    Position,
    RecordsConsumed,
)
from harness.model.contract import AnyEvent, OpComplete, OpInvoke, ShutdownComplete, Stats
from harness.model.evidence import Evidence
from harness.model.harness_events import (
    HARNESS,
    AsideWritten,
    GroupCommitted,
    MemberFrozen,
    MemberKilled,
    MemberStarted,
    MemberThawed,
    RecordsWritten,
    TransactionEnded,
)
from harness.model.payload import Identity, encode
from harness.model.rows import Ending, FaultRow, LogRecord, Phases, TrialRecord
from harness.model.spec import AtTime, ClientRef, FaultSpec, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.workloads.consume.profile import consumer_config
from tests.suites.story import RUN, TOPIC, ns


@dataclass
class GroupStory:
    """Members ``m1``, ``m2`` read two partitions, to which the harness writes."""

    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    partitions: int = 2
    heal_ms: float = 6_000
    final_ms: float = 7_000
    end_ms: float = 60_000
    config: dict[str, str] = field(default_factory=dict)
    not_set: dict[str, str] = field(default_factory=dict)
    events: list[AnyEvent] = field(default_factory=list)
    faults: list[FaultRow] = field(default_factory=list)
    log: list[LogRecord] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)
    static: int = 0
    stopped_ms: dict[str, float] = field(default_factory=dict)
    written: int = 0

    def write(self, count: int, partition: int, at_ms: float = 0) -> None:
        """The harness writes records to the end of a partition."""
        first = self.written
        self.written += count
        offset = sum(row.partition == partition for row in self.log)
        for each in range(count):
            value = encode(Identity(RUN, TOPIC, "p1", first + each), 60)
            self.log.append(
                LogRecord(
                    topic=TOPIC,
                    partition=partition,
                    offset=offset + each,
                    base_offset=offset,
                    timestamp_ms=0,
                    producer_id=-1,
                    producer_epoch=-1,
                    sequence=-1,
                    control=False,
                    crc_ok=True,
                    key=None,
                    value=value,
                )
            )
        numbers = list(range(first, first + count))
        offsets = list(range(offset, offset + count))
        self._add(
            RecordsWritten,
            HARNESS,
            at_ms,
            numbers=numbers,
            partitions=[partition] * count,
            offsets=offsets,
            invoke_ns=ns(at_ms),
        )

    def transaction(
        self, count: int, partition: int, at_ms: float, end_ms: float, *, commits: bool, producer: int = 7
    ) -> None:
        """The harness writes records aside in a transaction, and ends it later."""
        offset = sum(row.partition == partition for row in self.log)
        for each in range(count + 1):
            is_marker = each == count
            self.log.append(
                LogRecord(
                    topic=TOPIC,
                    partition=partition,
                    offset=offset + each,
                    base_offset=offset + (count if is_marker else 0),
                    timestamp_ms=0,
                    producer_id=producer,
                    producer_epoch=0,
                    sequence=-1 if is_marker else each,
                    control=is_marker,
                    crc_ok=True,
                    key=("COMMIT" if commits else "ABORT") if is_marker else None,
                    value=None if is_marker else encode(Identity(TOPIC, TOPIC, "aside", offset + each), 60),
                )
            )
        self._add(
            TransactionEnded,
            HARNESS,
            end_ms,
            producer_id=producer,
            producer_epoch=0,
            committed=commits,
            partitions=[partition] * count,
            offsets=list(range(offset, offset + count)),
            ends=[partition],
            began_ns=ns(at_ms),
            invoke_ns=ns(end_ms),
        )

    def lose(self, count: int, partition: int, at_ms: float) -> list[str]:
        """The harness writes records aside that the log will not have. Return their values."""
        offset = sum(row.partition == partition for row in self.log)
        values = [encode(Identity(TOPIC, TOPIC, "aside", 900 + each), 60) for each in range(count)]
        offsets = list(range(offset, offset + count))
        self._add(
            AsideWritten, HARNESS, at_ms, partitions=[partition] * count, offsets=offsets, values=values
        )
        return values

    def start(self, *members: str, at_ms: float = -1_000, companion: str = "") -> None:
        for member in members:
            self.members.append(member)
            self._add(MemberStarted, HARNESS, at_ms, member=member, companion=companion)

    def assign(self, member: str, *partitions: int, at_ms: float, generation: int = 1) -> None:
        self._add(PartitionsAssigned, member, at_ms, partitions=_places(partitions), generation=generation)

    def revoke(self, member: str, *partitions: int, at_ms: float, lost: bool = False) -> None:
        kind = PartitionsLost if lost else PartitionsRevoked
        self._add(kind, member, at_ms, partitions=_places(partitions))

    def take(
        self,
        member: str,
        partition: int,
        *offsets: int,
        at_ms: float,
        took_ms: float = 10,
        value: str | None = None,
    ) -> None:
        """A poll of ``member`` returns records. It has processed and reports them ``took_ms`` later."""
        known = {(row.partition, row.offset): row.value for row in self.log}
        part = Consumed(
            topic=TOPIC,
            partition=partition,
            count=len(offsets),
            min_offset=min(offsets),
            max_offset=max(offsets),
            offsets=list(offsets),
            values=[value or known.get((partition, offset)) for offset in offsets],
        )
        self._add(
            RecordsConsumed,
            member,
            at_ms + took_ms,
            count=len(offsets),
            partitions=[part],
            polled_ns=ns(at_ms),
        )

    def commit(
        self,
        member: str,
        partition: int,
        offset: int,
        at_ms: float,
        took_ms: float = 5,
        success: bool = True,
        how: str = "sync",
    ) -> None:
        self._add(
            OffsetsCommitted,
            member,
            at_ms + took_ms,
            offsets=[Position(TOPIC, partition, offset)],
            success=success,
            how=how,
            invoke_ns=ns(at_ms),
            complete_ns=ns(at_ms + took_ms),
        )

    def numbered(self, seq: int) -> None:
        """The process numbers its last event so."""
        self.events[-1] = changed(self.events[-1], seq=seq)

    def beat(self, member: str, *moments_ms: float) -> None:
        """A process has a heartbeat at these moments only."""
        for at_ms in moments_ms:
            self._add(Stats, member, at_ms, sent=0, completed=0)

    def stored(self, **offsets: int) -> None:
        """The coordinator has these offsets after the trial, by partition: ``p0=5``."""
        places = [Position(TOPIC, int(name[1:]), offset) for name, offset in offsets.items()]
        self._add(GroupCommitted, HARNESS, self.end_ms, group=TOPIC, offsets=places)

    def freeze(self, member: str, begin_ms: float, end_ms: float) -> None:
        self._add(MemberFrozen, member, begin_ms)
        self._add(MemberThawed, member, end_ms)
        self.fault("member_freeze", begin_ms, end_ms)

    def kill(self, member: str, at_ms: float) -> None:
        self.stopped_ms[member] = at_ms
        self._add(MemberKilled, member, at_ms)

    def sought(self, member: str, at_ms: float) -> None:
        self.done("seek", member, at_ms)

    def close(self, member: str, at_ms: float, took_ms: float = 100) -> None:
        self._add(OpInvoke, member, at_ms, op="close", id=9, count=0)
        self.done("close", member, at_ms + took_ms)
        self._add(ShutdownComplete, member, at_ms + took_ms)
        self.stopped_ms[member] = at_ms + took_ms

    def fault(self, kind: str, begin_ms: float, end_ms: float, **params: int) -> None:
        spec = FaultSpec(kind, AtTime(max(0, int(begin_ms))), int(end_ms - begin_ms), params)
        window = ns(begin_ms), ns(end_ms)
        self.faults.append(FaultRow(len(self.faults), spec, window, window, 1))

    def evidence(self) -> Evidence:
        """Return the evidence. Each process has a heartbeat each second, unless it is ``silent``."""
        history = list(self.events)
        for member in self.members:
            if member not in self.silent:
                history += self._beats(member)
        history.sort(key=lambda event: event.mono_ns)
        spec = TrialSpec(
            client=ClientRef("c", "1"),
            broker="b:1",
            scenario="group/join",
            guarantee=self.guarantee,
            seed=1,
            trial="trial",
            workload=Workload(
                kind="consume",
                records=max(1, len(self.log)),
                partitions=self.partitions,
                params={"members": 2, "static": self.static},
            ),
            faults=tuple(row.spec for row in self.faults),
            config=consumer_config(self.guarantee, self.config),
        )
        record = TrialRecord(
            spec=spec,
            run_id=RUN,
            topic=TOPIC,
            lane=0,
            phases=Phases(ns(0), ns(self.heal_ms), ns(self.final_ms), ns(self.end_ms)),
            ending=Ending.COMPLETE,
            not_set=self.not_set,
        )
        log = tuple(sorted(self.log, key=lambda row: (row.partition, row.offset)))
        return Evidence(record, tuple(history), (), tuple(self.faults), log)

    def _beats(self, member: str) -> list[AnyEvent]:
        until_ms = self.stopped_ms.get(member, self.end_ms)
        return [
            Stats(seq=0, mono_ns=ns(at_ms), wall_ns=0, producer=member, sent=0, completed=0)
            for at_ms in range(-1_000, int(until_ms), 1_000)
        ]

    def fails(self, member: str, call: str, at_ms: float) -> None:
        """The application gets an exception."""
        self._add(ConsumerError, member, at_ms, call=call, error="KafkaException")

    def done(
        self,
        op: str,
        member: str,
        at_ms: float,
        error: str | None = None,
        id: int = 9,
        took_ms: float = 0,
    ) -> None:
        self._add(
            OpComplete,
            member,
            at_ms,
            op=op,
            id=id,
            outcome=["ok" if error is None else "fail"],
            error=[error],
            invoke_ns=[ns(at_ms - took_ms)],
            complete_ns=[ns(at_ms)],
        )

    def _add(self, kind: type[AnyEvent], process: str, at_ms: float, **fields: object) -> None:
        self.events.append(kind(seq=0, mono_ns=ns(at_ms), wall_ns=0, producer=process, **fields))


def _places(partitions: tuple[int, ...]) -> list[Place]:
    return [Place(TOPIC, partition) for partition in partitions]


__all__ = ["GroupStory", "ns"]
