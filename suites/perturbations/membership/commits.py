"""Requests of commits and for stored offsets that name another member, are not repeated, or are overlooked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_contract import OffsetsCommitted
from harness.model.contract import AnyEvent
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.asked import Asked, asked
from suites.analysis.consuming.committing import ELSEWHERE
from suites.analysis.consuming.timing import API, SLACK_NS, limit_ms
from suites.checks.consume.callback_order import in_a_row
from suites.checks.consume_wire.commit_given_up import ASYNC, SYNC, Tried, is_moved_on, tried
from suites.checks.consume_wire.commit_identity import of_consumers_alone
from suites.checks.consume_wire.stored_offset_overlooked import (
    ASKS,
    STABLE,
    Overlooked,
    of_committed_data,
)
from suites.perturbations.consuming.deliveries import ALO
from suites.perturbations.consuming.edits import with_changed
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.membership.exchanges import asking, refused, with_edits
from suites.perturbations.perturbation import channels

FRAMES, BOTH = channels("frames"), channels("frames", "history")
MOVED = ELSEWHERE[-1]


def _alone(evidence: Evidence) -> Sequence[int]:
    return range(len(of_consumers_alone(evidence)))


def _naming(name: Callable[[Asked], dict[str, object]]) -> Callable[[Evidence, int], Evidence]:
    """Return what makes a commit with a number name its member differently."""

    def apply(evidence: Evidence, at: int) -> Evidence:
        each = of_consumers_alone(evidence)[at]
        return with_edits(evidence, asking(each, **name(each)))

    return apply


def _at_once(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of synchronous commits that succeeded at once, in a group that was quiet."""
    return [
        at
        for at, each in enumerate(tried(evidence, SYNC))
        if each.event.success and len(each.tries) == 1 and not is_moved_on(evidence, each)
    ]


def _fails_at_once(evidence: Evidence, at: int) -> Evidence:
    each = list(tried(evidence, SYNC))[at]
    failed = changed(each.event, success=False, error="NotCoordinatorException")
    return _told(with_edits(evidence, refused(each.tries[0].asked, MOVED)), each, failed)


def _told(evidence: Evidence, each: Tried, event: AnyEvent) -> Evidence:
    """Return the evidence with another event in the place of that of a commit."""
    return with_changed(evidence, {list(evidence.history).index(each.event): event})


