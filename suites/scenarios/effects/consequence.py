"""How a fault shows: counts of things in the evidence that would not be there without the fault's effect.

Each function is pure and counts one thing. 0 means that the trial proves nothing about the client under this
fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from harness.judging.fault_activation import effects
from harness.model.evidence import Evidence, Operation
from harness.model.rows import FrameKind
from harness.model.units import NS_PER_MS
from harness.plugins.scenario import Consequence
from harness.workloads.produce import accounting
from suites.analysis.attempts import PRODUCE, Attempt, attempts, batch_place, sent_again
from suites.scenarios.effects.fault_windows import GRACE_NS, meets, windows

#: How much longer than linger.ms a record may stay in the client before it is sent.
LINGER_SLACK_NS = 20 * NS_PER_MS
#: A record called this long before the end of a fault gets its result before that end if nothing delays it.
IN_TIME_NS = 300 * NS_PER_MS
#: A slow wait: at least this long, and this many times the wait of the trial's own records without a fault.
SLOW_NS, TIMES_SLOWER = 250 * NS_PER_MS, 3


def traffic(evidence: Evidence) -> Consequence:
    """Produce requests that passed the witness, which shows that the client did not bypass its lane."""
    seen = sum(frame.kind is FrameKind.REQUEST and frame.api == PRODUCE for frame in evidence.frames)
    return Consequence(seen, "Produce requests passed the witness")


def hit(evidence: Evidence) -> Consequence:
    """Faults that took effect, each by the effect of its own kind."""
    return Consequence(sum(each.count > 0 for each in effects(evidence).values()), "faults had an effect")


def delayed(evidence: Evidence) -> Consequence:
    """Records whose whole wait was inside a latency window and at least as long as the latency, both ways."""
    slow = {
        send.n
        for begin_ns, end_ns, params in _effective(evidence, "latency")
        for send in evidence.operations.values()
        if send.complete_ns is not None
        and begin_ns <= send.invoke_ns
        and send.complete_ns <= end_ns
        and send.complete_ns - send.invoke_ns >= sum(params.values()) * NS_PER_MS > 0
    }
    return Consequence(len(slow), "records waited for their result as long as the added latency")


def slowed(evidence: Evidence) -> Consequence:
    """Records sent during a fault that waited for a quarter of a second, and three times as long as those before it."""
    first_ns = min((begin for begin, _ in windows(evidence)), default=0)
    in_peace = [
        wait_ns
        for send in evidence.operations.values()
        if (wait_ns := _wait_ns(send)) is not None and send.invoke_ns + wait_ns < first_ns
    ]
    least_ns = max(SLOW_NS, TIMES_SLOWER * median(in_peace or [0]))
    count = sum(
        (_wait_ns(send) or 0) >= least_ns
        and any(begin <= send.invoke_ns <= end for begin, end in windows(evidence))
        for send in evidence.operations.values()
    )
    return Consequence(count, "records waited longer than without a fault")


def held_up(evidence: Evidence) -> Consequence:
    """Records that were called during a fault, some time before its end, and had no result until it ended."""
    count = sum(
        any(
            begin <= send.invoke_ns <= end - IN_TIME_NS and (send.complete_ns or end) >= end
            for begin, end in windows(evidence)
        )
        for send in evidence.operations.values()
    )
    return Consequence(count, "records were held up until a fault ended")


def stalled(evidence: Evidence) -> Consequence:
    """Records that had no result for as long as request.timeout.ms, with a fault in that time."""
    return _without_result(evidence, "request.timeout.ms")


def outwaited(evidence: Evidence) -> Consequence:
    """Records that had no result for as long as delivery.timeout.ms, with a fault in that time, and were given up."""
    return _without_result(evidence, "delivery.timeout.ms")


def _without_result(evidence: Evidence, limit: str) -> Consequence:
    timeout_ns = int(evidence.record.spec.config[limit]) * NS_PER_MS
    count = sum(
        (send.complete_ns is None or send.complete_ns - send.invoke_ns >= timeout_ns)
        and meets(evidence, send.invoke_ns, send.invoke_ns + timeout_ns)
        for send in evidence.operations.values()
    )
    return Consequence(count, f"records waited for as long as {limit}")


def cut_under_way(evidence: Evidence) -> Consequence:
    """Records that were in transit when a connection with Produce traffic was cut.

    A record is in transit if it was called so long before the cut that it no longer lingered, and got no
    answer, or one so long afterwards that it must have arrived on a later connection, a round trip of the
    added latency away. It makes no difference whether the request or the answer was lost, or whether the
    request reached the witness at all.
    """
    beds = (params for _, _, params in _effective(evidence, "latency"))
    round_trip_ns = sum(sum(params.values()) for params in beds) * NS_PER_MS
    lingering_ns = int(evidence.record.spec.config["linger.ms"]) * NS_PER_MS + LINGER_SLACK_NS
    spans = [(begin, end + GRACE_NS) for begin, end, _ in _effective(evidence, "disconnect", "reset")]
    ends = {attempt.closed_ns for attempt in attempts(evidence) if attempt.closed_ns is not None}
    cuts = [end_ns for end_ns in ends if any(begin <= end_ns <= end for begin, end in spans)]

    def caught(send: Operation, cut_ns: int) -> bool:
        answered_later = send.complete_ns is None or send.complete_ns >= cut_ns + round_trip_ns
        return send.invoke_ns + lingering_ns <= cut_ns and answered_later

    count = sum(any(caught(send, cut_ns) for cut_ns in cuts) for send in evidence.operations.values())
    return Consequence(count, "records were in transit when their connection was cut")


def answers_dropped(evidence: Evidence) -> Consequence:
    """Produce answers that passed the witness while answers are dropped, and that the client then did without.

    The client sent the records again: the same producer id, epoch and sequence, or the same bytes, in a later
    request. If a client makes new batches for retries, a record of the answered batch is at a second place in
    the log. Or the client gave up: a record of that batch was never acknowledged.
    """
    return _did_without(evidence, "dropped_response", "dropped")


def answers_swallowed(evidence: Evidence) -> Consequence:
    """Produce answers that were lost while the path from the brokers was cut, and that the client did without."""
    return _did_without(evidence, "partition", "swallowed")


def answers_held_back(evidence: Evidence) -> Consequence:
    """Produce answers that were delayed for longer than any client waits, and that the client did without."""
    return _did_without(evidence, "late_response", "held back")


def _did_without(evidence: Evidence, kind: str, how: str) -> Consequence:
    spans = [(begin, end) for begin, end, _ in _effective(evidence, kind)]
    made = attempts(evidence)
    again, acked = sent_again(made), accounting.acknowledged(evidence)
    unsettled = {
        batch_place(copy)
        for n, copies in evidence.copies.items()
        if len(copies) > 1 or n not in acked
        for copy in copies
    }

    def unheard(attempt: Attempt) -> bool:
        return attempt.answered_ns is not None and any(b <= attempt.answered_ns <= e for b, e in spans)

    count = sum(unheard(attempt) and (attempt in again or attempt.place in unsettled) for attempt in made)
    return Consequence(count, f"Produce answers were {how} and their records sent again or given up")


def _wait_ns(send: Operation) -> int | None:
    return None if send.complete_ns is None else send.complete_ns - send.invoke_ns


def _effective(evidence: Evidence, *kinds: str) -> Iterator[tuple[int, int, dict[str, int]]]:
    for row in evidence.faults:
        if row.spec.kind in kinds and row.effective_ns is not None:
            yield *row.effective_ns, row.spec.params
