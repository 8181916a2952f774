"""# illegal-call-accepted

## What it does

Looks at how the calls ended that an application made in a state that does not allow them: an assignment
by hand of a subscribed consumer, and a poll without a subscription.

## Why it is bad

A consumer that is subscribed in two ways has partitions of its group and others of its own. Which of them it reads
depends on the next rebalance. A poll without a subscription returns nothing, and the application waits without a limit.

## How it is judged per guarantee

- **at-least-once, at-most-once**: differences. Java refuses both with an IllegalStateException. A poll that comes back
  seconds after its timeout does not refuse either.

Not judged: clients that do not offer such calls, or whose adapters cannot pass them on as they are.

## What it needs

The members' histories. If the process stalled in a long poll, the trial is inconclusive.

## References

CSM-API-01, CSM-API-02 (``SubscriptionState#setSubscriptionType``, ``ClassicKafkaConsumer#poll``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.contract import OpComplete
from harness.model.evidence import Evidence, view
from harness.model.harness_events import MemberCalled
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.tried import is_tried
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.promises import BY_COMMITS

ATTEMPT, POLL = "attempt", "poll"
TWO_WAYS: Final = Anomaly(
    "second-subscription-accepted",
    "{count:call} by which a consumer was subscribed in a second way: {calls}",
    Level.SHOULD,
)
NO_WAY: Final = Anomaly(
    "poll-without-subscription",
    "{count:poll} without a subscription, which ended without an error, or late",
    Level.SHOULD,
)


class Attempted(NamedTuple):
    """A call that a process attempted, and how it ended. ``error`` is None if the client has accepted it."""

    process: str
    call: str
    begin_ns: int
    at_ns: int
    error: str | None

    @property
    def is_refused(self) -> bool:
        """Whether an error came, and at once."""
        return self.error is not None and not self.is_long

    @property
    def is_long(self) -> bool:
        """Whether a poll took much longer than its timeout, which is a tenth of a second."""
        return self.call == POLL and self.at_ns - self.begin_ns > 2 * SLACK_NS


@view
def attempts(evidence: Evidence) -> list[Attempted]:
    """Return the attempts that ended, of processes of the client under test."""
    asked: dict[str, list[MemberCalled]] = {}
    ended: dict[str, list[OpComplete]] = {}
    for event in evidence.history:
        if isinstance(event, MemberCalled) and event.op == ATTEMPT:
            asked.setdefault(str(event.producer), []).append(event)
        elif isinstance(event, OpComplete) and event.op == ATTEMPT:
            ended.setdefault(str(event.producer), []).append(event)
    return [
        Attempted(process, call.call, end.invoke_ns[0], end.mono_ns, end.error[0])
        for process, calls in asked.items()
        if is_tried(evidence, process)
        for call, end in zip(calls, ended.get(process, ()), strict=False)
    ]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    accepted = [each for each in attempts(evidence) if not each.is_refused]
    second, polls = (
        [each for each in accepted if (each.call == POLL) is is_poll] for is_poll in (False, True)
    )
    found = []
    if second:
        calls = tuple(sorted({each.call for each in second}))
        found.append(TWO_WAYS.found(len(second), map(_sample, second), "CSM-API-01", calls=calls))
    if polls:
        found.append(NO_WAY.found(len(polls), map(_sample, polls), "CSM-API-02"))
        for each in polls:
            if each.is_long:
                doubt_if_stalled(evidence, found[-1], each.begin_ns, each.at_ns)
    return found


def _sample(each: Attempted) -> Sample:
    return {"member": each.process, "call": each.call, "at_ns": each.at_ns}


def _subscriptions(evidence: Evidence) -> int:
    return sum(each.call != POLL for each in attempts(evidence))


def _polls(evidence: Evidence) -> int:
    return sum(each.call == POLL for each in attempts(evidence))


CHECK = Check(
    name="illegal-call-accepted",
    summary="Calls in a state that does not allow them, which the client does not refuse.",
    requirements=(
        Requirement("CSM-API-01", Level.SHOULD, arises=_subscriptions),
        Requirement("CSM-API-02", Level.SHOULD, arises=_polls),
    ),
    guarantees=BY_COMMITS,
    requires=frozenset({"history"}),
    killed_mutant="subscribes_in_two_ways",
    run=run,
    workloads=frozenset({"consume"}),
)
