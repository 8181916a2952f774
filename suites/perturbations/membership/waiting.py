"""Members that do not wait for the answer to a JoinGroup."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from harness.model.units import NS_PER_MS
from suites.analysis.consuming.asked import of_group
from suites.analysis.consuming.calls import called_ns
from suites.analysis.consuming.joins import Wait, waits
from suites.analysis.consuming.timing import REQUEST, setting_ms
from suites.checks.consume_wire.join_given_up import long_waits
from suites.checks.consume_wire.wakeup_joins_again import WAKEUP, interrupted
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.edits import inserted_id, with_frames, with_frames_added
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")


def _long(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of the waits for an answer that lasted longer than a request may."""
    return [at for at, wait in enumerate(waits(evidence)) if wait in long_waits(evidence) and _is_kept(wait)]


def _is_kept(wait: Wait) -> bool:
    return not wait.is_given_up and wait.asked.answer is not None


def _after_an_error(evidence: Evidence) -> Sequence[int]:
    """Return those of them before which the member was told an error."""
    return [at for at in _long(evidence) if _was_refused(evidence, waits(evidence)[at])]


def _was_refused(evidence: Evidence, wait: Wait) -> bool:
    requests = of_group(evidence)[wait.process]
    before = requests[: requests.index(wait.asked)]
    return bool(before and before[-1].code)


def _given_up(evidence: Evidence, place: int) -> Evidence:
    """The client closes the connection after request.timeout.ms, and joins on another one."""
    wait = waits(evidence)[place]
    request, answer = wait.asked.request, wait.asked.answer
    at_ns = wait.span.begin_ns + setting_ms(evidence, REQUEST) * NS_PER_MS
    old, new = request.conn, 1 + max(frame.conn for frame in evidence.frames)
    rows = [
        changed(frame, conn=new) if frame.conn == old and (frame is answer or frame.t_ns > at_ns) else frame
        for frame in evidence.frames
    ]
    ends = Frame(at_ns, request.lane, request.broker, old, FrameKind.CLOSE, closed_by="client")
    begins = Frame(at_ns + 1, request.lane, request.broker, new, FrameKind.OPEN)
    again = changed(request, t_ns=at_ns + 2, received_ns=None, conn=new)
    return with_frames(evidence, [*rows, ends, begins, again])


def _woken(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of the waits in which the application woke its consumer up."""
    return [at for at, wait in enumerate(interrupted(evidence)) if _is_kept(wait)]


def _joined_again(evidence: Evidence, place: int) -> Evidence:
    """The member joins a second time right after the wakeup, and gets both answers."""
    wait = interrupted(evidence)[place]
    request, answer = wait.asked.request, wait.asked.answer
    assert answer is not None
    calls_ns = called_ns(evidence, wait.process, (WAKEUP,))
    woken_ns = min(at_ns for at_ns in calls_ns if at_ns >= wait.span.begin_ns)
    own = inserted_id(evidence)
    again = changed(request, t_ns=woken_ns + 1, received_ns=None, correlation_id=own)
    told = changed(answer, t_ns=answer.t_ns + 1, received_ns=None, correlation_id=own)
    return with_frames_added(evidence, (again, told))


PERTURBATIONS = (
    of_consumers(
        "join-cut-by-request-timeout",
        FRAMES,
        "gives up a JoinGroup after request.timeout.ms, and joins again",
        "join-given-up",
        _long,
        _given_up,
    ),
    of_consumers(
        "join-cut-after-an-error",
        FRAMES,
        "gives up a JoinGroup that it has sent because of an error, and joins again",
        "join-given-up",
        _after_an_error,
        _given_up,
    ),
    of_consumers(
        "joined-again-when-woken",
        FRAMES,
        "sends another JoinGroup when its application wakes it up",
        "wakeup-joins-again",
        _woken,
        _joined_again,
    ),
)
