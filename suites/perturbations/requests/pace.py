"""Requests at a rate that overloads a broker: storms of retries and of Metadata, and ignored throttling."""

from __future__ import annotations

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence, view
from harness.model.rows import Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation, Place
from suites.perturbations.edits import inserted_id, refusing, with_frame, with_frames, with_frames_added
from suites.perturbations.exchanges import PRODUCE, Spot, answer_to, calm, settled
from suites.perturbations.pauses import paused, quiet
from suites.perturbations.perturbation import channels, once

FRAMES = channels("frames")
#: NOT_LEADER_OR_FOLLOWER.
NOT_LEADER = 6
RETRIES, RETRY_EVERY_NS = 3_000, NS_PER_MS
REQUESTS_OF_METADATA, METADATA_EVERY_NS = 2_000, NS_PER_MS // 2
THROTTLE_MS = 10_000


def _next_request(evidence: Evidence, at_ns: int) -> int:
    """Return the index of the first Produce request at or after a time."""
    frames = enumerate(evidence.frames)
    return next(
        at
        for at, frame in frames
        if frame.t_ns >= at_ns and frame.api == PRODUCE and frame.kind is FrameKind.REQUEST
    )


def _storm(evidence: Evidence, at_ns: int) -> Evidence:
    """The next Produce request is sent 3,000 times, a millisecond apart, before the broker accepts it."""
    calm = paused(evidence, at_ns, (RETRIES + 1) * RETRY_EVERY_NS)
    request = evidence.frames[_next_request(evidence, at_ns)]
    refused = refusing(request, NOT_LEADER)
    added = _repeated(evidence, request, refused, at_ns, RETRIES, RETRY_EVERY_NS)
    return with_frames_added(calm, added)


def _repeated(
    evidence: Evidence, request: Frame, answer: Frame, at_ns: int, count: int, every_ns: int
) -> list[Frame]:
    """Return ``count`` copies of a request, each answered before the next one is sent."""
    first = inserted_id(evidence)
    own = {"received_ns": None, "fault": None, "disposition": None}
    frames = []
    for n in range(count):
        t_ns = at_ns + n * every_ns
        frames.append(changed(request, t_ns=t_ns, correlation_id=first + n, **own))
        frames.append(changed(answer, t_ns=t_ns + every_ns // 2, correlation_id=first + n, **own))
    return frames


@view
def _metadata(evidence: Evidence) -> tuple[Frame, Frame] | None:
    """Return a Metadata request of the trial and its answer."""
    asked_for: dict[tuple[int, int | None], Frame] = {}
    for frame in evidence.frames:
        if frame.api == "Metadata":
            key = (frame.conn, frame.correlation_id)
            if frame.kind is FrameKind.REQUEST:
                asked_for[key] = frame
            elif key in asked_for:
                return asked_for[key], frame
    return None


def _metadata_storm(evidence: Evidence, at_ns: int) -> Evidence:
    """2,000 Metadata requests are sent in a second, on the connection of the next Produce request."""
    found = _metadata(evidence)
    assert found is not None
    conn = evidence.frames[_next_request(evidence, at_ns)]
    request, answer = (changed(frame, conn=conn.conn, broker=conn.broker) for frame in found)
    calm = paused(evidence, at_ns, (REQUESTS_OF_METADATA + 1) * METADATA_EVERY_NS)
    return with_frames_added(
        calm, _repeated(evidence, request, answer, at_ns, REQUESTS_OF_METADATA, METADATA_EVERY_NS)
    )


def _sent_on(evidence: Evidence) -> list[Spot]:
    """Return batches whose answer was followed by another request on its connection, after one to nine seconds.

    No fault on the path can keep the answer from the client.
    """
    asked_ns: dict[int, list[int]] = {}
    for frame in evidence.frames:
        if frame.api == PRODUCE and frame.kind is FrameKind.REQUEST:
            asked_ns.setdefault(frame.conn, []).append(frame.arrived_ns)
    found = []
    for spot, batch in calm(evidence).items():
        answer = answer_to(evidence, batch)
        late_ms = ((t_ns - answer.t_ns) // NS_PER_MS for t_ns in asked_ns[answer.conn])
        if any(1_000 < each < THROTTLE_MS - 1_000 for each in late_ms):
            found.append(spot)
    return found


def _throttled(evidence: Evidence, spot: Spot) -> Evidence:
    index = settled(evidence)[spot].exchange.answer
    return with_frame(evidence, index or 0, throttle_ms=THROTTLE_MS)


def _always_throttled(evidence: Evidence, _: str) -> Evidence:
    """Every Produce answer asks for ten seconds."""
    frames = [
        changed(frame, throttle_ms=THROTTLE_MS)
        if frame.api == PRODUCE and frame.kind is FrameKind.RESPONSE
        else frame
        for frame in evidence.frames
    ]
    return with_frames(evidence, frames)


def _quiet(evidence: Evidence) -> list[Place]:
    return list(quiet(evidence))


def _quiet_with_metadata(evidence: Evidence) -> list[Place]:
    return list(quiet(evidence)) if _metadata(evidence) else []


PERTURBATIONS = (
    Perturbation(
        "retry-storm",
        channels("frames", "history", "log"),
        "sends a refused batch again 3,000 times, a millisecond apart",
        ("retry-storm",),
        _quiet,
        _storm,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "metadata-storm",
        channels("frames", "history", "log"),
        "asks for Metadata 2,000 times in a second",
        ("metadata-storm",),
        _quiet_with_metadata,
        _metadata_storm,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "throttle-ignored",
        FRAMES,
        "continues to send on a connection whose broker asked it to wait ten seconds",
        ("throttle-ignored",),
        _sent_on,
        _throttled,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "throttle-always-ignored",
        FRAMES,
        "continues to send although every answer asks it to wait ten seconds",
        ("throttle-ignored",),
        once(lambda evidence: len(_sent_on(evidence)) > 0),
        _always_throttled,
        verdict=Verdict.DIFFERS,
    ),
)
