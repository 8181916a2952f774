"""The frames that a reader needs: around the edges of each fault and around the failure.

Reports show a limited number of frames and say so. The trial's file has all of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from harness.judging.consumer_words import consumer_words
from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind, ProducePart, TrialVerdict
from harness.text.counting import some
from harness.wire.error_table import error_for

MAX_LINES = 240
AROUND = 12

ARROWS = {
    FrameKind.OPEN: "open",
    FrameKind.REQUEST: "→",
    FrameKind.RESPONSE: "←",
    FrameKind.OPAQUE: "??",
    FrameKind.CLOSE: "close",
}


@dataclass(frozen=True)
class WireLine:
    """One frame in words. ``gap``: frames are left out before it; ``fault``: a fault was in effect."""

    number: int
    at_ms: float
    arrow: str
    conn: int
    broker: int
    correlation_id: int | None
    what: str
    size_bytes: int
    details: str
    fault: bool
    again: bool
    gap: bool


def origin_ns(evidence: Evidence) -> int:
    """Return time 0: the begin of load, or the first event in a trial without load."""
    if evidence.record.phases.load_ns is not None:
        return evidence.record.phases.load_ns
    firsts = [row.mono_ns for row in evidence.history[:1]] + [frame.t_ns for frame in evidence.frames[:1]]
    return min(firsts, default=0)


def wire_lines(
    evidence: Evidence,
    verdict: TrialVerdict,
    resent: Collection[int] = (),
    most: int = MAX_LINES,
    around: int = AROUND,
) -> list[WireLine]:
    """Return at most ``most`` frames of a trial, in order: ``around`` before and after each moment.

    ``resent`` gives numbers of frames.
    """
    load_ns = origin_ns(evidence)
    chosen = _choose(evidence.frames, _moments(evidence, verdict), most, around)
    windows = [row.effective_ns for row in evidence.faults if row.effective_ns is not None]
    lines = []
    for before, number in zip([None, *chosen], chosen, strict=False):
        frame = evidence.frames[number]
        lines.append(
            WireLine(
                number=number,
                at_ms=round((frame.t_ns - load_ns) / 1e6, 3),
                arrow=ARROWS[frame.kind],
                conn=frame.conn,
                broker=frame.broker,
                correlation_id=frame.correlation_id,
                what=_what(frame),
                size_bytes=frame.size_bytes,
                details=_details(frame),
                fault=any(start <= frame.t_ns <= end for start, end in windows),
                again=number in resent,
                gap=number != (0 if before is None else before + 1),
            )
        )
    return lines


def _moments(evidence: Evidence, verdict: TrialVerdict) -> list[int]:
    """Return the moments to show, the most important first: samples of findings, edges of faults, the begin of load."""
    found = []
    for requirement in verdict.requirements:
        for finding in requirement.findings:
            for sample in finding.samples[:2]:
                send = evidence.operations.get(sample.get("n"))  # type: ignore[arg-type]
                if send is not None:
                    found += [send.invoke_ns, send.complete_ns or send.invoke_ns]
    edges = [edge for row in evidence.faults if row.effective_ns for edge in row.effective_ns]
    return [*found, *edges, origin_ns(evidence)]


def _choose(frames: Sequence[Frame], moments: Iterable[int], most: int, reach: int) -> list[int]:
    times = [frame.t_ns for frame in frames]
    chosen: set[int] = set()
    for moment in moments:
        at = bisect_left(times, moment)
        around = set(range(max(0, at - reach), min(len(frames), at + reach)))
        if len(chosen | around) > most:
            break
        chosen |= around
    return sorted(chosen)


def _what(frame: Frame) -> str:
    if frame.api is not None:
        return f"{frame.api} v{frame.api_version}"
    return f"by {frame.closed_by}" if frame.closed_by else ""


def _details(frame: Frame) -> str:
    parts = [_part(part, frame.kind) for part in frame.produce] + consumer_words(frame)
    if not frame.produce:
        parts += [error_for(code).name for code in frame.error_codes]
    return "; ".join(parts + ([frame.note] if frame.note else []))


def _part(part: ProducePart, kind: FrameKind) -> str:
    if kind is FrameKind.RESPONSE:
        said = error_for(part.error_code).name if part.error_code else f"offset {part.base_offset}"
        return f"p{part.partition}: {said}"
    who = (
        f" pid {part.producer_id}/{part.producer_epoch} seq {part.base_sequence}"
        if (part.producer_id or 0) >= 0
        else ""
    )
    return f"p{part.partition}: {some(part.records or 0, 'record')}{who}"
