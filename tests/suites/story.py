"""The evidence of a trial, built step by step: the events of a producer, a broker and a witness.

Time is in milliseconds since load began. There is one producer, and one broker that appends at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from msgspec.structs import replace as restruct

from harness.model.contract import AnyEvent, OpComplete, OpInvoke, ShutdownComplete, Stats
from harness.model.evidence import PRODUCER, Evidence
from harness.model.payload import Identity, encode
from harness.model.rows import Ending, FaultRow, Frame, FrameKind, LogRecord, Phases, ProducePart, TrialRecord
from harness.model.spec import AtTime, ClientRef, FaultSpec, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.workloads.produce.commands import key_of
from harness.workloads.produce.profile import producer_config

RUN, TOPIC = "run", "run-0"
MS = 1_000_000
T0 = 5_000_000 * MS
HEAL_MS = 6_000
LIMIT_MS = 30_000 + 10_000 + 5_000  # delivery.timeout.ms, max.block.ms, and the slack of the checks


def ns(at_ms: float) -> int:
    """Return the monotonic clock this long after load began."""
    return T0 + int(at_ms * MS)


def stalled(evidence: Evidence, *moments_ms: float) -> Evidence:
    """Return the evidence of a harness that stalled in these periods, given as begin, end, begin, end and so on."""
    stalls = tuple(
        (ns(begin_ms), ns(end_ms)) for begin_ms, end_ms in zip(moments_ms[::2], moments_ms[1::2], strict=True)
    )
    return replace(evidence, record=restruct(evidence.record, harness_stalls=stalls))


@dataclass
class Story:
    """The events of one trial, in the order of the calls."""

    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    config: dict[str, str | int | bool] = field(default_factory=dict)
    workload: Workload = field(default_factory=lambda: Workload(partitions=2, keys=4, value_bytes=60))
    history: list[AnyEvent] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    faults: list[FaultRow] = field(default_factory=list)
    log: list[LogRecord] = field(default_factory=list)
    not_set: dict[str, str] = field(default_factory=dict)
    ending: Ending = Ending.COMPLETE
    shuts_down: bool = True
    never_called: int = 0
    final_ms: float = 7_000
    end_ms: float = 60_000
    called_ms: dict[int, float] = field(default_factory=dict)
    correlation: int = 0

    def beat(self, *at_ms: float) -> None:
        for at in at_ms:
            self.history.append(Stats(seq=0, mono_ns=ns(at), wall_ns=0, sent=0, completed=0))

    def call(self, *numbers: int, at_ms: float = 0) -> None:
        """The harness gives the client these records."""
        for n in numbers:
            self.called_ms[n] = at_ms
            self.history.append(
                OpInvoke(seq=0, mono_ns=ns(at_ms), wall_ns=0, op="send", id=1, first=n, count=1)
            )

    def result(
        self,
        n: int,
        at_ms: float,
        partition: int = 0,
        offset: int = -1,
        outcome: str = "ok",
        error: str | None = None,
    ) -> None:
        """The client reports the result of record ``n``."""
        self.history.append(
            OpComplete(
                seq=0,
                mono_ns=ns(at_ms),
                wall_ns=0,
                op="send",
                id=1,
                outcome=[outcome],
                error=[error],
                invoke_ns=[ns(self.called_ms[n])],
                complete_ns=[ns(at_ms)],
                records=[n],
                partition=[partition],
                offset=[offset],
            )
        )

    def finished(self, op: str, at_ms: float, outcome: str = "ok") -> None:
        """The client reports that its flush or close is complete."""
        self.history.append(
            OpComplete(
                seq=0,
                mono_ns=ns(at_ms),
                wall_ns=0,
                op=op,
                id=2,
                outcome=[outcome],
                error=[None],
                invoke_ns=[ns(at_ms)],
                complete_ns=[ns(at_ms)],
            )
        )

    def record(self, n: int, partition: int, **changes: object) -> LogRecord:
        """Return record ``n`` as the client sends it, at the end of a partition."""
        offset = max((r.offset for r in self.log if r.partition == partition), default=-1) + 1
        whole = LogRecord(
            topic=TOPIC,
            partition=partition,
            offset=offset,
            base_offset=offset,
            timestamp_ms=0,
            producer_id=-1,
            producer_epoch=-1,
            sequence=-1,
            control=False,
            crc_ok=True,
            key=key_of(self.workload, n),
            value=encode(Identity(RUN, TOPIC, PRODUCER, n), self.workload.value_bytes),
        )
        return restruct(whole, **changes)

    def append(self, numbers: list[int], partition: int, **changes: object) -> int:
        """Append a batch to the log, and return its base offset."""
        base = self.record(0, partition).offset
        crc = hash((partition, tuple(numbers))) % 2**32
        for index, n in enumerate(numbers):
            sequence = changes.get("sequence", -1)
            self.log.append(
                self.record(
                    n,
                    partition,
                    **{"base_offset": base, "batch_crc": crc}
                    | changes
                    | {"sequence": -1 if sequence == -1 else sequence + index},
                )
            )
        return base

    def request(
        self,
        numbers: list[int],
        partition: int,
        at_ms: float,
        conn: int = 1,
        sequence: tuple[int, int, int] | None = None,
    ) -> ProducePart:
        """A Produce request passes the witness."""
        self.correlation += 1
        producer_id, epoch, base = sequence or (-1, -1, -1)
        part = ProducePart(
            topic=TOPIC,
            partition=partition,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=base,
            records=len(numbers),
            crc=hash((partition, tuple(numbers))) % 2**32,
        )
        self._frame(FrameKind.REQUEST, at_ms, conn, produce=(part,), correlation_id=self.correlation)
        return part

    def answer(
        self, partition: int, base_offset: int, at_ms: float, conn: int = 1, error_code: int = 0
    ) -> None:
        """The response to the last Produce request passes the witness."""
        part = ProducePart(topic=TOPIC, partition=partition, base_offset=base_offset, error_code=error_code)
        errors = (error_code,) if error_code else ()
        self._frame(
            FrameKind.RESPONSE,
            at_ms,
            conn,
            produce=(part,),
            correlation_id=self.correlation,
            error_codes=errors,
        )

    def other(self, kind: FrameKind, at_ms: float, conn: int = 1, **fields: object) -> None:
        """A Metadata frame passes the witness."""
        self.frames.append(
            Frame(ns(at_ms), 0, 1, conn, kind, api_key=3, api="Metadata", correlation_id=1_000, **fields)
        )

    def together(self, count: int) -> None:
        """Merge the last ``count`` frames into one request, or one response, with several partitions."""
        frames, self.frames = self.frames[-count:], self.frames[:-count]
        produce = tuple(part for frame in frames for part in frame.produce)
        errors = tuple(code for frame in frames for code in frame.error_codes)
        self.frames.append(restruct(frames[0], produce=produce, error_codes=errors))
        self.correlation = frames[0].correlation_id or self.correlation

    def deliver(self, numbers: list[int], partition: int, at_ms: float, conn: int = 1) -> int:
        """Add a request, its append and its response within a millisecond, and return the base offset."""
        self.request(numbers, partition, at_ms, conn)
        base = self.append(numbers, partition)
        self.answer(partition, base, at_ms + 1, conn)
        return base

    def open(self, conn: int, at_ms: float) -> None:
        """The client opens a connection."""
        self._frame(FrameKind.OPEN, at_ms, conn)

    def close(self, conn: int, at_ms: float) -> None:
        """A connection ends."""
        self.frames.append(
            Frame(t_ns=ns(at_ms), lane=0, broker=1, conn=conn, kind=FrameKind.CLOSE, closed_by="client")
        )

    def fault(
        self, kind: str, begin_ms: float | None, end_ms: float = 0, hits: int = 1, **params: int
    ) -> None:
        """Add a fault. With ``begin_ms`` None it never took effect."""
        window = None if begin_ms is None else (ns(begin_ms), ns(end_ms))
        start = AtTime(int(begin_ms or 0))
        spec = FaultSpec(kind, start, int(end_ms - (begin_ms or 0)), params)
        self.faults.append(FaultRow(len(self.faults), spec, window, window, hits, window))

    def evidence(self) -> Evidence:
        spec = TrialSpec(
            trial="t",
            client=ClientRef("c", "1"),
            broker="b:1",
            scenario="produce/calm",
            guarantee=self.guarantee,
            seed=1,
            workload=restruct(self.workload, records=len(self.called_ms) + self.never_called),
            faults=tuple(row.spec for row in self.faults),
            config=producer_config(self.guarantee, self.config),
        )
        record = TrialRecord(
            spec=spec,
            run_id=RUN,
            topic=TOPIC,
            lane=0,
            phases=Phases(ns(0), ns(HEAL_MS), ns(self.final_ms), ns(self.end_ms)),
            ending=self.ending,
            not_set=self.not_set,
        )
        frames = tuple(sorted(self.frames, key=lambda frame: frame.t_ns))
        history = list(self.history)
        if self.shuts_down and history:
            history.append(ShutdownComplete(seq=0, mono_ns=max(e.mono_ns for e in history), wall_ns=0))
        return Evidence(record, tuple(history), frames, tuple(self.faults), tuple(self.log))

    def _frame(self, kind: FrameKind, at_ms: float, conn: int, **fields: object) -> None:
        self.frames.append(
            Frame(t_ns=ns(at_ms), lane=0, broker=1, conn=conn, kind=kind, api_key=0, api="Produce", **fields)
        )
