"""Little stories of a producer, a broker and a witness, told by hand or drawn at random, as evidence.

``Story`` is the builder: time in milliseconds since load began, one producer, one broker that appends at once.
``faithful`` draws the story of a client and a broker that do everything right while batches meet every kind of
mishap: whatever a check says about such a story is a false accusation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace as restruct

from harness.contract import AnyEvent, OpComplete, OpInvoke, ShutdownComplete, Stats
from harness.evidence import PRODUCER, Evidence
from harness.outcome import Guarantee
from harness.plan import producer_config
from harness.rows import (
    Ending,
    FaultRow,
    Frame,
    FrameKind,
    LogRecord,
    Phases,
    ProducePart,
    TrialRecord,
)
from harness.spec import ClientRef, Elapsed, FaultSpec, TrialSpec, Workload
from harness.value import Identity, encode
from harness.workload import key_of

RUN, TOPIC = "run", "run-0"
MS = 1_000_000
T0 = 5_000_000 * MS
HEAL_MS = 6_000


def ns(at_ms: float) -> int:
    return T0 + int(at_ms * MS)


@dataclass
class Story:
    """What happened in one trial, in the order in which it is told."""

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
        """The client is handed these records."""
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
        """The client says what became of record ``n``."""
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
        """The client says that its flush or close is done."""
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
        """Record ``n`` as the client sends it, at the end of a partition."""
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
        """Put a batch into the log; returns its base offset."""
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
        """The answer to the last Produce request passes the witness."""
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
        """A frame of Metadata passes the witness."""
        self.frames.append(
            Frame(ns(at_ms), 0, 1, conn, kind, api_key=3, api="Metadata", correlation_id=1_000, **fields)
        )

    def together(self, count: int) -> None:
        """The last ``count`` frames were one: a request, or an answer, with several partitions."""
        frames, self.frames = self.frames[-count:], self.frames[:-count]
        produce = tuple(part for frame in frames for part in frame.produce)
        errors = tuple(code for frame in frames for code in frame.error_codes)
        self.frames.append(restruct(frames[0], produce=produce, error_codes=errors))
        self.correlation = frames[0].correlation_id or self.correlation

    def deliver(self, numbers: list[int], partition: int, at_ms: float, conn: int = 1) -> int:
        """Request, append, answer within a millisecond; returns the base offset."""
        self.request(numbers, partition, at_ms, conn)
        base = self.append(numbers, partition)
        self.answer(partition, base, at_ms + 1, conn)
        return base

    def open(self, conn: int, at_ms: float) -> None:
        """The client connects."""
        self._frame(FrameKind.OPEN, at_ms, conn)

    def close(self, conn: int, at_ms: float) -> None:
        """A connection ends."""
        self.frames.append(
            Frame(t_ns=ns(at_ms), lane=0, broker=1, conn=conn, kind=FrameKind.CLOSE, closed_by="client")
        )

    def fault(
        self, kind: str, begin_ms: float | None, end_ms: float = 0, hits: int = 1, **params: int
    ) -> None:
        """A fault as it was; ``begin_ms`` None: it never took effect."""
        window = None if begin_ms is None else (ns(begin_ms), ns(end_ms))
        start = Elapsed(int(begin_ms or 0))
        spec = FaultSpec(kind, start, int(end_ms - (begin_ms or 0)), params)
        self.faults.append(FaultRow(len(self.faults), spec, window, window, hits))

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
            config=producer_config(self.guarantee, "none", self.config),
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


MISHAPS = ("none", "answer lost", "answer dropped", "request lost", "refused", "in silence", "trickles")
#: The request timeout of the stories, and how long a fault lasts that holds bytes back for longer.
TIMEOUT_MS, TRICKLE_MS = 3_000, 4_000
OUTCOMES = ("ok", "ok", "ok", "info")


@dataclass
class Client:
    """A correct client and a correct broker: it retries for a reason, and claims only what it knows.

    ``is_parallel``: it has a connection a partition, all to one broker; what becomes of one leaves the others alone.
    """

    story: Story
    now_ms: float = 10
    is_parallel: bool = False
    conns: dict[int, int] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    #: What the broker does, and the witness sees, when a batch has its result: bytes of connections long abandoned.
    late: list[Callable[[], None]] = field(default_factory=list)

    def way(self, partition: int) -> int:
        """The connection for a partition, made where there is none."""
        key = partition if self.is_parallel else 0
        if key not in self.conns:
            self.conns[key] = max((frame.conn for frame in self.story.frames), default=0) + 1
            self.story.open(self.conns[key], self.now_ms)
        return self.conns[key]

    def leave(self, partition: int) -> None:
        """The client's connection is gone, or it leaves it."""
        del self.conns[partition if self.is_parallel else 0]

    def send(self, numbers: list[int], partition: int, mishap: str, outcome: str) -> None:
        """One batch from call to result."""
        story, idempotent = self.story, self.story.guarantee is Guarantee.IDEMPOTENT
        sequence = self._next(partition, numbers)
        story.call(*numbers, at_ms=self.now_ms)
        self.now_ms += 5
        base = self._mishap(numbers, partition, sequence, mishap)
        conn = self.way(partition)
        story.request(numbers, partition, self.now_ms, conn, sequence)
        if base is None or not idempotent:
            base = self._append(numbers, partition, sequence)
        story.answer(partition, base, self.now_ms + 1, conn)
        self.now_ms += 2
        for index, n in enumerate(numbers):
            known = outcome == "ok"
            story.result(
                n, self.now_ms, partition, base + index if known else -1, outcome, None if known else "late"
            )
        while self.late:
            self.late.pop()()

    def beside(self, refused: list[int], stored: list[int]) -> None:
        """One request for two partitions, of which one is refused: only that batch goes again."""
        story, conn = self.story, self.way(0)
        story.call(*refused, *stored, at_ms=self.now_ms)
        sequences = [self._next(partition, numbers) for partition, numbers in ((0, refused), (1, stored))]
        story.request(refused, 0, self.now_ms + 1, conn, sequences[0])
        story.request(stored, 1, self.now_ms + 1, conn, sequences[1])
        story.together(2)
        places = {1: self._append(stored, 1, sequences[1])}
        story.answer(0, -1, self.now_ms + 2, conn, error_code=6)
        story.answer(1, places[1], self.now_ms + 2, conn)
        story.together(2)
        self.now_ms += 110
        story.request(refused, 0, self.now_ms, conn, sequences[0])
        places[0] = self._append(refused, 0, sequences[0])
        story.answer(0, places[0], self.now_ms + 1, conn)
        self.now_ms += 2
        for partition, numbers in ((0, refused), (1, stored)):
            for index, n in enumerate(numbers):
                story.result(n, self.now_ms, partition, places[partition] + index)

    def _next(self, partition: int, numbers: list[int]) -> tuple[int, int, int] | None:
        base = self.sequences.get(partition, 0)
        self.sequences[partition] = base + len(numbers)
        return (7, 0, base) if self.story.guarantee is Guarantee.IDEMPOTENT else None

    def overtake(self, slow: list[int], fast: list[int], partition: int) -> None:
        """Two batches in flight, the first is refused: it comes into the log behind the second."""
        story, conn = self.story, self.way(partition)
        story.call(*slow, *fast, at_ms=self.now_ms)
        story.request(slow, partition, self.now_ms + 5, conn)
        story.answer(partition, -1, self.now_ms + 6, conn, error_code=7)
        for numbers, at_ms in ((fast, self.now_ms + 7), (slow, self.now_ms + 110)):
            base = story.deliver(numbers, partition, at_ms, conn)
            for index, n in enumerate(numbers):
                story.result(n, at_ms + 2, partition, base + index)
        self.now_ms += 120

    def _append(self, numbers: list[int], partition: int, sequence: tuple[int, int, int] | None) -> int:
        if sequence is None:
            return self.story.append(numbers, partition)
        return self.story.append(
            numbers, partition, producer_id=sequence[0], producer_epoch=sequence[1], sequence=sequence[2]
        )

    def _mishap(
        self, numbers: list[int], partition: int, sequence: tuple[int, int, int] | None, mishap: str
    ) -> int | None:
        """The first attempt goes wrong; returns its base offset if the broker appended it."""
        if mishap == "none":
            return None
        story, base, conn = self.story, None, self.way(partition)
        if mishap == "trickles":
            self._trickle(numbers, partition, sequence)
            return None
        if mishap != "request lost":
            story.request(numbers, partition, self.now_ms, conn, sequence)
        if mishap == "refused":
            story.answer(partition, -1, self.now_ms + 1, conn, error_code=7)
            self.now_ms += 100
            return None
        if mishap != "request lost":
            base = self._append(numbers, partition, sequence)
        if mishap == "answer lost":
            story.answer(partition, base, self.now_ms + 1, conn)
            story.fault("disconnect", self.now_ms + 1, self.now_ms + 2)
        if mishap == "answer dropped":
            story.answer(partition, base, self.now_ms + 1, conn)
            story.fault("dropped_response", self.now_ms, self.now_ms + 900)
            self.now_ms += 900
        if mishap == "request lost":
            story.fault("disconnect", self.now_ms + 1, self.now_ms + 2)
        story.close(conn, self.now_ms + 2)
        self.now_ms += 60
        self.leave(partition)
        return base

    def _trickle(self, numbers: list[int], partition: int, sequence: tuple[int, int, int] | None) -> None:
        """The request trickles for longer than its timeout: it comes when the retry has been acknowledged.

        The client has left its connection by then; what of it reaches the broker is applied all the same.
        """
        story, conn, sent_ms = self.story, self.way(partition), self.now_ms
        story.fault("bandwidth", sent_ms - 1, sent_ms + TRICKLE_MS, upstream_bytes_per_s=1_000)
        self.leave(partition)
        self.now_ms += TIMEOUT_MS + 10

        def arrive() -> None:
            at_ms = sent_ms + TRICKLE_MS
            story.request(numbers, partition, at_ms, conn, sequence)
            if sequence is None:
                story.answer(partition, self._append(numbers, partition, sequence), at_ms + 2, conn)
            story.close(conn, at_ms + 1)
            self.now_ms = at_ms + 3

        self.late.append(arrive)


