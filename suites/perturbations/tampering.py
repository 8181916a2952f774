"""Evidence that is not complete. No conclusion about a client can be drawn from it.

No client leaves such evidence. These perturbations show that missing, cut or contradictory evidence is
reported and never passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from clients.reference.telemetry.trace import RequestSent
from harness.model.contract import TRACE_FEATURE, WHOLE_OPS, OpComplete, ShutdownComplete
from harness.model.evidence import Evidence
from harness.model.rows import FrameKind
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation, Place
from suites.checks.trace.trace_model import events_of
from suites.perturbations.batches import spots
from suites.perturbations.edits import with_frames
from suites.perturbations.exchanges import PRODUCE, Spot, calm, layout, settled
from suites.perturbations.perturbation import channels, once

WHOLE = "the whole trial"
#: What these channels must hold depends on no workload.
OF_ANY_WORKLOAD = ("history", "faults")
#: Codes for evidence that is not complete.
TORN = (
    "history-incomplete",
    "frames-incomplete",
    "log-incomplete",
    "trace-incomplete",
    "faults-incomplete",
)


def _without_event(evidence: Evidence, at: int) -> Evidence:
    return replace(evidence, history=(*evidence.history[:at], *evidence.history[at + 1 :]))


def _results(evidence: Evidence) -> list[int]:
    return [
        at
        for at, event in enumerate(evidence.history)
        if isinstance(event, OpComplete) and event.op not in WHOLE_OPS
    ]


def _event_twice(evidence: Evidence, at: int) -> Evidence:
    return replace(evidence, history=(*evidence.history[: at + 1], *evidence.history[at:]))


def _cut_history(evidence: Evidence, _: str) -> Evidence:
    return replace(
        evidence,
        history=tuple([event for event in evidence.history if not isinstance(event, ShutdownComplete)]),
    )


def _result_twice(evidence: Evidence, at: int) -> Evidence:
    """Add a second result for records that have one, in a separate line."""
    again = changed(evidence.history[at], seq=len(evidence.history))
    return replace(evidence, history=(*evidence.history, again))


def _unasked_result(evidence: Evidence, at: int) -> Evidence:
    """Add a result for a record that was never handed over."""
    event = evidence.history[at]
    assert isinstance(event, OpComplete)
    told = changed(event, records=[*event.records[:-1], 10_000_000])
    return replace(evidence, history=(*evidence.history[:at], told, *evidence.history[at + 1 :]))


def _no_frames(evidence: Evidence, _: str) -> Evidence:
    return replace(evidence, frames=())


def _half_the_frames(evidence: Evidence, _: str) -> Evidence:
    return with_frames(evidence, evidence.frames[: len(evidence.frames) // 2])


def _no_answer(evidence: Evidence, spot: Spot) -> Evidence:
    """Remove the row of an answer. The connection went on."""
    gone = settled(evidence)[spot].exchange.answer
    return with_frames(evidence, [frame for at, frame in enumerate(evidence.frames) if at != gone])


def _no_request(evidence: Evidence, spot: Spot) -> Evidence:
    gone = settled(evidence)[spot].exchange.request
    return with_frames(evidence, [frame for at, frame in enumerate(evidence.frames) if at != gone])


def _answer_twice(evidence: Evidence, spot: Spot) -> Evidence:
    answer = evidence.frames[settled(evidence)[spot].exchange.answer or 0]
    return with_frames(evidence, (*evidence.frames, answer))


def _no_connection(evidence: Evidence, spot: Spot) -> Evidence:
    """Remove all rows of the connection on which a batch was sent."""
    gone = evidence.frames[settled(evidence)[spot].exchange.request].conn
    return with_frames(evidence, [frame for frame in evidence.frames if frame.conn != gone])


def _answered_in_middle(evidence: Evidence) -> list[Spot]:
    """Return calm batches after whose answer another one arrived on their connection, untouched by a rule."""
    last = {
        frame.conn: at
        for at, frame in enumerate(evidence.frames)
        if frame.kind is FrameKind.RESPONSE and frame.fault is None
    }
    batches = calm(evidence)
    return [
        spot
        for spot, batch in batches.items()
        if (batch.exchange.answer or 0) < last.get(evidence.frames[batch.exchange.request].conn, 0)
    ]


def _hole(evidence: Evidence, spot: Spot) -> Evidence:
    """Remove a batch from the log that was read: offsets skip it."""
    kept = [record for record in evidence.log if (record.partition, record.base_offset) != spot]
    return replace(evidence, log=tuple(kept))


def _inner(evidence: Evidence) -> list[Spot]:
    """Return batches with others of their partition on both sides."""
    edges = {
        (partition, records[0].base_offset)
        for partition, batches in layout(evidence).items()
        for records in (batches[0], batches[-1])
    }
    return [spot for spot in settled(evidence) if spot not in edges]


def _read_twice(evidence: Evidence, spot: Spot) -> Evidence:
    records = settled(evidence)[spot].records
    return replace(
        evidence, log=tuple(sorted((*evidence.log, *records), key=lambda r: (r.partition, r.offset)))
    )


def _bad_crc(evidence: Evidence, spot: Spot) -> Evidence:
    log = [
        changed(record, crc_ok=False) if (record.partition, record.base_offset) == spot else record
        for record in evidence.log
    ]
    return replace(evidence, log=tuple(log))


def _no_log(evidence: Evidence, _: str) -> Evidence:
    return replace(evidence, log=())


def _no_fault_rows(evidence: Evidence, _: str) -> Evidence:
    return replace(evidence, faults=())


def _other_fault(evidence: Evidence, _: str) -> Evidence:
    """Make the row of a fault name another kind than the plan."""
    first = evidence.faults[0]
    other = "latency" if first.spec.kind != "latency" else "refuse"
    row = changed(first, spec=changed(first.spec, kind=other))
    return replace(evidence, faults=(row, *evidence.faults[1:]))


def _tells_trace(evidence: Evidence) -> bool:
    """True for a client that declares a trace. For other clients, a missing trace is not a defect."""
    return TRACE_FEATURE in (evidence.record.client.get("features") or ()) and len(evidence.trace) > 0  # type: ignore[operator]


def _no_trace(evidence: Evidence, _: str) -> Evidence:
    return replace(evidence, trace=())


def _cut_trace(evidence: Evidence, _: str) -> Evidence:
    return replace(evidence, trace=evidence.trace[:10])


def _half_trace(evidence: Evidence, _: str) -> Evidence:
    return replace(evidence, trace=evidence.trace[: len(evidence.trace) // 2])


def _produce_told(evidence: Evidence) -> list[int]:
    """Return Produce requests of the trace that arrived at the witness."""
    seen = {frame.correlation_id for frame in evidence.frames if frame.api == PRODUCE}
    return [
        at
        for at, event in enumerate(events_of(evidence))
        if isinstance(event, RequestSent) and event.api == PRODUCE and event.correlation_id in seen
    ]


def _request_untold(evidence: Evidence, at: int) -> Evidence:
    events = tuple(events_of(evidence))
    return replace(evidence, trace=(*events[:at], *events[at + 1 :]))


def _unseen_frame(evidence: Evidence, at: int) -> Evidence:
    """Remove a row of the witness for a frame that the capture has."""
    return replace(evidence, frames=(*evidence.frames[:at], *evidence.frames[at + 1 :]))


def _captured(evidence: Evidence) -> list[int]:
    capture = evidence.record.capture
    if capture is None or not capture.is_whole:
        return []
    requests = [
        at
        for at, frame in enumerate(evidence.frames)
        if frame.api == PRODUCE and frame.kind is FrameKind.REQUEST and frame.fault is None
    ]
    return requests[: len(requests) // 2]


def _tampered(
    name: str,
    channel: str,
    what: str,
    places: Callable[[Evidence], object],
    apply: Callable[[Evidence, Place], Evidence],
) -> Perturbation:
    kind = Perturbation(name, channels(channel), what, TORN, places, apply, Verdict.HARNESS_ERROR)  # type: ignore[arg-type]
    return replace(kind, workloads=None) if channel in OF_ANY_WORKLOAD else kind


PERTURBATIONS = (
    _tampered(
        "event-missing", "history", "leaves a history in which a line is missing", _results, _without_event
    ),
    _tampered(
        "event-twice", "history", "leaves a history in which a line occurs twice", _results, _event_twice
    ),
    _tampered(
        "history-cut", "history", "leaves a history without its end", once(lambda e: e.history), _cut_history
    ),
    _tampered("two-results", "history", "reports records a second time", _results, _result_twice),
    _tampered(
        "result-unasked", "history", "reports a record that it was never handed", _results, _unasked_result
    ),
    _tampered("frames-missing", "frames", "leaves no frame at all", once(lambda e: e.frames), _no_frames),
    _tampered(
        "frames-cut",
        "frames",
        "leaves the first half of its frames",
        once(lambda e: e.frames),
        _half_the_frames,
    ),
    _tampered(
        "answer-missing", "frames", "leaves a request without its answer", _answered_in_middle, _no_answer
    ),
    _tampered("answer-twice", "frames", "leaves the row of an answer twice", spots(), _answer_twice),
    _tampered("request-missing", "frames", "leaves an answer without its request", spots(), _no_request),
    _tampered("connection-missing", "frames", "leaves no row of a connection", spots(), _no_connection),
    _tampered("log-hole", "log", "leaves a log whose offsets have a gap", _inner, _hole),
    _tampered("log-twice", "log", "leaves a log with one offset twice", spots(), _read_twice),
    Perturbation(
        "log-torn",
        channels("log"),
        "leaves a batch in the log that does not match its CRC",
        ("log-torn",),
        spots(),
        _bad_crc,
        Verdict.HARNESS_ERROR,
    ),
    _tampered("log-missing", "log", "leaves an empty log", once(lambda e: settled(e)), _no_log),
    _tampered(
        "fault-rows-missing",
        "faults",
        "leaves no rows of its faults",
        once(lambda e: e.faults),
        _no_fault_rows,
    ),
    _tampered(
        "fault-row-of-another",
        "faults",
        "leaves the row of another kind of fault than it had",
        once(lambda e: e.faults),
        _other_fault,
    ),
    _tampered("trace-missing", "trace", "declares a trace and leaves none", once(_tells_trace), _no_trace),
    _tampered(
        "trace-cut",
        "trace",
        "leaves the first ten events of its trace",
        once(lambda e: len(e.trace) > 10),
        _cut_trace,
    ),
    _tampered(
        "trace-half",
        "trace",
        "leaves the first half of its trace",
        once(lambda e: len(e.trace) > 20),
        _half_trace,
    ),
    _tampered(
        "trace-request-missing",
        "trace",
        "leaves a trace without a Produce request that was seen",
        _produce_told,
        _request_untold,
    ),
    Perturbation(
        "frame-unseen",
        channels("frames", "capture"),
        "sends a request that the capture has and the witness does not",
        ("observers-disagree",),
        _captured,
        _unseen_frame,
        Verdict.HARNESS_ERROR,
    ),
)
