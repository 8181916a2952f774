"""Retries that a client must not send: without a pause, or after an error that is final."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.perturbations.edits import inserted_id, refusing, with_frames_added
from suites.perturbations.exchanges import Spot, asked, calm, request_of, settled
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")
#: An error that keeps the leader, and one that is final.
NOT_ENOUGH_REPLICAS, NOT_AUTHORIZED = 19, 29


def _retried_after(code: int) -> Callable[[Evidence, Spot], Evidence]:
    """Return a perturbation in which a batch is refused once and sent again a millisecond later, successfully."""

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        batch = settled(evidence)[spot]
        request, sent = request_of(evidence, batch), asked(evidence, batch.exchange)
        own = {
            "correlation_id": inserted_id(evidence),
            "received_ns": None,
            "fault": None,
            "disposition": None,
        }
        refused = changed(request, t_ns=request.arrived_ns - 2 * NS_PER_MS, produce=(sent,), **own)
        answer = refusing(refused, code, t_ns=request.arrived_ns - NS_PER_MS)
        return with_frames_added(evidence, [refused, answer])

    return apply


def _idle_before(evidence: Evidence) -> list[Spot]:
    """Return batches that waited for some milliseconds in the client while their connection was idle.

    No fault on the path can keep a refusal from the client.
    """
    found, waiting, idle_since = [], Counter[int](), dict[int, int]()
    idle: dict[int, bool] = {}
    for index, frame in enumerate(evidence.frames):
        if frame.kind is FrameKind.REQUEST:
            since_ns = idle_since.get(frame.conn, frame.t_ns)
            idle[index] = not waiting[frame.conn] and frame.arrived_ns - since_ns > 3 * NS_PER_MS
            waiting[frame.conn] += 1
        elif frame.kind is FrameKind.RESPONSE:
            waiting[frame.conn] -= 1
            idle_since[frame.conn] = frame.t_ns
    for spot, batch in calm(evidence).items():
        sent_ns = request_of(evidence, batch).arrived_ns
        called = all(send.invoke_ns < sent_ns - 2 * NS_PER_MS for send in batch.sends)
        if called and idle[batch.exchange.request]:
            found.append(spot)
    return found


PERTURBATIONS = (
    Perturbation(
        "retry-without-pause",
        FRAMES,
        "sends a batch again as soon as it is refused",
        ("retry-too-soon", "retry-storm"),
        _idle_before,
        _retried_after(NOT_ENOUGH_REPLICAS),
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "retried-after-final-error",
        FRAMES,
        "sends a batch again that was refused with TOPIC_AUTHORIZATION_FAILED",
        ("retried-final-error", "retry-too-soon"),
        _idle_before,
        _retried_after(NOT_AUTHORIZED),
        verdict=Verdict.DIFFERS,
    ),
)