@st.composite
def stories(draw: st.DrawFn, guarantee: Guarantee, outcomes: tuple[str, ...] = OUTCOMES) -> Story:
    """A correct client's story: 2 to 8 batches of 1 to 4 records on two partitions."""
    story = Story(guarantee)
    client, first = Client(story, is_parallel=draw(st.booleans())), 0
    for _ in range(draw(st.integers(2, 8))):
        size = draw(st.integers(1, 4))
        numbers = list(range(first, first + size))
        if guarantee is Guarantee.AT_LEAST_ONCE and size > 1 and draw(st.booleans()):
            client.overtake(numbers[:1], numbers[1:], draw(st.integers(0, 1)))
            first += size
            continue
        if size > 1 and draw(st.booleans()):
            client.beside(numbers[:1], numbers[1:])
            first += size
            continue
        client.send(
            numbers, draw(st.integers(0, 1)), draw(st.sampled_from(MISHAPS)), draw(st.sampled_from(outcomes))
        )
        first += size
    story.beat(*range(0, int(client.now_ms) + 1_000, 1_000))
    story.finished("flush", client.now_ms)
    return story


@pytest.fixture(scope="session")
def story() -> type[Story]:
    """The builder."""
    return Story


@pytest.fixture(scope="session")
def faithful():  # type: ignore[no-untyped-def]
    """The strategy of correct stories, by guarantee."""
    return stories
