"""A scene in a pause: a client sends one batch twice, and faults and connections are as the scene says.

The pause is before the request of a batch whose records had already been handed over. In it the batch is sent
a first time, stored and answered. After the pause it is sent as it was originally, and stored again. All
times of a scene are in milliseconds since the pause began, except ``answered_ms`` and the other times of the
first request, which count from that request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec.structs import replace as changed

from harness.model.contract import Stats
from harness.model.evidence import Evidence, view
from harness.model.rows import FaultRow, Frame, FrameKind, LogRecord, ProducePart
from harness.model.spec import AtTime, FaultSpec
from harness.model.units import NS_PER_MS
from suites.perturbations.edits import (
    inserted_id,
    with_frames_added,
    with_history,
    with_record,
    with_results,
    with_spec,
)
from suites.perturbations.exchanges import Batch, Spot, asked, layout, request_of, settled
from suites.perturbations.pauses import paused, quiet
from suites.perturbations.relaying import NEW, relaid

REQUEST_TIMEOUT = "request.timeout.ms"
#: What checks allow between two times, and the distance of a scene from that.
SLACK_MS, MORE_MS = 500, 100
NEAR_NS = 600 * NS_PER_MS
#: With a longer timeout a scene would take too long, and a broker that answers so late would count as stalled.
LONGEST_TIMEOUT_MS = 5_000
#: The id of a broker that is in no trial.
ELSEWHERE = 99


def timeout_ms(evidence: Evidence) -> int:
    """Return the request timeout of the trial."""
    return int(evidence.record.spec.config[REQUEST_TIMEOUT])


def lead_ms(evidence: Evidence) -> int:
    """Return when a first request is sent. Events before the pause are then longer ago than a request may wait."""
    return timeout_ms(evidence) + 3 * SLACK_MS


@dataclass(frozen=True)
class During:
    """A fault of a scene."""

    kind: str
    begin_ms: int
    end_ms: int
    params: tuple[tuple[str, int], ...] = ()
    brokers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Scene:
    """The second request is sent ``again_ms`` after the first one, on the connection of the original request.

    ``closed_ms``: when the client closes the separate connection of the first request. None: the first
    request uses the same connection as the second. ``acked_ms``: when the client reports the batch as
    written. None: as originally, after the second. ``stalled_ms``: the times between which its process does
    not run. ``partition``: where the first request goes. None: the batch's own partition.
    """

    again_ms: int
    answered_ms: int = 1
    closed_ms: int | None = None
    acked_ms: int | None = None
    stalled_ms: tuple[int, int] | None = None
    faults: tuple[During, ...] = ()
    partition: int | None = None


Scenes = Callable[[Evidence], Scene]


@view
def openings(evidence: Evidence) -> dict[Spot, int]:
    """Map settled batches to where a pause can begin before their request, with all of their records handed over.

    Nothing happens soon after it that could be taken for a reason.
    """
    if timeout_ms(evidence) > LONGEST_TIMEOUT_MS:
        return {}
    moments = set(quiet(evidence))
    ends = [frame.t_ns for frame in evidence.frames if frame.kind is FrameKind.CLOSE]
    begins = [row.effective_ns[0] for row in evidence.faults if row.effective_ns is not None]
    found = {}
    for spot, batch in settled(evidence).items():
        at_ns = request_of(evidence, batch).arrived_ns - 1
        is_near = any(at_ns <= t_ns <= at_ns + NEAR_NS for t_ns in (*ends, *begins))
        if at_ns in moments and not is_near and all(send.invoke_ns < at_ns for send in batch.sends):
            found[spot] = at_ns
    return found


def spots(evidence: Evidence) -> list[Spot]:
    """Return the places at which a scene can be played."""
    return list(openings(evidence))


def played(scenes: Scenes) -> Callable[[Evidence, Spot], Evidence]:
    """Return a function that plays a scene, which may depend on the trial's settings."""
    return lambda evidence, spot: Stage(evidence, spot).play(scenes(evidence))


