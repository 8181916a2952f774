"""Records that expired in the queue of a client that was given more than it could deliver. Pure.

Only a load of the user's own can be too large: those of scenarios are small. A client delivers the records of a
partition in order. So a record waited in a queue if, shortly before it expired, the client delivered records of its
partition, and all of those had been handed over before it.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from harness.model.evidence import Evidence, Operation, view
from suites.analysis.homes import home


@view
def _delivered(evidence: Evidence) -> dict[int | None, tuple[list[int], list[int]]]:
    """Return partition -> the times of its acknowledgements, and up to each the latest call among them."""
    found: dict[int | None, list[tuple[int, int]]] = {}
    for send in evidence.acknowledged.values():
        if send.complete_ns is not None:
            found.setdefault(home(evidence, send), []).append((send.complete_ns, send.invoke_ns))
    return {
        partition: ([at for at, _ in sorted(acks)], list(accumulate((call for _, call in sorted(acks)), max)))
        for partition, acks in found.items()
    }


def was_queued(evidence: Evidence, send: Operation, recent_ns: int) -> bool:
    """True if the record expired behind others that its client was delivering, the last one ``recent_ns`` before."""
    if evidence.record.spec.workload.load is None or send.complete_ns is None:
        return False
    times, calls = _delivered(evidence).get(home(evidence, send), ([], []))
    count = bisect_right(times, send.complete_ns)
    return (
        count > 0 and send.complete_ns - times[count - 1] <= recent_ns and calls[count - 1] <= send.invoke_ns
    )
