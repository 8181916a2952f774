"""Fetch requests that do not fit their sessions."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_rows import FetchPart
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from suites.checks.consume_wire.fetch_session_broken import REFUSALS, Step, may_lack_some, steps
from suites.perturbations.consuming.edits import with_fault
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.membership.exchanges import answer_lost, with_edits
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")


def _places(evidence: Evidence) -> Sequence[int]:
    return range(len(steps(evidence)))


def _seen(evidence: Evidence) -> Sequence[int]:
    """Return the steps between which the witness has seen every request."""
    return [at for at, step in enumerate(steps(evidence)) if not may_lack_some(evidence, step)]


def _of(evidence: Evidence, place: int) -> tuple[Step, FetchPart]:
    step = steps(evidence)[place]
    return step, step.fetch.request.fetch or FetchPart()


def _skipped(evidence: Evidence, place: int) -> Evidence:
    step, session = _of(evidence, place)
    other = changed(session, session_epoch=(session.session_epoch or 0) + 1)
    return with_edits(evidence, {id(step.fetch.request): changed(step.fetch.request, fetch=other)})


def _on_one_connection(evidence: Evidence) -> Sequence[int]:
    """Return those of them whose request before was in the session as well, on the same connection."""
    found = [(at, steps(evidence)[at]) for at in _seen(evidence)]
    return [
        at
        for at, step in found
        if step.before is not None
        and step.before.request.conn == step.fetch.request.conn
        and _epoch_before(step) > 0
    ]


def _repeated(evidence: Evidence, place: int) -> Evidence:
    step, session = _of(evidence, place)
    other = changed(session, session_epoch=_epoch_before(step))
    return with_edits(evidence, {id(step.fetch.request): changed(step.fetch.request, fetch=other)})


def _skipped_before_a_cut(evidence: Evidence, place: int) -> Evidence:
    """Connections are cut only after the request had arrived."""
    begin_ns = steps(evidence)[place].fetch.request.arrived_ns + 1
    return with_fault(_skipped(evidence, place), "disconnect", begin_ns, NS_PER_MS)


def _invented(evidence: Evidence, place: int) -> Evidence:
    step, session = _of(evidence, place)
    other = changed(session, session_id=(session.session_id or 0) ^ 1)
    return with_edits(evidence, {id(step.fetch.request): changed(step.fetch.request, fetch=other)})


def _answered(evidence: Evidence) -> Sequence[int]:
    """Return the steps whose request before was answered before they were sent."""
    return [
        at
        for at, step in enumerate(steps(evidence))
        if step.before is not None
        and step.before.reached_ns is not None
        and step.before.reached_ns < step.fetch.sent_ns
    ]


def _answered_within(evidence: Evidence) -> Sequence[int]:
    """Return those of them whose request before did not begin the session: its answer gives the id."""
    return [at for at in _answered(evidence) if _epoch_before(steps(evidence)[at]) > 0]


def _epoch_before(step: Step) -> int:
    session = step.before.request.fetch if step.before is not None else None
    return 0 if session is None else session.session_epoch or 0


def _refused(evidence: Evidence, place: int) -> Evidence:
    before = steps(evidence)[place].before
    assert before is not None and before.answer is not None
    told = changed(before.answer.fetch or FetchPart(), error_code=REFUSALS[0])
    refused = changed(before.answer, fetch=told, error_codes=(REFUSALS[0],), offsets=())
    return with_edits(evidence, {id(before.answer): refused})


def _lost(evidence: Evidence, place: int) -> Evidence:
    """The session goes on after an answer that was lost."""
    step = steps(evidence)[place]
    assert step.before is not None
    return answer_lost(evidence, step.before, step.fetch)


PERTURBATIONS = (
    of_consumers(
        "fetch-epoch-skipped",
        FRAMES,
        "skips an epoch of a fetch session",
        "fetch-session-epoch",
        _seen,
        _skipped,
        Verdict.FAIL,
    ),
    of_consumers(
        "fetch-epoch-skipped-before-a-cut",
        channels("frames", "faults"),
        "skips an epoch of a fetch session, before connections are cut",
        "fetch-session-epoch",
        _seen,
        _skipped_before_a_cut,
        Verdict.FAIL,
    ),
    of_consumers(
        "fetch-epoch-repeated",
        FRAMES,
        "fetches a second time with one epoch of a fetch session, on the same connection",
        "fetch-session-epoch",
        _on_one_connection,
        _repeated,
        Verdict.FAIL,
    ),
    of_consumers(
        "fetch-session-invented",
        FRAMES,
        "fetches in a session that no broker gave it",
        "fetch-session-not-given",
        _places,
        _invented,
        Verdict.FAIL,
    ),
    of_consumers(
        "fetch-session-kept-though-refused",
        FRAMES,
        "goes on with a fetch session that the broker has refused",
        "fetch-session-refused",
        _answered,
        _refused,
        Verdict.FAIL,
    ),
    of_consumers(
        "fetch-session-kept-after-loss",
        FRAMES,
        "goes on with a fetch session of which an answer was lost with its connection",
        "fetch-session-after-loss",
        _answered_within,
        _lost,
    ),
)
