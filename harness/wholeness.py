"""Wholeness: whether the evidence of a trial is all there and agrees with itself. Pure.

What is missing, cut or contradictory proves nothing, neither for a client nor against it: such a trial is a
harness-error. The judge asks before anything else. Each rule says what collecting always leaves, in every scenario and
in both worlds; a rule that a client could break by a defect of its own is none, for then the defect is to be judged.

The exceptions are those of the faults: a topic that was trimmed or created again has another log, and a frame that a
rule changed is not the one that the other side sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from msgspec.structs import asdict

from harness.anomaly import ReasonKind
from harness.contract import CRASHED, TRACE_FEATURE, Fatal, ShutdownComplete, StartupComplete
from harness.evidence import Evidence
from harness.liveness import CLOSE_TIMEOUT_MS
from harness.rows import Frame, FrameKind, ProducePart, Reason
from harness.units import NS_PER_MS
from harness.wire.apis import Api

PHASES_LACK = ReasonKind("phases-incomplete", "the trial's phases are not all there, or not in order")
OTHER_CLIENT = ReasonKind("other-client", "the record is of {found}, the plan asked for {asked}")
FAULTS_LACK = ReasonKind(
    "faults-incomplete", "the plan has {asked:fault}, and {found} of them have their rows"
)
HISTORY_LACKS = ReasonKind(
    "history-incomplete", "the client's history is not whole: {what}, at event {position}"
)
FRAMES_LACK = ReasonKind("frames-incomplete", "the witness's rows are not whole: {what} ({count} times)")
LOG_LACKS = ReasonKind("log-incomplete", "the log that was read back is not whole: {what} ({count} times)")
TRACE_LACKS = ReasonKind("trace-incomplete", "the client's trace is not whole: {what} ({count} times)")

#: Faults after which the log is not what was appended to it.
OTHER_LOG = frozenset({"log_trim", "topic_recreate"})
ACKS_ALL = -1

#: What Produce is called in a trace.
PRODUCE = "Produce"

Rule = Callable[[Evidence], Reason | None]


def lacking(evidence: Evidence) -> Reason | None:
    """What is missing from completely collected evidence, or contradicts the rest of it; None if it is whole."""
    return next((reason for rule in RULES if (reason := rule(evidence)) is not None), None)


def _phases(evidence: Evidence) -> Reason | None:
    phases = evidence.record.phases
    moments = (phases.load_ns, phases.heal_ns, phases.final_ns, phases.end_ns)
    known = [moment for moment in moments if moment is not None]
    return None if len(known) == len(moments) and known == sorted(known) else PHASES_LACK.reason()


def _client(evidence: Evidence) -> Reason | None:
    """A program of somebody's own has the version that it says it has."""
    asked, told = evidence.record.spec.client, evidence.record.client.get("client_version")
    if asked.command or told == asked.version:
        return None
    return OTHER_CLIENT.reason(found=f"version {told}", asked=f"version {asked.version}")


def _faults(evidence: Evidence) -> Reason | None:
    asked, found = evidence.record.spec.faults, tuple(row.spec for row in evidence.faults)
    return None if asked == found else FAULTS_LACK.reason(asked=len(asked), found=len(found))


def _history(evidence: Evidence) -> Reason | None:
    """Numbered from 0, from ``startup_complete`` to the end of the process, but for what was left out on purpose."""
    history = evidence.history
    if not history or not isinstance(history[0], StartupComplete) or history[0].seq != 0:
        return HISTORY_LACKS.reason(what="it does not begin with startup_complete", position=0)
    left_out = 0
    for position, (before, after) in enumerate(pairwise(history), 1):
        # A result in the form of Kafka's own verifiable clients has no number: it has that of the event before.
        step = after.seq - before.seq
        if step < 0 or step > 1 + evidence.record.left_out - left_out:
            return HISTORY_LACKS.reason(what="an event is missing or misplaced", position=position)
        left_out += max(0, step - 1)
    if left_out != evidence.record.left_out:
        return HISTORY_LACKS.reason(what="more events were heard than are there", position=len(history))
    return None if _has_ended(evidence) else HISTORY_LACKS.reason(what="it breaks off", position=len(history))


def _has_ended(evidence: Evidence) -> bool:
    """The process ended in order, by its library's own doing, or was killed because it did not close in time."""
    last, phases = evidence.history[-1], evidence.record.phases
    if isinstance(last, ShutdownComplete) or (isinstance(last, Fatal) and last.error == CRASHED):
        return True
    return (phases.end_ns or 0) - (phases.final_ns or 0) >= CLOSE_TIMEOUT_MS * NS_PER_MS


