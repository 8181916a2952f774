"""Effects on frames: lost answers, late requests, errors from brokers, and frames that a witness rule acted on."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from faults.effects import fetching
from faults.effects.cuts import ended
from faults.effects.span import final_ns, is_target, span_of
from faults.effects.waits import SCATTER_NS, usual
from faults.kind import GRACE_NS
from harness.model.evidence import Evidence
from harness.model.exchanges import Connection, connections, ways
from harness.model.rows import Disposition, FaultRow, Frame, FrameKind
from harness.plugins.fault import toxic_name


def unheard(row: FaultRow, evidence: Evidence) -> int:
    """Count the Produce answers that passed the witness during the fault and that the client did not use.

    Its result for those records was not ok, or came from a later answer, after the answer's connection had ended.
    Of a client that reads, count the connections of :func:`faults.effects.fetching.unheard`.
    """
    if fetching.reads(evidence):
        return fetching.unheard(row, evidence)
    span = span_of(row)
    return sum(
        span is not None
        and span.begin_ns <= way.answered_ns <= span.end_ns
        and is_target(row.spec, way.connection.broker)
        and (not way.acknowledged or way.told_ns > way.connection.closed_ns)
        for way in ways(evidence)
    )


def held_back(row: FaultRow, evidence: Evidence) -> int:
    """Like :func:`unheard`, but also count answers whose result the client gave only when the fault released them."""
    if fetching.reads(evidence):
        return fetching.held_back(row, evidence)
    span = span_of(row)
    if span is None:
        return 0
    least_ns = usual(evidence).back_ns + SCATTER_NS
    return sum(
        span.begin_ns <= way.answered_ns <= span.end_ns
        and is_target(row.spec, way.connection.broker)
        and (
            not way.acknowledged
            or way.told_ns > way.connection.closed_ns
            or (way.told_ns >= span.due_ns and way.told_ns - way.answered_ns >= least_ns)
        )
        for way in ways(evidence)
    )


def unanswered(row: FaultRow, evidence: Evidence) -> int:
    """Count the requests that reached the fault's brokers and got no answer before it ended.

    A request counts only if the fault lasted longer than a broker may let it rest (a long poll, a rebalance).
    """
    span = span_of(row)
    if span is None:
        return 0
    last_ns = min(span.due_ns, final_ns(evidence))
    return sum(
        span.begin_ns <= exchange.request.t_ns <= last_ns - least_ns
        and (exchange.answer is None or exchange.answer.t_ns >= span.due_ns)
        and exchange.request.acks != 0
        and each.closed_ns > exchange.request.t_ns + least_ns
        for each in connections(evidence).values()
        if is_target(row.spec, each.broker)
        for exchange in each.exchanges
        for least_ns in (fetching.stands_out_ns(evidence, exchange.request),)
    )


def ghosts(row: FaultRow, evidence: Evidence) -> int:
    """Count the requests that arrived when the fault released them, right before the end of their connection.

    The client had left while they were held: its end of the connection arrived right after them, before any answer.
    """
    span = span_of(row)
    return sum(
        span is not None
        and each.closed_by == "client"
        and span.due_ns <= exchange.request.arrived_ns
        and each.closed_ns - exchange.request.arrived_ns <= GRACE_NS
        and (exchange.answer is None or exchange.answer.t_ns >= each.closed_ns)
        for each in ended(row, evidence)
        for exchange in each.exchanges
    )


def answers(row: FaultRow, evidence: Evidence, *, anywhere: bool = False) -> Iterator[Frame]:
    """Yield the answers of the fault's brokers that passed during it; with ``anywhere``, those of all brokers."""
    span = span_of(row)
    if span is None:
        return
    for frame in evidence.frames:
        if (
            frame.kind is FrameKind.RESPONSE
            and span.begin_ns <= frame.t_ns <= span.end_ns
            and (anywhere or is_target(row.spec, frame.broker))
        ):
            yield frame


def told(row: FaultRow, evidence: Evidence, codes: Collection[int], *, anywhere: bool = False) -> int:
    """Count the answers during the fault with one of these error codes, even if another fault replaced the code."""
    renamed = _renamed(evidence, codes)
    return sum(
        any(code in codes for code in frame.error_codes) or frame.fault in renamed
        for frame in answers(row, evidence, anywhere=anywhere)
    )


def injected(row: FaultRow, evidence: Evidence, name: str) -> Iterator[Frame]:
    """Yield the answers that the rule ``name`` changed. Scripted brokers need no rule: for them, yield all answers."""
    is_scripted = evidence.record.spec.broker.startswith("scripted:")
    for frame in answers(row, evidence):
        if is_scripted or frame.fault == name:
            yield frame


def acted_on(row: FaultRow, evidence: Evidence, name: str, disposition: Disposition) -> list[Frame]:
    """Return the frames that the rule ``name`` of the witness took while the fault was in effect, with that fate.

    Frames on a connection that its client had already left are excluded, since the client would not have got them
    anyway.
    """
    span = span_of(row)
    if span is None:
        return []
    known = connections(evidence)
    return [
        frame
        for frames in (evidence.blocked_frames, evidence.frames)
        for frame in frames
        if frame.fault == name
        and frame.disposition is disposition
        and span.begin_ns <= frame.arrived_ns <= span.end_ns
        and not _was_left(known.get(frame.conn), frame)
    ]


def _renamed(evidence: Evidence, codes: Collection[int]) -> frozenset[str]:
    """Return the rules that replace these codes with another one."""
    return frozenset(
        toxic_name(row.spec)
        for row in evidence.faults
        if row.spec.frames is not None and row.spec.frames.error_code in codes
    )


def _was_left(connection: Connection | None, frame: Frame) -> bool:
    return (
        connection is not None
        and connection.closed_by == "client"
        and connection.closed_ns < frame.arrived_ns
    )