def _in_background(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of asynchronous commits, followed by another one of the same process on its connection."""
    return [
        at
        for at, each in enumerate(tried(evidence, ASYNC))
        if _next(evidence, each) is not None and each.tries[0].asked.reached_ns is not None
    ]


def _next(evidence: Evidence, each: Tried) -> Asked | None:
    """Return the next commit of a process, if the first one had been answered by then."""
    first = each.tries[0].asked
    later = (
        one
        for one in asked(evidence)[first.process]
        if one.api == first.api and one.request.arrived_ns > first.request.arrived_ns
    )
    after = next(later, None)
    is_answered = first.reached_ns is not None and after is not None and first.reached_ns < after.sent_ns
    return after if is_answered else None


def _repeated(evidence: Evidence, at: int) -> Evidence:
    """A commit is refused. The next one holds the same offsets, and the application learns the result only then."""
    each = list(tried(evidence, ASYNC))[at]
    first, after = each.tries[0].asked, _next(evidence, each)
    if after is None:
        return evidence
    again = changed(after.request, offsets=first.request.offsets)
    later_ns = after.request.arrived_ns + NS_PER_MS
    shift_ns = max(0, later_ns - each.event.complete_ns)
    event = changed(each.event, complete_ns=later_ns, mono_ns=later_ns, wall_ns=each.event.wall_ns + shift_ns)
    edits = {**refused(first, MOVED), id(after.request): again}
    return _told(with_edits(evidence, edits), each, event)


def _sync(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of synchronous commits, of members with a limit."""
    return range(len(_waited(evidence))) if limit_ms(evidence, API) is not None else []


def _waited(evidence: Evidence) -> list[tuple[int, OffsetsCommitted]]:
    """Return each synchronous commit with its place in the history."""
    return [
        (at, event)
        for at, event in enumerate(evidence.history)
        if isinstance(event, OffsetsCommitted) and event.how == SYNC
    ]


def _called_long_before(evidence: Evidence, number: int) -> Evidence:
    """The member had called long before: its commit lasted longer than it may."""
    at, event = _waited(evidence)[number]
    begin_ns = event.complete_ns - (limit_ms(evidence, API) or 0) * NS_PER_MS - 2 * SLACK_NS
    return with_changed(evidence, {at: changed(event, invoke_ns=begin_ns)})


def _first_lookups(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of the lookups of stored offsets after which a partition was fetched for the first time."""
    return range(len(_begun(evidence)))


def _begun(evidence: Evidence) -> list[Overlooked]:
    """Return the only lookup of each partition, and the fetch that followed it."""
    found = []
    for requests in asked(evidence).values():
        lookups = [each for each in requests if each.api == ASKS and each.request.offsets]
        for partition in range(evidence.record.spec.workload.partitions):
            mine = [each for each in lookups if partition in {at.partition for at in each.request.offsets}]
            fetches = (
                each
                for each in requests
                if each.api == "Fetch" and partition in {at.partition for at in each.request.offsets}
            )
            fetch = next(fetches, None)
            if len(mine) == 1 and fetch is not None and (mine[0].reached_ns or fetch.sent_ns) < fetch.sent_ns:
                found.append(Overlooked(mine[0], partition, fetch))
    return found


def _overlooked(evidence: Evidence, at: int) -> Evidence:
    return with_edits(evidence, refused(_begun(evidence)[at].refused, MOVED))


def _committed_readers(evidence: Evidence) -> Sequence[int]:
    return range(len(of_committed_data(evidence)))


def _unstable(evidence: Evidence, at: int) -> Evidence:
    each = of_committed_data(evidence)[at]
    return with_edits(
        evidence, asking(each, said=tuple([name for name in each.member.said if name != STABLE]))
    )


def _in_progress(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of pairs of asynchronous commits that were in progress together."""
    return range(sum(1 for _ in in_a_row(evidence)))


def _swapped(evidence: Evidence, at: int) -> Evidence:
    """The application learns the result of the first right after that of the second."""
    pair = list(in_a_row(evidence))[at]
    return _ended_at(evidence, pair.first, pair.second.mono_ns + 1)


def _after_a_wait(evidence: Evidence, at: int) -> Evidence:
    """The application waited for the second, and learns the result of the first after it."""
    pair = list(in_a_row(evidence))[at]
    place = list(evidence.history).index(pair.second)
    waited = with_changed(evidence, {place: changed(pair.second, how=SYNC, success=True, error=None)})
    return _ended_at(waited, pair.first, pair.second.mono_ns + 1)


def _ended_at(evidence: Evidence, event: OffsetsCommitted, at_ns: int) -> Evidence:
    later_ns = at_ns - event.mono_ns
    place = next(
        at
        for at, each in enumerate(evidence.history)
        if isinstance(each, OffsetsCommitted)
        and (each.producer, each.seq, each.mono_ns) == (event.producer, event.seq, event.mono_ns)
    )
    moved = changed(event, mono_ns=at_ns, complete_ns=at_ns, wall_ns=event.wall_ns + later_ns)
    return with_changed(evidence, {place: moved})


PERTURBATIONS = (
    Perturbation(
        "commit-of-its-own-generation",
        FRAMES,
        "commits as a member of a generation without having joined",
        ("commit-of-a-generation",),
        _alone,
        _naming(lambda _: {"epoch": 0}),
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "commit-under-a-name",
        FRAMES,
        "names itself as a member in a commit without having joined",
        ("commit-of-a-member",),
        _alone,
        _naming(lambda each: {"member_id": each.process}),
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "commit-given-up-early",
        BOTH,
        "reports a synchronous commit as failed at its first refusal by a coordinator that has moved",
        ("commit-given-up",),
        _at_once,
        _fails_at_once,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "commit-repeated-unasked",
        BOTH,
        "repeats an asynchronous commit that a coordinator has refused for the moment",
        ("commit-repeated-by-itself",),
        _in_background,
        _repeated,
        Verdict.DIFFERS,
        ALO,
        CONSUME,
    ),
    Perturbation(
        "commit-beyond-its-limit",
        channels("history"),
        "waits for a synchronous commit longer than default.api.timeout.ms",
        ("call-overdue",),
        _sync,
        _called_long_before,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "refused-offsets-overlooked",
        FRAMES,
        "reads on as if the group had no offsets when the request for them is refused",
        ("stored-offset-overlooked",),
        _first_lookups,
        _overlooked,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "unstable-offsets-accepted",
        FRAMES,
        "asks for stored offsets without asking for stable ones, although it reads committed data",
        ("unstable-offset-asked-for",),
        _committed_readers,
        _unstable,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "commit-results-swapped",
        channels("history"),
        "tells the application the result of an asynchronous commit after that of the next one",
        ("callbacks-out-of-order",),
        _in_progress,
        _swapped,
        Verdict.DIFFERS,
        ALO,
        CONSUME,
    ),
    Perturbation(
        "commit-result-after-a-wait",
        channels("history"),
        "tells the application the result of an asynchronous commit after a synchronous one has succeeded",
        ("callback-after-sync-commit",),
        _in_progress,
        _after_a_wait,
        Verdict.DIFFERS,
        ALO,
        CONSUME,
    ),
)
