"""Calls of applications that a client should have refused, and wakeups that do not interrupt, or too often."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace as changed

from harness.judging.availability import Span
from harness.model.consumer_contract import ConsumerError, Position
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.calls import PAUSE, PartitionCall
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import SLACK_NS
from suites.checks.consume.call_accepted import may_be_owned
from suites.checks.consume.illegal_call_accepted import ATTEMPT, POLL
from suites.checks.consume.wakeup_unheard import due_ns
from suites.perturbations.consuming.deliveries import HISTORY
from suites.perturbations.consuming.edits import called, wall_ns, with_added
from suites.perturbations.consuming.kinds import CONSUME

WAKEUP = "wakeup"
#: The place of a call that is about none.
NOWHERE = Position("", -1, -1)


def _revoked(evidence: Evidence) -> Sequence[tuple[str, int, int]]:
    """Return process, partition, and a moment somewhat more than a second after the process had lost it."""
    found = []
    for process, owned in declared(evidence).items():
        life = lives(evidence)[process]
        until_ns = life.end_ns if life.closing_ns is None else life.closing_ns
        for partition, spans in owned.items():
            for span in spans:
                at_ns = span.end_ns + SLACK_NS + NS_PER_MS
                call = PartitionCall(process, PAUSE, partition, at_ns, at_ns, None)
                if at_ns < until_ns and not may_be_owned(evidence, call):
                    found.append((process, partition, at_ns))
    return found


def _accepted(evidence: Evidence, place: tuple[str, int, int]) -> Evidence:
    process, partition, at_ns = place
    position = Position(evidence.record.topic, partition, -1)
    return with_added(evidence, *called(evidence, process, PAUSE, position, at_ns))


def _woken(evidence: Evidence) -> Sequence[tuple[str, int]]:
    """Return process and a moment after a turn, with time until its close, of processes without any exception."""
    failed = {event.producer for event in evidence.history if isinstance(event, ConsumerError)}
    found = []
    for life in lives(evidence).values():
        closing_ns = life.end_ns if life.closing_ns is None else life.closing_ns
        for at_ns in (turn.end_ns + SLACK_NS for turn in life.turns):
            if life.process not in failed and due_ns(evidence, life, Span(at_ns, at_ns)) < closing_ns:
                found.append((life.process, at_ns))
    return found


def _unheard(evidence: Evidence, place: tuple[str, int]) -> Evidence:
    """The exception comes late, which the work before does not explain."""
    process, at_ns = place
    due = due_ns(evidence, lives(evidence)[process], Span(at_ns, at_ns))
    error = _error(evidence, process, due + NS_PER_MS)
    return with_added(evidence, *called(evidence, process, WAKEUP, NOWHERE, at_ns)[1:], error)


def _repeated(evidence: Evidence, place: tuple[str, int]) -> Evidence:
    process, at_ns = place
    errors = [_error(evidence, process, at_ns + turn * NS_PER_MS) for turn in (1, 2)]
    return with_added(evidence, *called(evidence, process, WAKEUP, NOWHERE, at_ns)[1:], *errors)


def _error(evidence: Evidence, process: str, at_ns: int) -> ConsumerError:
    return ConsumerError(
        seq=0,
        mono_ns=at_ns,
        wall_ns=wall_ns(evidence, at_ns),
        producer=process,
        call="poll",
        error="WakeupException",
    )


def _attempted(evidence: Evidence, place: tuple[str, int], call: str) -> Evidence:
    """The application attempts a call, and the client accepts it."""
    process, at_ns = place
    asked, *ended = called(evidence, process, ATTEMPT, NOWHERE, at_ns)
    return with_added(evidence, changed(asked, call=call, positions=[]), *ended)


PERTURBATIONS = (
    Perturbation(
        "second-subscription-accepted",
        HISTORY,
        "lets a subscribed application assign itself partitions",
        ("second-subscription-accepted",),
        _woken,
        partial(_attempted, call="assign"),
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "poll-without-subscription-accepted",
        HISTORY,
        "lets an application poll without a subscription",
        ("poll-without-subscription",),
        _woken,
        partial(_attempted, call=POLL),
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "wakeup-heard-late-after-work",
        HISTORY,
        "hears a wakeup late, long after the work on its turn",
        ("wakeup-unheard",),
        _woken,
        _unheard,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "wakeup-heard-twice",
        HISTORY,
        "raises the exception of one wakeup in two calls",
        ("wakeup-repeated",),
        _woken,
        _repeated,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "pause-accepted-after-revocation",
        HISTORY,
        "accepts the pause of a partition that the client has lost more than a second before",
        ("call-accepted",),
        _revoked,
        _accepted,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
)
