"""Waits that grew: of records, and of batches on their way there and back, compared with the usual wait in the trial.

The usual wait is measured in the parts of the trial without a fault. A wait that differs from it by no more than waits
differ anyway proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from faults.effects.span import Span, final_ns, is_target, span_of
from harness.model.evidence import Evidence, Operation, view
from harness.model.exchanges import FOR_EVER, Way, connections, first_passed, ways
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.units import NS_PER_MS

#: How long a fault's backlog may last after its end. Usual waits are measured outside of this time.
AFTERMATH_NS = 1_000 * NS_PER_MS
#: Waits that differ by less are considered equal: linger, scheduling, the clocks of two processes.
SCATTER_NS = 10 * NS_PER_MS
#: For a trial without a fault-free part: the assumed usual wait of a record or for a broker's answer, and of a batch on
#: its way, besides linger.ms.
UNKNOWN_NS, UNKNOWN_WAY_NS = 300 * NS_PER_MS, 50 * NS_PER_MS
#: The fraction of fault-free waits that are no longer than the usual one.
USUAL = 0.9
#: How many usual waits before the fault's end a record or request must start to count as held up.
TIMES_USUAL = 3


class Usual(NamedTuple):
    """The usual waits without a fault: of a record, of a batch on its way there and back, for a broker's answer."""

    record_ns: int
    there_ns: int
    back_ns: int
    broker_ns: int


@view
def usual(evidence: Evidence) -> Usual:
    """Measure the usual waits in the parts of the load without a fault, excluding the time to connect."""
    calm = _peace(evidence)
    records = [
        send.complete_ns - send.invoke_ns
        for send in evidence.operations.values()
        if send.complete_ns is not None and calm(send.invoke_ns, send.complete_ns)
    ]
    batches = [
        (way.exchange.request.arrived_ns - way.called_ns, way.told_ns - way.answered_ns)
        for way in ways(evidence)
        if way.told_ns != FOR_EVER and calm(way.called_ns, way.told_ns)
    ]
    brokers = [
        exchange.answer.t_ns - exchange.request.t_ns
        for each in connections(evidence).values()
        for exchange in each.exchanges
        if exchange.answer is not None and calm(exchange.request.t_ns, exchange.answer.t_ns)
    ]
    lingers_ns = int(evidence.record.spec.config.get("linger.ms", 0)) * NS_PER_MS
    return Usual(
        _usual(records, UNKNOWN_NS),
        _usual([there for there, _ in batches], UNKNOWN_WAY_NS + lingers_ns),
        _usual([back for _, back in batches], UNKNOWN_WAY_NS),
        _usual(brokers, UNKNOWN_NS),
    )


def later_there(row: FaultRow, evidence: Evidence, least_ns: Callable[[Frame], int]) -> int:
    """Count the batches sent during the fault that took at least as long as the fault demands on their way to a broker.

    ``least_ns`` returns that time for a request. The result is 0 if less than half of the batches took that long, since
    then the fault was not the cause.
    """

    def wait(span: Span, way: Way) -> tuple[int, int] | None:
        request = way.exchange.request
        if span.begin_ns <= way.called_ns and request.arrived_ns <= span.due_ns:
            return request.arrived_ns - way.called_ns, least_ns(request)
        return None

    return _later(row, evidence, usual(evidence).there_ns, wait)


def later_back(row: FaultRow, evidence: Evidence, least_ns: Callable[[Frame], int]) -> int:
    """Like :func:`later_there`, with answers on their way from the witness to the client's result."""

    def wait(span: Span, way: Way) -> tuple[int, int] | None:
        answer = way.exchange.answer
        if answer is not None and span.begin_ns <= answer.t_ns and way.told_ns <= span.due_ns:
            return way.told_ns - answer.t_ns, least_ns(answer)
        return None

    return _later(row, evidence, usual(evidence).back_ns, wait)


def held_up(row: FaultRow, evidence: Evidence, *, unsent: bool = False) -> int:
    """Count the records that were sent during the fault and got no result before it ended.

    Only records count that were sent early enough to have had a result without the fault. With ``unsent``, count only
    those of which no request is known to have reached a broker by then.
    """
    span = span_of(row)
    if span is None:
        return 0
    last_ns = min(span.due_ns, final_ns(evidence)) - TIMES_USUAL * usual(evidence).record_ns - SCATTER_NS
    passed = first_passed(evidence) if unsent else {}
    return sum(
        span.begin_ns <= send.invoke_ns <= last_ns
        and (send.complete_ns is None or send.complete_ns >= span.due_ns)
        and passed.get(n, FOR_EVER) >= span.due_ns
        and (not row.spec.brokers or _broker_of(evidence, send, span) in row.spec.brokers)
        for n, send in evidence.operations.items()
    )


def _later(
    row: FaultRow, evidence: Evidence, usual_ns: int, wait: Callable[[Span, Way], tuple[int, int] | None]
) -> int:
    span = span_of(row)
    if span is None:
        return 0
    seen = [
        each
        for way in ways(evidence)
        if is_target(row.spec, way.connection.broker) and (each := wait(span, way)) is not None
    ]
    late = sum(waited >= asked and waited >= _more_than(usual_ns, asked) for waited, asked in seen)
    return late if 2 * late >= len(seen) else 0


def _more_than(usual_ns: int, asked_ns: int) -> int:
    """Return the shortest wait that stands out. A delay above the usual wait stands out however short it is."""
    return asked_ns if asked_ns > usual_ns else usual_ns + max(asked_ns // 2, SCATTER_NS)


def _broker_of(evidence: Evidence, send: Operation, span: Span) -> int | None:
    """Return the broker that the record's partition was last sent to when the fault began, or None if it is unknown."""
    partition = send.partition
    if partition < 0 and (copies := evidence.copies.get(send.n)):
        partition = copies[0].partition
    broker = None
    for frame in evidence.frames:
        if frame.t_ns > span.begin_ns:
            break
        if frame.kind is FrameKind.REQUEST and any(part.partition == partition for part in frame.produce):
            broker = frame.broker
    return broker


def _peace(evidence: Evidence) -> Callable[[int, int], bool]:
    """Return a function that says whether a time span lies in the load, without a fault in it or shortly before it."""
    load_ns = evidence.record.phases.load_ns or 0
    spans = [(0, load_ns - AFTERMATH_NS)]
    spans += [row.effective_ns for row in evidence.faults if row.effective_ns is not None]

    def calm(begin_ns: int, end_ns: int) -> bool:
        return not any(begin <= end_ns and begin_ns <= end + AFTERMATH_NS for begin, end in spans)

    return calm


def _usual(waits: list[int], unknown_ns: int) -> int:
    return sorted(waits)[int(USUAL * (len(waits) - 1))] if waits else unknown_ns
