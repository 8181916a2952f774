"""Batches with a correct sequence that a broker refused for their sequence.

A correct broker answers OUT_OF_ORDER_SEQUENCE_NUMBER to a gap. An old one answers UNKNOWN_PRODUCER_ID if it
has forgotten the producer's state. Neither error is correct for a batch that begins where the last stored
batch of its partition ended and that cannot be stored already, unless the broker has lost something. The
client is then not to blame for the error, only for how it handles the error.

A broker remembers the last five batches of a producer per partition. If an older batch is sent again, the
broker answers OUT_OF_ORDER_SEQUENCE_NUMBER too. A client has a reason to send one again if only the answer to
that batch was lost and the answers to later batches arrived. No real broker does that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

from harness.model.evidence import Evidence, Operation, view
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome
from harness.wire.error_table import BY_NAME
from suites.analysis.attempts import REMEMBERED, Attempt, attempts, origins
from suites.analysis.excuses import grants
from suites.analysis.homes import home
from suites.analysis.response_order import out_of_turn_ns

SAID = (BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"].code, BY_NAME["UNKNOWN_PRODUCER_ID"].code)
SLACK_NS = 20 * NS_PER_MS
#: How much later than its answer a record may be reported to the application.
ENDED_NS = 500 * NS_PER_MS
ROUND = 2**31

_Chain = tuple[int, int, int]


@view
def contradicted(evidence: Evidence) -> list[Attempt]:
    """Return the attempts that were refused in this way, in order."""
    ends: dict[_Chain, int] = {}
    accepted = defaultdict[_Chain, list[int]](list)
    in_doubt: dict[tuple[_Chain, int], Attempt] = {}
    found = []
    for attempt in attempts(evidence):
        if attempt.sequence is None:
            continue
        producer_id, epoch, base = attempt.sequence
        chain = (attempt.part.partition, producer_id, epoch)
        if attempt.accepted:
            ends[chain] = (base + (attempt.part.records or 0)) % ROUND
            accepted[chain].append(attempt.request)
        elif attempt.error_code not in SAID:
            in_doubt.setdefault((chain, base), attempt)
        elif (earlier := in_doubt.get((chain, base))) is None:
            if base == ends.get(chain, 0):
                found.append(attempt)
        else:
            behind = len(accepted[chain]) - bisect_right(accepted[chain], earlier.request)
            if behind >= REMEMBERED and _is_forgotten(evidence, earlier, attempt):
                found.append(attempt)
    return found


@grants("forgotten-behind-lost-answer")
def _is_forgotten(evidence: Evidence, earlier: Attempt, again: Attempt) -> bool:
    """True if the earlier batch is in the log, has as many records as the later one, and lost only its answer.

    The answers to later batches arrived, out of order.
    """
    confused_ns = out_of_turn_ns(evidence).get(earlier.conn)
    return (
        confused_ns is not None
        and earlier.asked_ns < confused_ns < again.asked_ns
        and earlier.part.records == again.part.records
        and earlier in _stored(evidence)
    )


@view
def _stored(evidence: Evidence) -> frozenset[Attempt]:
    """Return the attempts that put a batch into the log."""
    return frozenset(origins(evidence).values())


@view
def failed_over_it(evidence: Evidence) -> dict[int, Operation]:
    """Return the records that failed because of such a refusal before their delivery timeout.

    They are the records of the refused batch's partition that had been handed over by then and that failed
    within a request timeout. If the refusal ended the producer, they are all records that failed after it. A
    producer has ended if it acknowledges no record that was handed over later, and stops acknowledging
    earlier ones soon after.
    """
    refused = contradicted(evidence)
    if not refused:
        return {}
    limit_ns = int(evidence.record.spec.config["delivery.timeout.ms"]) * NS_PER_MS
    acked = evidence.acknowledged.values()
    latest_ns = max((max(send.invoke_ns, (send.complete_ns or 0) - ENDED_NS) for send in acked), default=0)
    found = {}
    for n, send in evidence.operations.items():
        if send.outcome is Outcome.OK or send.complete_ns is None:
            continue
        if _has_expired(send, limit_ns):
            continue
        if any(_may_be_over(evidence, send, attempt, latest_ns) for attempt in refused):
            found[n] = send
    return found


@grants("expired-over-refusal")
def _has_expired(send: Operation, limit_ns: int) -> bool:
    """True if the record's delivery timeout had expired when its result was reported."""
    return send.complete_ns is not None and send.complete_ns - send.invoke_ns >= limit_ns


@grants("sequence-refused-though-next")
def _may_be_over(evidence: Evidence, send: Operation, attempt: Attempt, latest_ns: int) -> bool:
    told_ns = attempt.answered_ns or 0
    if (send.complete_ns or 0) < told_ns - SLACK_NS:
        return False
    has_ended = latest_ns < told_ns
    in_partition = home(evidence, send) in (None, attempt.part.partition)
    within_ns = int(evidence.record.spec.config["request.timeout.ms"]) * NS_PER_MS
    is_soon = (send.complete_ns or 0) <= told_ns + within_ns
    return has_ended or (in_partition and is_soon and send.invoke_ns <= told_ns)