def _frames(evidence: Evidence) -> Reason | None:
    """Connections have their opening and their end, and an answer that no rule touched has its request."""
    rows = (*evidence.frames, *evidence.stopped)
    by_kind: dict[FrameKind, set[int]] = {kind: set() for kind in FrameKind}
    for row in rows:
        by_kind[row.kind].add(row.conn)
    if unopened := set().union(*by_kind.values()) - by_kind[FrameKind.OPEN]:
        return FRAMES_LACK.reason(what="a connection has no opening", count=len(unopened))
    if unclosed := by_kind[FrameKind.OPEN] - by_kind[FrameKind.CLOSE]:
        return FRAMES_LACK.reason(what="a connection has no end", count=len(unclosed))
    asked = {_key(row) for row in rows if row.kind is FrameKind.REQUEST}
    unasked = sum(
        _key(row) not in asked
        for row in evidence.frames
        if row.kind is FrameKind.RESPONSE and row.fault is None and row.conn not in by_kind[FrameKind.OPAQUE]
    )
    return FRAMES_LACK.reason(what="an answer has no request", count=unasked) if unasked else None


def _log(evidence: Evidence) -> Reason | None:
    """Offsets are gapless from 0, and what a broker answered that it had stored lies before the end."""
    if _has_other_log(evidence):
        return None
    offsets: dict[int, list[int]] = {}
    for record in evidence.log:
        offsets.setdefault(record.partition, []).append(record.offset)
    gaps = sum(sorted(found) != list(range(len(found))) for found in offsets.values())
    if gaps:
        return LOG_LACKS.reason(what="a partition's offsets are not gapless from 0", count=gaps)
    beyond = sum(
        (part.base_offset or 0) >= len(offsets.get(part.partition, ())) for part in _stored(evidence)
    )
    return LOG_LACKS.reason(what="a broker stored a batch beyond its end", count=beyond) if beyond else None


def _stored(evidence: Evidence) -> Iterator[ProducePart]:
    """The parts of answers that say, under acks=all, where a batch was stored; none that a rule touched."""
    all_asked = {_key(row) for row in evidence.frames if _is_produce(row) and row.acks == ACKS_ALL}
    for row in evidence.frames:
        if row.kind is FrameKind.RESPONSE and row.fault is None and _key(row) in all_asked:
            yield from (part for part in row.produce if part.error_code == 0)


def _requests(evidence: Evidence) -> Reason | None:
    """What lies in the log was sent in Produce requests that passed the witness, where it could read them all."""
    if _has_other_log(evidence) or any(row.kind is FrameKind.OPAQUE for row in evidence.frames):
        return None
    requests = [row for row in evidence.frames if _is_produce(row)]
    if any(not row.produce or any(part.records is None for part in row.produce) for row in requests):
        return None
    sent: Counter[int] = Counter()
    for part in (part for row in requests for part in row.produce):
        sent[part.partition] += part.records or 0
    stored = Counter(record.partition for record in evidence.log if not record.control)
    if untold := (stored - sent).total():
        return FRAMES_LACK.reason(what="a record of the log has no request", count=untold)
    return None


def _trace(evidence: Evidence) -> Reason | None:
    """Of a client that has one, and was not killed: it tells its end, and each Produce request that was seen."""
    features = evidence.record.client.get("features")
    if not isinstance(features, list | tuple) or TRACE_FEATURE not in features:
        return None
    if not isinstance(evidence.history[-1], ShutdownComplete):
        return None
    if not evidence.trace:
        return TRACE_LACKS.reason(what="it is not there", count=1)
    told = Counter(
        event["correlation_id"]
        for event in _events(evidence.trace, "request_sent")
        if event.get("api") == PRODUCE and "correlation_id" in event
    )
    seen = Counter(row.correlation_id for row in (*evidence.frames, *evidence.stopped) if _is_produce(row))
    if untold := (seen - told).total():
        return TRACE_LACKS.reason(what="a Produce request that was seen is not told", count=untold)
    moves = _events(evidence.trace, "state_changed")
    lives = [move.get("after") for move in moves if move.get("machine") == "life"]
    return None if lives[-1:] == ["CLOSED"] else TRACE_LACKS.reason(what="it breaks off", count=1)


def _events(trace: Iterable[Any], name: str) -> Iterator[Mapping[str, Any]]:
    """The events of this name, by their fields: a simulated client has them as structs."""
    for event in trace:
        if isinstance(event, dict):
            if event.get("event") == name:
                yield event
        elif event.__struct_config__.tag == name:
            yield asdict(event)


def _key(row: Frame) -> tuple[int, int | None]:
    return row.conn, row.correlation_id


def _is_produce(row: Frame) -> bool:
    return row.kind is FrameKind.REQUEST and row.api_key == Api.PRODUCE


def _has_other_log(evidence: Evidence) -> bool:
    return any(row.spec.kind in OTHER_LOG for row in evidence.faults)


RULES: tuple[Rule, ...] = (_phases, _client, _faults, _history, _frames, _log, _requests, _trace)
