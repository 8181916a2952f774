"""The limits of the excuses for an overtaken record: failures that did not delay this record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import AtTime, FaultSpec
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import AT_LEAST_ONCE
from suites.perturbations.batches import followers, sent_later
from suites.perturbations.edits import with_frames_added, with_spec
from suites.perturbations.exchanges import Batch, Spot, answer_to, asked, calm, request_of, settled
from suites.perturbations.limits.scene import refusal
from suites.perturbations.perturbation import channels

NOT_LEADER = 6
#: From a first attempt to its retry.
SOON_NS = NS_PER_MS // 5
Pair = tuple[Spot, Spot]
EVERYWHERE = ("frames", "log", "history")


def _pairs(evidence: Evidence) -> list[Pair]:
    """Return batches and their successors, if nothing else failed."""
    return followers(evidence, calm(evidence))


def _overtaken(evidence: Evidence, place: Pair) -> Evidence:
    """Send the first of the two right after the second one."""
    batches = settled(evidence)
    return sent_later(evidence, batches[place[0]], batches[place[1]])


def _before_fault(evidence: Evidence, place: Pair) -> Evidence:
    """A fault begins when the request was sent, and ends before anything else happens."""
    begin_ns = request_of(evidence, settled(evidence)[place[1]]).t_ns + NS_PER_MS // 10
    window = begin_ns, begin_ns + NS_PER_MS // 10
    start = AtTime(max(0, (begin_ns - (evidence.record.phases.load_ns or 0)) // NS_PER_MS))
    row = FaultRow(len(evidence.faults), FaultSpec("refuse", start, 1), window, window, 1)
    planned = with_spec(evidence, faults=(*evidence.record.spec.faults, row.spec))
    return _overtaken(replace(planned, faults=(*planned.faults, row)), place)


def _refused_first(evidence: Evidence, place: Pair, refused: Batch) -> Evidence:
    """``refused`` is tried on a separate connection, right before the second batch is sent, and is not stored."""
    batches = settled(evidence)
    request, answer = (of(evidence, batches[place[1]]) for of in (request_of, answer_to))
    part, at_ns = asked(evidence, refused.exchange), request.t_ns - SOON_NS
    conn = max(frame.conn for frame in (*evidence.frames, *evidence.blocked_frames)) + 1
    own = {"conn": conn, "received_ns": None, "fault": None, "disposition": None, "correlation_id": 1}
    asks: Frame = changed(request, t_ns=at_ns + 1, produce=(part,), **own)
    told = refusal(part, NOT_LEADER)
    tells = changed(answer, t_ns=at_ns + SOON_NS // 2, produce=(told,), error_codes=(NOT_LEADER,), **own)
    known = next(frame for frame in evidence.frames if frame.kind is FrameKind.OPEN)
    bare = own | {"correlation_id": None, "broker": request.broker}
    opens = changed(known, t_ns=at_ns, **bare)
    end = answer.t_ns + NS_PER_MS
    closes = changed(known, kind=FrameKind.CLOSE, closed_by="client", t_ns=end, **bare)
    return with_frames_added(_overtaken(evidence, place), [opens, asks, tells, closes])


def _beside_refused(evidence: Evidence, place: Pair) -> Evidence:
    return _refused_first(evidence, place, settled(evidence)[place[1]])


def _are_waiting(evidence: Evidence, batch: Batch, at_ns: int) -> bool:
    return all(send.invoke_ns < at_ns - 2 * SOON_NS for send in batch.sends)


def _waiting(evidence: Evidence) -> list[Pair]:
    """Return pairs whose second batch was handed over a while before it was sent."""
    second = settled(evidence)
    return [
        place
        for place in _pairs(evidence)
        if _are_waiting(evidence, second[place[1]], request_of(evidence, second[place[1]]).t_ns)
    ]


def _other(evidence: Evidence, place: Pair) -> Batch | None:
    """Return a batch of another partition that waits when the second of the pair is sent, and is sent no sooner."""
    at_ns = request_of(evidence, settled(evidence)[place[1]]).t_ns
    for other in calm(evidence).values():
        is_later = request_of(evidence, other).t_ns >= at_ns
        if other.partition != place[0][0] and is_later and _are_waiting(evidence, other, at_ns):
            return other
    return None


def _elsewhere(evidence: Evidence, place: Pair) -> Evidence:
    other = _other(evidence, place)
    assert other is not None
    return _refused_first(evidence, place, other)


def _kind(
    name: str,
    defect: str,
    caught_by: tuple[str, ...],
    places: Callable[[Evidence], list[Pair]],
    apply: Callable[[Evidence, Pair], Evidence],
    verdict: Verdict,
    also: tuple[str, ...] = (),
) -> Perturbation:
    changes = channels(*EVERYWHERE, *also)
    return Perturbation(name, changes, defect, caught_by, places, apply, verdict, AT_LEAST_ONCE)


PERTURBATIONS = (
    _kind(
        "overtaken-before-refusals",
        "sends a batch after the next one of its partition, and connections are refused only afterwards",
        ("unexplained-reorder", "reordered"),
        _pairs,
        _before_fault,
        Verdict.FAIL,
        ("faults",),
    ),
    _kind(
        "overtaken-by-a-retry",
        "sends a batch after the next one of its partition, although only that one was refused",
        ("avoidable-reorder", "unexplained-reorder", "reordered"),
        _waiting,
        _beside_refused,
        Verdict.DIFFERS,
    ),
    _kind(
        "overtaken-beside-refusal-elsewhere",
        "sends a batch after the next one of its partition, while a batch of another partition is refused elsewhere",
        ("unexplained-reorder", "reordered"),
        lambda evidence: [place for place in _pairs(evidence) if _other(evidence, place) is not None],
        _elsewhere,
        Verdict.FAIL,
    ),
)
