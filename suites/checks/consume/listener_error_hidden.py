"""# listener-error-hidden

## What it does

Looks for exceptions that the application's rebalance listener threw, and that no call of the application ended with.

## Why it is bad

A listener stores positions, opens files, or prepares a state for its partitions. If it fails and the application does
not get the exception, the application goes on without that state, and its results are wrong.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. In Java's consumer the exception comes out of poll(), after the
  rebalance has been completed.

The harness tells a member which call of its listener throws. Within three seconds after that call, the member must
report an exception of poll(), or of what the client has instead. Exceptions of commits and of other calls do not count.
A member that ends before is not judged.

## What it needs

The members' histories, and the faults. If the process or the harness stalled meanwhile, the trial is inconclusive.

## References

CSM-GRP-13 (``ConsumerCoordinator#invokePartitionsAssigned``).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import (
    CALLBACKS,
    ConsumerError,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
)
from harness.model.contract import OpComplete
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.tried import is_tried
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.promises import BY_COMMITS

HIDDEN = Anomaly(
    "listener-error-hidden",
    "{count:exception} of the application's listener ({callbacks}) that no call of it ended with",
    Level.SHOULD,
)
LISTENER_THROWS: Final = "listener_throws"
#: The events of the callbacks, in the order of ``CALLBACKS``.
CALLS: Final = (PartitionsAssigned, PartitionsRevoked, PartitionsLost)
#: Calls that end with exceptions of their own.
OTHER_CALLS: Final = ("commit", "seek", "pause", "resume", "close", "unsubscribe")
#: How long a client may take to pass an exception on.
IN_TIME_NS: Final = 3_000_000_000


class Thrown(NamedTuple):
    """A call of a listener that ended with an exception, and whether the application was told in ``span``."""

    process: str
    callback: str
    span: Span
    is_told: bool


def thrown(evidence: Evidence) -> Iterator[Thrown]:
    """Yield each exception of a listener that was told, or whose member went on for long enough to be told."""
    for row in evidence.faults:
        if row.spec.kind == LISTENER_THROWS and row.effective_ns is not None:
            yield from _by(evidence, row)


def _by(evidence: Evidence, row: FaultRow) -> Iterator[Thrown]:
    begin_ns, end_ns = row.effective_ns or (0, -1)
    told = [
        event
        for event in evidence.history
        if isinstance(event, OpComplete) and event.op == "throw" and begin_ns <= event.mono_ns <= end_ns
    ]
    if not told or told[0].error != [None]:
        return
    process = str(told[0].producer)
    armed = Span(told[0].mono_ns, min((each.mono_ns for each in told[1:]), default=end_ns))
    callback = row.spec.params.get("callback", 1)
    calls = (
        event
        for event in evidence.history
        if isinstance(event, CALLS[callback])
        and event.producer == process
        and armed.begin_ns <= event.mono_ns < armed.end_ns
    )
    for call in islice(calls, row.spec.params.get("times", 1)):
        span = Span(call.mono_ns, call.mono_ns + IN_TIME_NS)
        is_told = _is_told(evidence, process, span)
        if is_tried(evidence, process) and (is_told or lives(evidence)[process].covers(span)):
            yield Thrown(process, CALLBACKS[callback], span, is_told)


def _is_told(evidence: Evidence, process: str, span: Span) -> bool:
    return any(
        isinstance(event, ConsumerError)
        and event.producer == process
        and event.call not in OTHER_CALLS
        and span.begin_ns <= event.mono_ns <= span.end_ns
        for event in evidence.history
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding. Inconclusive if something stalled meanwhile."""
    hidden = [each for each in thrown(evidence) if not each.is_told]
    if not hidden:
        return []
    samples: list[Sample] = [
        {"member": each.process, "callback": each.callback, "called_ns": each.span.begin_ns}
        for each in hidden
    ]
    found = HIDDEN.found(
        len(hidden), samples, callbacks=tuple(sorted({f"on_{each.callback}" for each in hidden}))
    )
    for each in hidden:
        doubt_if_stalled(evidence, found, *each.span)
    return [found]


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in thrown(evidence))


CHECK = Check(
    name="listener-error-hidden",
    summary="Exceptions of the application's listener that the application does not get.",
    requirements=(Requirement("CSM-GRP-13", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"faults", "history"}),
    killed_mutant="swallows_listener_errors",
    run=run,
    workloads=frozenset({"consume"}),
)
