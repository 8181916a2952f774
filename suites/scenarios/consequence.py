"""How a fault shows: counting, in the evidence, what would not be there if the fault had not bitten.

Each function is pure and counts one thing; 0 means that the trial says nothing about the client under this fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness import delivery
from harness.evidence import Evidence
from harness.rows import FrameKind
from harness.scenario import Consequence
from suites.checks.attempts import PRODUCE, Attempt, attempts, batch_place, sent_again

NS_PER_MS = 1_000_000
#: A connection that a fault ended is seen to end at the latest so long after the fault was over.
GRACE_NS = 500 * NS_PER_MS


def traffic(evidence: Evidence) -> Consequence:
    """Produce requests that passed the witness: the client did not go around its lane."""
    seen = sum(frame.kind is FrameKind.REQUEST and frame.api == PRODUCE for frame in evidence.frames)
    return Consequence(seen, "Produce requests passed the witness")


def delayed(evidence: Evidence) -> Consequence:
    """Records whose whole wait lay inside a latency window and was at least as long as the latency, both ways."""
    slow = {
        send.n
        for begin_ns, end_ns, params in _effective(evidence, "latency")
        for send in evidence.sends.values()
        if send.complete_ns is not None
        and begin_ns <= send.invoke_ns
        and send.complete_ns <= end_ns
        and send.complete_ns - send.invoke_ns >= sum(params.values()) * NS_PER_MS > 0
    }
    return Consequence(len(slow), "records waited for their result as long as the added latency")


def cut_in_flight(evidence: Evidence) -> Consequence:
    """Produce requests in flight when their connection was cut: unanswered, or the answer still on its way."""
    transit_ns = (
        sum(params.get("downstream_ms", 0) for _, _, params in _effective(evidence, "latency")) * NS_PER_MS
    )
    cuts = [(begin, end + GRACE_NS) for begin, end, _ in _effective(evidence, "disconnect")]
    caught = sum(
        attempt.closed_ns is not None
        and any(begin <= attempt.closed_ns <= end for begin, end in cuts)
        and (attempt.answered_ns is None or attempt.closed_ns - attempt.answered_ns <= transit_ns)
        for attempt in attempts(evidence)
    )
    return Consequence(caught, "Produce batches were in flight on a connection when it was cut")


def answers_dropped(evidence: Evidence) -> Consequence:
    """Produce answers that passed the witness in a window that drops them, and whose records were then sent again.

    Sent again is: the same producer id, epoch and sequence, or the same bytes, in a later request; or, where a
    client makes new batches of what it retries, a record of the answered batch at a second place in the log.
    """
    windows = [(begin, end) for begin, end, _ in _effective(evidence, "dropped_response")]
    made = attempts(evidence)
    again = sent_again(made)
    twice = {batch_place(copy) for copies in delivery.duplicates(evidence).values() for copy in copies}

    def dropped(attempt: Attempt) -> bool:
        return attempt.answered_ns is not None and any(b <= attempt.answered_ns <= e for b, e in windows)

    count = sum(dropped(attempt) and (attempt in again or attempt.place in twice) for attempt in made)
    return Consequence(count, "Produce answers were dropped and their records sent again")


def _effective(evidence: Evidence, kind: str) -> Iterator[tuple[int, int, dict[str, int]]]:
    for row in evidence.faults:
        if row.spec.kind == kind and row.effective_ns is not None:
            yield *row.effective_ns, row.spec.params
