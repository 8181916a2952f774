"""The trace of a client that writes one: it contains each Produce request that was seen, and its own end. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import asdict

from harness.judging.completeness.kinds import is_produce
from harness.model.anomaly import ReasonKind
from harness.model.contract import TRACE_FEATURE, ShutdownComplete
from harness.model.evidence import Evidence
from harness.model.rows import Reason

TRACE_LACKS = ReasonKind("trace-incomplete", "the client's trace is incomplete: {told} ({count:time})")

#: The name of Produce in a trace.
PRODUCE = "Produce"


def told(evidence: Evidence) -> Reason | None:
    """Check the trace of a client that declares or wrote one. If the client was killed, the end may be missing."""
    if not evidence.record.spec.workload.is_traced:
        return None
    features = evidence.record.client.get("features")
    says_so = isinstance(features, list | tuple) and TRACE_FEATURE in features
    if not says_so and not evidence.trace:
        return None
    if not evidence.trace:
        return TRACE_LACKS.reason(told="it is missing", lack="whole", count=1)
    sent = Counter(
        event["correlation_id"]
        for event in _events(evidence.trace, "request_sent")
        if event.get("api") == PRODUCE and "correlation_id" in event
    )
    seen = Counter(
        row.correlation_id for row in (*evidence.frames, *evidence.blocked_frames) if is_produce(row)
    )
    if untold := (seen - sent).total():
        return TRACE_LACKS.reason(
            told="a Produce request that the witness saw is missing", lack="request", count=untold
        )
    if not isinstance(evidence.history[-1], ShutdownComplete):
        return None
    moves = _events(evidence.trace, "state_changed")
    lives = [move.get("after") for move in moves if move.get("machine") == "life"]
    return None if lives[-1:] == ["CLOSED"] else TRACE_LACKS.reason(told="it is cut off", lack="end", count=1)


def _events(trace: Iterable[Any], name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the events of this name as mappings of fields. A simulated client has them as structs."""
    for event in trace:
        if isinstance(event, dict):
            if event.get("event") == name:
                yield event
        elif event.__struct_config__.tag == name:
            yield asdict(event)