class Stage:
    """One place of a trial, and what can be inserted there."""

    def __init__(self, evidence: Evidence, spot: Spot) -> None:
        self._evidence, self.batch = evidence, settled(evidence)[spot]
        self._at_ns = openings(evidence)[spot]
        self._lead_ms = lead_ms(evidence)
        self._ids = inserted_id(evidence)
        self.conn = max(frame.conn for frame in (*evidence.frames, *evidence.blocked_frames)) + 1

    def ns(self, since_ms: float) -> int:
        """Return the time ``since_ms`` after the first request, even if there is none."""
        return self._at_ns + int((self._lead_ms + since_ms) * NS_PER_MS)

    def play(self, scene: Scene) -> Evidence:
        """Return the evidence with the scene in it."""
        calm = self.pause(scene.again_ms)
        calm = self.faulted(calm, scene.faults)
        fresh = tuple([changed(record, offset=NEW) for record in self._records(calm)])
        stored, base = self._put_first(calm, fresh, scene.partition)
        sent = asked(self._evidence, self.batch.exchange)
        if scene.partition is not None:
            sent = changed(sent, partition=scene.partition)
        told = ProducePart(sent.topic, sent.partition, base_offset=base, error_code=0)
        conn = None if scene.closed_ms is None else self.conn
        frames = list(self.exchange(sent, told, 0, scene.answered_ms, conn))
        if scene.closed_ms is not None:
            frames += self.connection(-1, scene.closed_ms, self.conn)
        acted = with_frames_added(stored, frames)
        if scene.acked_ms is not None:
            ns = self.ns(scene.acked_ms)
            acked = [changed(acted.operations[send.n], complete_ns=ns) for send in self.batch.sends]
            acted = with_results(acted, acked)
        return self.stalled(acted, *scene.stalled_ms) if scene.stalled_ms else acted

    def pause(self, again_ms: int) -> Evidence:
        """Return the evidence in which the batch is sent that much later than its first request would be."""
        return paused(self._evidence, self._at_ns, (self._lead_ms + again_ms) * NS_PER_MS)

    def _records(self, calm: Evidence) -> tuple[LogRecord, ...]:
        return layout(calm)[self.batch.partition][self._index(calm)]

    def _index(self, calm: Evidence) -> int:
        batches = layout(calm)[self.batch.partition]
        return next(at for at, each in enumerate(batches) if each[0].base_offset == self.batch.spot[1])

    def _put_first(
        self, calm: Evidence, fresh: tuple[LogRecord, ...], partition: int | None
    ) -> tuple[Evidence, int]:
        """Put these records before the batch, or at the end of another partition.

        Return the log and their base offset.
        """
        if partition is None:
            partition, at = self.batch.partition, self._index(calm)
        else:
            at = len(layout(calm)[partition])
        batches = list(layout(calm)[partition])
        stored = relaid(calm, {partition: [*batches[:at], fresh, *batches[at:]]})
        return stored, layout(stored)[partition][at][0].base_offset

    def exchange(
        self, sent: ProducePart, told: ProducePart, at_ms: float, answered_ms: float, conn: int | None = None
    ) -> Iterator[Frame]:
        """Yield a Produce request of one partition and its answer, on the batch's connection or on another one."""
        request = request_of(self._evidence, self.batch)
        answer = self._evidence.frames[self.batch.exchange.answer or 0]
        self._ids += 1
        own = {"correlation_id": self._ids, "received_ns": None, "fault": None, "disposition": None}
        own |= {} if conn is None else {"conn": conn}
        codes = (told.error_code,) if told.error_code else ()
        yield changed(request, t_ns=self.ns(at_ms), produce=(sent,), **own)
        yield changed(answer, t_ns=self.ns(answered_ms), produce=(told,), error_codes=codes, **own)

    def connection(self, opened_ms: float, closed_ms: float, conn: int) -> Iterator[Frame]:
        """Yield the frames of a connection that the client ends.

        It begins as the batch's own connection did, 50 ms before anything is sent.
        """
        of = request_of(self._evidence, self.batch).conn
        rows = [frame for frame in self._evidence.frames if frame.conn == of]
        hello = [row for row in rows if row.kind is FrameKind.OPEN or row.api == "ApiVersions"]
        for at, row in enumerate(hello[:3]):
            yield self._moved(row, opened_ms - 50 + at, conn)
        end: dict[str, Any] = {"kind": FrameKind.CLOSE, "closed_by": "client"}
        yield changed(self._moved(hello[0], closed_ms, conn), **end)

    def _moved(self, row: Frame, at_ms: float, conn: int) -> Frame:
        own = {"conn": conn, "received_ns": None, "fault": None, "disposition": None}
        moved: Frame = changed(row, t_ns=self.ns(at_ms), **own)
        return moved

    def faulted(self, evidence: Evidence, faults: Sequence[During]) -> Evidence:
        """Return the evidence in which these faults were planned and in effect as well."""
        rows = list(evidence.faults)
        for fault in faults:
            window = self.ns(fault.begin_ms), self.ns(fault.end_ms)
            start = AtTime(max(0, (window[0] - (evidence.record.phases.load_ns or 0)) // NS_PER_MS))
            spec = FaultSpec(
                fault.kind, start, fault.end_ms - fault.begin_ms, dict(fault.params), fault.brokers
            )
            rows.append(FaultRow(len(rows), spec, window, window, 1))
        planned = with_spec(evidence, faults=tuple([row.spec for row in rows]))
        return replace(planned, faults=tuple(rows))

    def stalled(self, evidence: Evidence, begin_ms: int, end_ms: int) -> Evidence:
        """Leave no heartbeat between these times, and one at each of them."""
        begin_ns, end_ns = self.ns(begin_ms), self.ns(end_ms)
        beats = [event for event in evidence.history if isinstance(event, Stats)]
        before = [beat for beat in beats if beat.mono_ns <= begin_ns][-1]
        kept = [
            event
            for event in evidence.history
            if not (isinstance(event, Stats) and begin_ns <= event.mono_ns <= end_ns)
        ]
        added = [
            changed(before, mono_ns=ns, wall_ns=before.wall_ns + ns - before.mono_ns)
            for ns in (begin_ns, end_ns)
        ]
        return with_history(evidence, [*kept, *added])


def beats(evidence: Evidence) -> list[Spot]:
    """Return the places at which a scene can be played for a client that sends heartbeats."""
    found = openings(evidence)
    first = next((event.mono_ns for event in evidence.history if isinstance(event, Stats)), None)
    return [spot for spot, at_ns in found.items() if first is not None and first < at_ns]


def lacking(evidence: Evidence, setting: str) -> Evidence:
    """Return the same evidence from a client that could not be given the setting."""
    return with_record(evidence, not_set=evidence.record.not_set | {setting: "there is no such setting"})


def refusal(part: ProducePart, code: int) -> ProducePart:
    """Return the answer that refuses a part."""
    return ProducePart(part.topic, part.partition, base_offset=-1, error_code=code)


def of_other_partition(evidence: Evidence, batch: Batch) -> Batch | None:
    """Return a batch of another partition that is sent later than ``batch``.

    Its records had been handed over when ``batch`` was sent.
    """
    at_ns = request_of(evidence, batch).arrived_ns - 1
    for other in settled(evidence).values():
        later = request_of(evidence, other).arrived_ns >= at_ns
        called = all(send.invoke_ns < at_ns for send in other.sends)
        if other.partition != batch.partition and later and called:
            return other
    return None


def metadata(evidence: Evidence) -> tuple[Frame, Frame] | None:
    """Return a Metadata request and an answer to one, or None if the client sent none."""
    rows = [frame for frame in evidence.frames if frame.api == "Metadata"]
    asks = [row for row in rows if row.kind is FrameKind.REQUEST]
    tells = [row for row in rows if row.kind is FrameKind.RESPONSE]
    return (asks[0], tells[0]) if asks and tells else None
