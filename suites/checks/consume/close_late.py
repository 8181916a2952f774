"""# close-late

## What it does

Measures how long each member took to close, from the command to its result, without the work on the last poll.

## Why it is bad

An application that stops waits for its consumer. If close does not end by its limit, the supervisor kills the process,
and the group has to wait for the session timeout instead of going on at once.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Java's close ends by the limit that it is given, whatever the
  coordinator does.

A second is allowed for the adapter. The time for which the process was frozen does not count.

## What it needs

The members' histories. If the process, a broker or the harness stalled meanwhile, the trial is inconclusive. A close
that never ends ends the trial's evidence instead.

## References

CSM-API-05 (``ClassicKafkaConsumer#close``, KIP-102).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from harness.judging.availability import Span, merged
from harness.model.anomaly import Anomaly, Sample
from harness.model.contract import OpComplete, OpInvoke
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.trial.patience import CLOSE_TIMEOUT_MS
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.tried import is_tried
from suites.analysis.disturbance import doubt_if_stalled, stalled_ns
from suites.analysis.excuses import grants
from suites.analysis.promises import BY_COMMITS

LATE = Anomaly(
    "close-late", "{count:member} took longer to close than the {limit_ms} ms that it was given", Level.SHOULD
)


class Close(NamedTuple):
    """One member's close. ``took_ns`` leaves out its work and the time for which it was frozen."""

    member: str
    span: Span
    took_ns: int


@grants("works-before-it-closes")
def closes(evidence: Evidence) -> Iterator[Close]:
    """Yield each close that ended."""
    began: dict[str, int] = {}
    for event in evidence.history:
        process = str(event.producer)
        if not is_tried(evidence, process):
            continue
        if isinstance(event, OpInvoke) and event.op == "close":
            began[process] = event.mono_ns
        elif isinstance(event, OpComplete) and event.op == "close" and process in began:
            span = Span(began.pop(process), event.mono_ns)
            life = lives(evidence).get(process)
            busy = merged((*life.turns, *life.frozen)) if life else []
            yield Close(process, span, span.end_ns - span.begin_ns - stalled_ns(busy, *span))


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the members. Inconclusive if something stalled meanwhile."""
    late = [each for each in closes(evidence) if each.took_ns > CLOSE_TIMEOUT_MS * NS_PER_MS + SLACK_NS]
    if not late:
        return []
    samples: list[Sample] = [{"member": each.member, "took_ms": each.took_ns // NS_PER_MS} for each in late]
    found = LATE.found(len(late), samples, limit_ms=CLOSE_TIMEOUT_MS)
    for each in late:
        doubt_if_stalled(evidence, found, *each.span)
    return [found]


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in closes(evidence))


CHECK = Check(
    name="close-late",
    summary="Members whose close took longer than its limit.",
    requirements=(Requirement("CSM-API-05", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history"}),
    killed_mutant="closes_after_its_limit",
    run=run,
    workloads=frozenset({"consume"}),
)
