"""Effects on clients that read: the answers that a member did without, and the records that it got later.

A client that reads has no batches of its own whose way could be followed. What it does with an answer shows in its next
Fetch request on the connection: it sends one when it has taken the answer, and none if the answer never arrived.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from faults.effects.cuts import ended
from faults.effects.span import Span, is_target, span_of
from faults.effects.waits import SCATTER_NS, TIMES_USUAL, usual
from harness.model.evidence import Evidence
from harness.model.exchanges import FOR_EVER, Connection, Exchange, connections
from harness.model.harness_events import RecordsWritten
from harness.model.rows import FaultRow, Frame
from harness.model.units import NS_PER_MS
from harness.plugins.registry import workload

FETCH: Final = "Fetch"
#: Requests that a broker answers when the whole group has asked.
OF_REBALANCE: Final = ("JoinGroup", "SyncGroup")
#: A Fetch request that follows an answer later than this waited for something. Applications take less for a turn.
TURN_NS: Final = 500 * NS_PER_MS


def reads(evidence: Evidence) -> bool:
    """Return whether the clients of the trial read."""
    return workload(evidence.record.spec.workload.kind).api == FETCH


def rest_ns(evidence: Evidence, request: Frame) -> int:
    """Return for how long a broker may hold a request back on its own account; it is ``FOR_EVER`` in a rebalance."""
    if request.api in OF_REBALANCE:
        return FOR_EVER
    if request.api != FETCH:
        return 0
    return int(evidence.record.spec.config.get("fetch.max.wait.ms", 0)) * NS_PER_MS


def unheard(row: FaultRow, evidence: Evidence) -> int:
    """Count the connections that ended during the fault and whose client did not fetch again after the last answer."""
    span = span_of(row)
    return sum(span is not None and _is_last(span, each) for each in ended(row, evidence))


def held_back(row: FaultRow, evidence: Evidence) -> int:
    """Like :func:`unheard`, but also count answers after which the client fetched only when the fault released them."""
    span = span_of(row)
    if span is None:
        return 0
    released = sum(
        answer is not None
        and span.begin_ns <= answer.t_ns <= span.end_ns
        and following.request.arrived_ns >= span.due_ns
        and following.request.arrived_ns - answer.t_ns >= TURN_NS
        for each in connections(evidence).values()
        if is_target(row.spec, each.broker)
        for before, following in pairwise(_fetches(each))
        for answer in (before.answer,)
    )
    return released + unheard(row, evidence)


def later(row: FaultRow, evidence: Evidence, round_trip_ns: int) -> int:
    """Count the records that were written and delivered during the fault, later than usual by half of the round trip.

    A record that is written while a Fetch request rests at the broker needs only the way back. The result is 0 if less
    than half of the records took that long, since then the fault was not the cause.
    """
    span = span_of(row)
    if span is None or not reads(evidence):
        return 0
    least_ns = usual(evidence).record_ns + round_trip_ns // 2
    waits_ns = [
        each.complete_ns - each.invoke_ns
        for each in evidence.operations.values()
        if each.complete_ns is not None
        and span.begin_ns <= each.invoke_ns
        and each.complete_ns <= span.due_ns
    ]
    late = sum(wait_ns >= least_ns for wait_ns in waits_ns)
    return late if 2 * late >= len(waits_ns) else 0


def trimmed(row: FaultRow, evidence: Evidence) -> int:
    """Count the partitions whose log lost records from before the fault, and none from after it."""
    span = span_of(row)
    if span is None:
        return 0
    kept = {(record.partition, record.offset) for record in evidence.log}
    gone: set[int] = set()
    others: set[int] = set()
    for event in evidence.history:
        if isinstance(event, RecordsWritten):
            for place in zip(event.partitions, event.offsets, strict=True):
                if place not in kept:
                    (gone if event.invoke_ns <= span.end_ns else others).add(place[0])
    return len(gone - others)


def stands_out_ns(evidence: Evidence, request: Frame) -> int:
    """Return how long a request must be without an answer to stand out, besides the time that it may rest."""
    return TIMES_USUAL * usual(evidence).broker_ns + SCATTER_NS + rest_ns(evidence, request)


def _fetches(connection: Connection) -> list[Exchange]:
    return [each for each in connection.exchanges if each.request.api == FETCH]


def _is_last(span: Span, connection: Connection) -> bool:
    fetches = _fetches(connection)
    answer = fetches[-1].answer if fetches else None
    return answer is not None and span.begin_ns <= answer.t_ns <= span.end_ns
