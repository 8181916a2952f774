"""Connections that ended, or that could not be made."""

from __future__ import annotations

from faults.effects.span import Span, final_ns, is_target, span_of
from faults.effects.waits import held_up
from faults.kind import GRACE_NS
from harness.model.evidence import Evidence
from harness.model.exchanges import PRODUCE, Connection, connections, ways
from harness.model.rows import FaultRow


def ended(row: FaultRow, evidence: Evidence) -> list[Connection]:
    """Return the connections of the fault's brokers that ended while it was in effect, before the client was closed.

    Either side may have ended them: at the witness an end by the proxy looks like one by the client.
    """
    span = span_of(row)
    if span is None:
        return []
    last_ns = min(span.end_ns + GRACE_NS, final_ns(evidence))
    return [
        each
        for each in connections(evidence).values()
        if span.begin_ns <= each.closed_ns <= last_ns and is_target(row.spec, each.broker)
    ]


def ended_together(row: FaultRow, evidence: Evidence) -> int:
    """Count the connections that were open when the fault began, for brokers whose connections all ended during it.

    A broker that kept one connection was not cut off: then the client closed the others.
    """
    span, count = span_of(row), 0
    if span is None:
        return count
    gone = {each.number for each in ended(row, evidence)}
    open_then: dict[int, list[int]] = {}
    for each in connections(evidence).values():
        if each.opened_ns < span.begin_ns <= each.closed_ns and is_target(row.spec, each.broker):
            open_then.setdefault(each.broker, []).append(each.number)
    return sum(len(numbers) for numbers in open_then.values() if gone.issuperset(numbers))


def killed_idle(row: FaultRow, evidence: Evidence, idle_ns: int) -> int:
    """Count connections that ended from the client's side after ``idle_ns`` without a request, or at the end."""
    span = span_of(row)
    return sum(
        span is not None
        and each.closed_by == "client"
        and (
            each.closed_ns >= span.due_ns
            or each.closed_ns - max(span.begin_ns, each.opened_ns, _last_request_ns(each)) >= idle_ns
        )
        for each in ended(row, evidence)
    )


def without_answer(row: FaultRow, evidence: Evidence) -> int:
    """Count the connections that began and ended during the fault and on which nothing was answered."""
    span = span_of(row)
    return sum(
        span is not None
        and each.opened_ns >= span.begin_ns
        and all(exchange.answer is None for exchange in each.exchanges)
        for each in ended(row, evidence)
    )


def is_reached(row: FaultRow, evidence: Evidence) -> bool:
    """Return whether a client connected to the fault's brokers during the fault and got an answer."""
    span = span_of(row)
    return span is not None and any(
        span.begin_ns + GRACE_NS < each.opened_ns < span.due_ns
        and is_target(row.spec, each.broker)
        and any(exchange.answer is not None for exchange in each.exchanges)
        for each in connections(evidence).values()
    )


def cut_off(row: FaultRow, evidence: Evidence) -> int:
    """Like :func:`ended_together`. If no connection was open, count the records that none could carry."""
    if count := ended_together(row, evidence):
        return count
    return 0 if is_reached(row, evidence) else held_up(row, evidence)


def torn_requests(row: FaultRow, evidence: Evidence, at_byte: int) -> int:
    """Count the connections that ended with a part of a request, or after exactly ``at_byte`` bytes."""
    span = span_of(row)
    return sum(
        span is not None
        and each.closed_by == "client"
        and (
            any(frame.t_ns >= span.begin_ns for frame in each.torn)
            or _bytes_since(each, span.begin_ns) == at_byte
        )
        for each in ended(row, evidence)
    )


def torn_answers(row: FaultRow, evidence: Evidence) -> int:
    """Count the connections that ended after an answer during the fault that did not reach their client.

    Either the client reported the batch's result later or never, or it sent nothing more after another answer.
    """
    span = span_of(row)
    if span is None:
        return 0
    done_without = {
        way.connection.number
        for way in ways(evidence)
        if way.answered_ns >= span.begin_ns
        and (not way.acknowledged or way.told_ns > way.connection.closed_ns)
    }
    return sum(
        each.closed_by == "client" and (each.number in done_without or _ends_with_answer(each, span))
        for each in ended(row, evidence)
    )


def _ends_with_answer(connection: Connection, span: Span) -> bool:
    """Return whether the last frame is an answer, from during the fault, to a request other than Produce."""
    last = connection.exchanges[-1] if connection.exchanges else None
    return (
        last is not None
        and last.request.api != PRODUCE
        and last.answer is not None
        and span.begin_ns <= last.answer.t_ns <= span.end_ns
    )


def _last_request_ns(connection: Connection) -> int:
    return connection.exchanges[-1].request.t_ns if connection.exchanges else 0


def _bytes_since(connection: Connection, begin_ns: int) -> int:
    return sum(each.request.size_bytes for each in connection.exchanges if each.request.t_ns >= begin_ns)
