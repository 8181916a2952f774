"""# wakeup-unheard

## What it does

Looks at the exceptions that an application gets from the calls that wait, after another of its threads has called
``wakeup()``.

## Why it is bad

An application ends its poll loop by a wakeup. If the exception does not come, the loop goes on until its poll has
records. If it comes again in later calls, each of them fails for no reason.

## How it is judged per guarantee

- **at-least-once, at-most-once**: differences. In Java, the call that waits or the next one raises a WakeupException,
  once. Several wakeups before it are one.

The exception may come a second late, and after what the application was doing at the time: its turn, and a commit. The
records that a poll had are judged by other checks, which find those that are lost.

## What it needs

The members' histories. If the process stalled meanwhile, the trial is inconclusive.

## References

CSM-WKP-01 (``ConsumerNetworkClient#maybeTriggerWakeup``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import ConsumerError, OffsetsCommitted
from harness.model.contract import OpComplete
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.lives import Life, lives
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.tried import is_tried
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.promises import BY_COMMITS

#: The calls that wait. Others are commands of the harness.
POLL, COMMIT = "poll", "commit"
WAITING: Final = (POLL, COMMIT)
UNHEARD = Anomaly("wakeup-unheard", "{count:wakeup} after which no call raised an exception", Level.SHOULD)
REPEATED = Anomaly(
    "wakeup-repeated", "{count:exception} of wakeups more than there were wakeups", Level.SHOULD
)


class Woken(NamedTuple):
    """One process's wakeups, as periods of the call, and the exceptions that they may have caused."""

    life: Life
    wakeups: tuple[Span, ...]
    raised: tuple[ConsumerError, ...]

    @property
    def certain_ns(self) -> tuple[int, ...]:
        """When the exception of a wakeup came: that which a poll raised. A commit may fail for other reasons."""
        name = next((each.error for each in self.raised if each.call == POLL), None)
        return tuple(each.mono_ns for each in self.raised if each.error == name)


@view
def woken(evidence: Evidence) -> list[Woken]:
    """Return the processes that were woken up."""
    return [
        Woken(life, wakeups, tuple(_raised(evidence, process, wakeups[0].begin_ns)))
        for process, life in lives(evidence).items()
        if is_tried(evidence, process) and (wakeups := tuple(_wakeups(evidence, process)))
    ]


def _wakeups(evidence: Evidence, process: str) -> Iterator[Span]:
    """Yield the calls that succeeded, in order."""
    for event in evidence.history:
        match event:
            case OpComplete(op="wakeup", producer=by, error=[None], invoke_ns=[begin_ns]) if by == process:
                yield Span(begin_ns, event.mono_ns)
            case _:
                pass


def _raised(evidence: Evidence, process: str, first_ns: int) -> list[ConsumerError]:
    """Return the exceptions of calls that wait since the first wakeup, without those that were raised before it too."""
    errors = [
        event
        for event in evidence.history
        if isinstance(event, ConsumerError) and event.producer == process and event.call in WAITING
    ]
    known = {event.error for event in errors if event.mono_ns < first_ns}
    return [event for event in errors if event.mono_ns >= first_ns and event.error not in known]


def due_ns(evidence: Evidence, life: Life, wakeup: Span) -> int:
    """Return until when a wakeup must have been answered."""
    return _free_ns(evidence, life, wakeup.end_ns) + SLACK_NS


@grants("works-before-it-hears")
def _free_ns(evidence: Evidence, life: Life, at_ns: int) -> int:
    """Return when the process was free to make a call that waits: not frozen, in its turn, or in a commit."""
    commits = (
        Span(event.invoke_ns, event.complete_ns)
        for event in evidence.history
        if isinstance(event, OffsetsCommitted) and event.producer == life.process and event.how == "sync"
    )
    for span in sorted((*life.turns, *life.frozen, *commits)):
        if span.begin_ns <= at_ns + SLACK_NS and at_ns <= span.end_ns:
            at_ns = span.end_ns
    return at_ns


def _unheard(evidence: Evidence, each: Woken) -> Iterator[Span]:
    closing_ns = each.life.end_ns if each.life.closing_ns is None else each.life.closing_ns
    for wakeup in each.wakeups:
        until_ns = due_ns(evidence, each.life, wakeup)
        is_heard = any(wakeup.begin_ns <= error.mono_ns <= until_ns for error in each.raised)
        if not is_heard and until_ns < closing_ns:
            yield Span(wakeup.begin_ns, until_ns)


def _repeated(each: Woken) -> Iterator[int]:
    """Yield the exceptions before which there were fewer wakeups than exceptions."""
    for number, at_ns in enumerate(each.certain_ns, start=1):
        if sum(wakeup.begin_ns <= at_ns for wakeup in each.wakeups) < number:
            yield at_ns


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    unheard = [(each, span) for each in woken(evidence) for span in _unheard(evidence, each)]
    repeated = [(each, at_ns) for each in woken(evidence) for at_ns in _repeated(each)]
    found = []
    if unheard:
        samples = (_sample(each, span.begin_ns) for each, span in unheard)
        found.append(UNHEARD.found(len(unheard), samples))
        for _, span in unheard:
            doubt_if_stalled(evidence, found[0], span.begin_ns, span.end_ns)
    if repeated:
        found.append(REPEATED.found(len(repeated), (_sample(*case) for case in repeated)))
    return found


def _sample(each: Woken, at_ns: int) -> Sample:
    return {"member": each.life.process, "at_ns": at_ns, "wakeups": len(each.wakeups)}


def _arises(evidence: Evidence) -> int:
    return sum(len(each.wakeups) for each in woken(evidence))


CHECK = Check(
    name="wakeup-unheard",
    summary="Wakeups that interrupt no call, or more than one.",
    requirements=(Requirement("CSM-WKP-01", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history"}),
    killed_mutant="wakeup_is_never_over",
    run=run,
    workloads=frozenset({"consume"}),
)
