"""Connections that leak by the hundred, and connections whose first request was not ApiVersions."""

from __future__ import annotations

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import FrameKind
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.perturbations.batches import BEHIND_NS
from suites.perturbations.edits import inserted_id, with_frames, with_frames_added
from suites.perturbations.exchanges import PRODUCE, opening
from suites.perturbations.perturbation import channels, once

FRAMES = channels("frames")
CONNECTIONS = 500


def _can_leak(evidence: Evidence) -> bool:
    """True if none of the client's own connections ended, since the cause would end the leaked ones too."""
    produced = [frame.t_ns for frame in evidence.frames if frame.api == PRODUCE]
    ends = (frame.t_ns for frame in evidence.frames if frame.kind is FrameKind.CLOSE)
    return len(opening(evidence)) > 0 and not any(produced[0] <= t_ns <= produced[-1] for t_ns in ends)


def _leaked(evidence: Evidence, _: str) -> Evidence:
    """Open 500 connections evenly while the client works. They are used for nothing else and end with the process."""
    hello = opening(evidence)
    opened_ns = hello[0].t_ns
    until_ns = max(frame.t_ns for frame in evidence.frames if frame.api == PRODUCE)
    every_ns = max(1, (until_ns - opened_ns) // CONNECTIONS)
    first = max(frame.conn for frame in (*evidence.frames, *evidence.blocked_frames)) + 1
    last_id = inserted_id(evidence)
    added = [
        changed(
            frame,
            conn=first + n,
            t_ns=frame.t_ns + n * every_ns,
            received_ns=None,
            fault=None,
            disposition=None,
            correlation_id=None if frame.correlation_id is None else last_id + frame.correlation_id,
        )
        for n in range(CONNECTIONS)
        for frame in hello
    ]
    over_ns = max(frame.t_ns for frame in evidence.frames) + BEHIND_NS
    ends = [
        changed(hello[0], conn=first + n, kind=FrameKind.CLOSE, closed_by="client", t_ns=over_ns + n)
        for n in range(CONNECTIONS)
    ]
    return with_frames_added(evidence, [*added, *ends])


def _with_versions(evidence: Evidence) -> list[int]:
    """Return connections that carry Produce and began with ApiVersions."""
    first: dict[int, str | None] = {}
    produce = set()
    for frame in evidence.frames:
        if frame.kind is FrameKind.REQUEST:
            first.setdefault(frame.conn, frame.api)
            if frame.api == PRODUCE:
                produce.add(frame.conn)
    return [conn for conn in sorted(produce) if first.get(conn) == "ApiVersions"]


def _no_versions_on(evidence: Evidence, conn: int) -> Evidence:
    return with_frames(
        evidence, [frame for frame in evidence.frames if frame.conn != conn or frame.api != "ApiVersions"]
    )


def _versions_afterwards(evidence: Evidence, conn: int) -> Evidence:
    """The first Produce request of a connection is sent before its ApiVersions request."""
    frames = list(evidence.frames)
    hello = next(at for at, each in enumerate(frames) if each.conn == conn and each.api == "ApiVersions")
    first = next(at for at, each in enumerate(frames) if each.conn == conn and each.api == PRODUCE)
    answers = [
        at
        for at, each in enumerate(frames)
        if each.conn == conn and each.kind is FrameKind.RESPONSE and each.api == "ApiVersions"
    ]
    asks = [at for at, each in enumerate(frames) if each.conn == conn and each.api == "ApiVersions"]
    behind = frames[first].t_ns + BEHIND_NS
    answered = next(
        (each.t_ns for each in frames[first:] if each.conn == conn and each.kind is FrameKind.RESPONSE),
        behind,
    )
    for at in asks:
        frames[at] = changed(
            frames[at], t_ns=(answered + BEHIND_NS if at in answers else behind), received_ns=None
        )
    assert hello in asks
    return with_frames(evidence, frames)


PERTURBATIONS = (
    Perturbation(
        "connections-leaked",
        FRAMES,
        "opens 500 connections and closes none of them before its process ends",
        ("connections-leaked", "connections-open"),
        once(_can_leak),
        _leaked,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "no-api-versions",
        FRAMES,
        "sends Produce on a connection on which it never asked for ApiVersions",
        ("api-versions-skipped",),
        _with_versions,
        _no_versions_on,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "api-versions-afterwards",
        FRAMES,
        "sends Produce before it asks for ApiVersions on the same connection",
        ("api-versions-skipped",),
        _with_versions,
        _versions_afterwards,
        verdict=Verdict.DIFFERS,
    ),
)
