"""Members of KIP-848 that take no notice of fatal errors and stale epochs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_contract import ConsumerError, OffsetsCommitted
from harness.model.evidence import Evidence
from harness.model.rows import Frame
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.beats import Beat, all_beats
from suites.analysis.consuming.lives import lives
from suites.checks.consume_wire.fatal_error_survived import FATAL, TOLD_NS, ends
from suites.checks.consume_wire.heartbeat_contents import is_accepted
from suites.checks.consume_wire.stale_commit import COMMIT, STALE, last_commits
from suites.perturbations.consuming.edits import with_changed
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.edits import inserted_id, with_frames_added
from suites.perturbations.membership.exchanges import refused, with_edits
from suites.perturbations.perturbation import channels

Place = tuple[str, int]
MOST = max(FATAL)


def _steady(evidence: Evidence) -> Sequence[Place]:
    """Return process and number of heartbeats after one that was accepted on the same connection."""
    return [
        (process, at)
        for process, beats in all_beats(evidence).items()
        for at, beat in enumerate(beats)
        if beat.is_steady and is_accepted(beat) and _is_next(beat)
    ]


def _is_next(beat: Beat) -> bool:
    return beat.before is not None and beat.before.request.conn == beat.now.request.conn


def _survived(evidence: Evidence, place: Place) -> Evidence:
    """The heartbeat before is answered with a fatal error, and the member goes on."""
    process, at = place
    before = all_beats(evidence)[process][at].before
    return evidence if before is None else with_edits(evidence, refused(before, MOST))


def _told(evidence: Evidence) -> Sequence[int]:
    """Return the fatal errors that an application had time to learn of."""
    return [
        at
        for at, end in enumerate(ends(evidence))
        if end.told.reached_ns is not None
        and (closing_ns := lives(evidence)[end.told.process].closing_ns) is not None
        and closing_ns > end.told.reached_ns + TOLD_NS
    ]


def _kept_back(evidence: Evidence, place: int) -> Evidence:
    """The application gets no exception."""
    told = list(ends(evidence))[place].told
    return with_changed(
        evidence,
        {
            at: None
            for at, event in enumerate(evidence.history)
            if isinstance(event, ConsumerError)
            and event.producer == told.process
            and event.mono_ns > told.request.arrived_ns
        },
    )


def _sync(evidence: Evidence) -> Sequence[int]:
    """Return the numbers in the history of the synchronous commits with one request, which took some time."""
    return [at for at, event in enumerate(evidence.history) if _request(evidence, event) is not None]


def _request(evidence: Evidence, event: object) -> Asked | None:
    if not isinstance(event, OffsetsCommitted) or event.how != "sync" or not event.success:
        return None
    found = [
        each
        for each in of_group(evidence, COMMIT).get(str(event.producer), ())
        if event.invoke_ns <= each.sent_ns and each.request.arrived_ns <= event.complete_ns
    ]
    return found[0] if len(found) == 1 and found[0].reached_ns is not None else None


def _reported_done(evidence: Evidence, place: int) -> Evidence:
    """The coordinator refuses a commit, and the application is told that it succeeded."""
    asked = _request(evidence, evidence.history[place])
    return evidence if asked is None else with_edits(evidence, refused(asked, STALE))


def _repeated(evidence: Evidence, place: int) -> Evidence:
    """The coordinator refuses a commit, and the client sends it again within the call."""
    event = evidence.history[place]
    asked = _request(evidence, event)
    assert asked is not None and asked.answer is not None and isinstance(event, OffsetsCommitted)
    at_ns = asked.answer.t_ns
    own = {"correlation_id": inserted_id(evidence), "received_ns": None}
    more: tuple[Frame, ...] = (
        changed(asked.request, t_ns=at_ns + 1, **own),
        changed(asked.answer, t_ns=at_ns + 2, **own),
    )
    later = changed(
        event, complete_ns=max(event.complete_ns, at_ns + 3), mono_ns=max(event.mono_ns, at_ns + 3)
    )
    again = with_frames_added(with_edits(evidence, refused(asked, STALE)), more)
    return with_changed(again, {place: later})


def _unfinished(evidence: Evidence) -> Sequence[int]:
    """Return the partitions with a refused commit after which another one succeeded."""
    return [at for at, case in enumerate(last_commits(evidence)) if case.commit.code == 0]


def _given_up(evidence: Evidence, place: int) -> Evidence:
    """The last commits of the partition are refused as well."""
    case = list(last_commits(evidence))[place]
    edits: dict[int, Frame | None] = {}
    for each in of_group(evidence, COMMIT)[case.commit.process]:
        is_of = any(part.partition == case.change.partition for part in each.request.offsets)
        if is_of and each.request.arrived_ns < case.change.beat.now.request.arrived_ns:
            edits |= refused(each, STALE)
    return with_edits(evidence, edits)


PERTURBATIONS = (
    of_consumers(
        "survived-a-fatal-error",
        channels("frames"),
        "sends a heartbeat after its coordinator has refused it for good",
        "fatal-error-survived",
        _steady,
        _survived,
    ),
    of_consumers(
        "kept-a-fatal-error-back",
        channels("history"),
        "does not tell its application of an error that has ended its membership",
        "fatal-error-not-told",
        _told,
        _kept_back,
    ),
    of_consumers(
        "stale-commit-taken-for-done",
        channels("frames"),
        "tells its application that a commit with a stale epoch succeeded",
        "stale-commit-reported-done",
        _sync,
        _reported_done,
    ),
    of_consumers(
        "stale-commit-sent-again",
        channels("frames", "history"),
        "sends a commit of its application again, although its epoch was stale",
        "stale-commit-repeated",
        _sync,
        _repeated,
    ),
    of_consumers(
        "stale-commit-given-up",
        channels("frames"),
        "gives a partition up although the automatic commit before that had a stale epoch",
        "stale-commit-not-repeated",
        _unfinished,
        _given_up,
    ),
)
