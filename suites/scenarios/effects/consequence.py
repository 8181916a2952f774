"""How a fault shows: counting, in the evidence, what would not be there if the fault had not bitten.

Each function is pure and counts one thing; 0 means that the trial says nothing about the client under this fault.
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
#: A record that is called so long before a fault's end has its result by then, if nothing is in its way.
IN_TIME_NS = 300 * NS_PER_MS
#: What is slow: so much at least, and so many times what the trial's own records took in peace.
SLOW_NS, TIMES_SLOWER = 250 * NS_PER_MS, 3


def traffic(evidence: Evidence) -> Consequence:
    """Produce requests that passed the witness: the client did not go around its lane."""
    seen = sum(frame.kind is FrameKind.REQUEST and frame.api == PRODUCE for frame in evidence.frames)
    return Consequence(seen, "Produce requests passed the witness")


def hit(evidence: Evidence) -> Consequence:
    """Faults that bit, each by the effect of its own kind."""
    return Consequence(sum(each.count > 0 for each in effects(evidence).values()), "faults had an effect")


def delayed(evidence: Evidence) -> Consequence:
    """Records whose whole wait lay inside a latency window and was at least as long as the latency, both ways."""
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
    """Records of a fault's time that waited for a quarter of a second, and three times as long as those before it."""
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
    return Consequence(count, "records waited longer than in peace")


def held_up(evidence: Evidence) -> Consequence:
    """Records that were called during a fault, some while before its end, and had no result until it was over."""
    count = sum(
        any(
            begin <= send.invoke_ns <= end - IN_TIME_NS and (send.complete_ns or end) >= end
            for begin, end in windows(evidence)
        )
        for send in evidence.operations.values()
    )
    return Consequence(count, "records were held up until a fault was over")


def stalled(evidence: Evidence) -> Consequence:
    """Records that had no result for as long as request.timeout.ms, with a fault in that time."""
    return _without_result(evidence, "request.timeout.ms")


def outwaited(evidence: Evidence) -> Consequence:
    """Records that had no result for as long as delivery.timeout.ms, with a fault in that time: they were given up."""
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
    """Records that were under way when a connection with Produce traffic was cut.

    Under way is: called so long before the cut that it no longer lingered, and answered never, or so long after it
    that the answer came over a later connection, a round trip of the added latency away. Whether the request or the
    answer was caught, and whether the request reached the witness at all, makes no difference.
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
    return Consequence(count, "records were under way when their connection was cut")


def answers_dropped(evidence: Evidence) -> Consequence:
    """Produce answers that passed the witness in a window that drops them, and that the client then did without.

    It sent the records again: the same producer id, epoch and sequence, or the same bytes, in a later request; or,
    where a client makes new batches of what it retries, a record of the answered batch lies at a second place in the
    log. Or it gave up: a record of that batch was never acknowledged.
    """
    return _did_without(evidence, "dropped_response", "dropped")


def answers_swallowed(evidence: Evidence) -> Consequence:
    """As with answers that are dropped, while the way back from the brokers is cut."""
    return _did_without(evidence, "partition", "swallowed")


def answers_held_back(evidence: Evidence) -> Consequence:
    """As with answers that are dropped, while all answers are held back for longer than anybody waits for one."""
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
