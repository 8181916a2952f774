"""# callback-order

## What it does

Looks at the order in which the application learns the results of its asynchronous commits: against their own order
(``callbacks-out-of-order``), and after a synchronous commit that was called later (``callback-after-sync-commit``).

## Why it is bad

Applications number their commits, or keep the newest offset that has succeeded. With results out of order they take an
old offset for the newest. After a synchronous commit, an application counts on having no commit in progress.

## How it is judged per guarantee

- **at-least-once**: a difference. Only Java's client promises this order.

Results count in the order in which the process reports them. For a synchronous commit that was successful, an earlier
asynchronous one must have reported by the time of its result. If it failed, others may still be in progress.

## What it needs

The members' histories.

## References

CSM-OFC-02 (``ConsumerCoordinator#invokeCompletedOffsetCommitCallbacks``, KAFKA-13563).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import OffsetsCommitted
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.tried import is_tried
from suites.analysis.promises import AT_LEAST_ONCE

OUT_OF_ORDER = Anomaly(
    "callbacks-out-of-order",
    "{count:asynchronous commit} whose result came after that of a later one",
    Level.SHOULD,
)
AFTER_SYNC = Anomaly(
    "callback-after-sync-commit",
    "{count:asynchronous commit} whose result came after a later synchronous commit had succeeded",
    Level.SHOULD,
)
SYNC, ASYNC = "sync", "async"


class Pair(NamedTuple):
    """Two commits of a process. The first was called before the second."""

    first: OffsetsCommitted
    second: OffsetsCommitted


@view
def results(evidence: Evidence) -> dict[str, list[OffsetsCommitted]]:
    """Return process -> the results of its own commits, in the order in which the application learned them."""
    found: dict[str, list[OffsetsCommitted]] = {}
    for event in evidence.history:
        process = str(event.producer)
        is_own = is_tried(evidence, process)
        if is_own and isinstance(event, OffsetsCommitted) and event.how in (SYNC, ASYNC):
            found.setdefault(process, []).append(event)
    return found


def in_a_row(evidence: Evidence) -> Iterator[Pair]:
    """Yield two asynchronous commits in the order of their calls, if the second was called before the first ended."""
    for of_process in results(evidence).values():
        called = sorted((each for each in of_process if each.how == ASYNC), key=lambda each: each.invoke_ns)
        for first, second in pairwise(called):
            if first.invoke_ns < second.invoke_ns <= first.complete_ns:
                yield Pair(first, second)


def before_sync(evidence: Evidence) -> Iterator[Pair]:
    """Yield an asynchronous commit in progress and a synchronous one that was called then, and succeeded."""
    for of_process in results(evidence).values():
        for second in (each for each in of_process if each.how == SYNC and each.success):
            for first in (each for each in of_process if each.how == ASYNC):
                if first.invoke_ns < second.invoke_ns <= first.complete_ns:
                    yield Pair(first, second)


def _is_reversed(pair: Pair) -> bool:
    return pair.first.seq > pair.second.seq


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    broken = {
        OUT_OF_ORDER: [pair for pair in in_a_row(evidence) if _is_reversed(pair)],
        AFTER_SYNC: [pair for pair in before_sync(evidence) if _is_reversed(pair)],
    }
    return [anomaly.found(len(cases), map(_sample, cases)) for anomaly, cases in broken.items() if cases]


def _sample(pair: Pair) -> Sample:
    return {
        "member": str(pair.first.producer),
        "first_called_ns": pair.first.invoke_ns,
        "first_told_ns": pair.first.complete_ns,
        "second": pair.second.how,
        "second_called_ns": pair.second.invoke_ns,
        "second_told_ns": pair.second.complete_ns,
    }


def _arises(evidence: Evidence) -> int:
    return sum(1 for search in (in_a_row, before_sync) for _ in search(evidence))


CHECK = Check(
    name="callback-order",
    summary="Results of asynchronous commits that come out of order, or after a later synchronous commit.",
    requirements=(Requirement("CSM-OFC-02", Level.SHOULD, arises=_arises),),
    guarantees=AT_LEAST_ONCE,
    requires=frozenset({"history"}),
    killed_mutant="callbacks_in_reverse",
    run=run,
    workloads=frozenset({"consume"}),
)
