"""Traces of a client that breaks the rules of a batch: its states, its attempts, its sequence, its deadlines."""

from __future__ import annotations

from clients.reference.telemetry.trace import (
    BatchClosed,
    BatchCreated,
    BatchEnded,
    BatchRetried,
    BatchSent,
)
from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from suites.perturbations.traces.events import gone, of, on_trace, plus, trace_of, twice, with_fields

#: Longer than any tolerance of a check.
LONG_MS, LONG_AGO_MS = 10_000, 100_000
#: Shorter than linger.ms of any trial.
SHORT_MS = 3


def _lingered(evidence: Evidence) -> list[int]:
    """Return the creation events of batches that were closed for linger.ms, as soon as it had passed."""
    linger_ms = int(evidence.record.spec.config.get("linger.ms", 5))
    events = trace_of(evidence)
    closed = {
        event.batch: event.at_ms
        for event in events
        if isinstance(event, BatchClosed) and event.reason == "linger"
    }
    return [
        at
        for at in of(BatchCreated)(evidence)
        if isinstance(made := events[at], BatchCreated)
        and 0 <= closed.get(made.batch, 0) - made.at_ms < linger_ms + SHORT_MS
    ]


def _numbered(event: BatchSent) -> bool:
    return event.producer_id >= 0 and event.base_sequence > 0


NEVER_EXPIRED = on_trace(
    "trace-never-expired",
    "leaves a batch without a result long after its delivery timeout",
    "deadlines",
    of(BatchCreated),
    plus("at_ms", -LONG_AGO_MS),
    Verdict.DIFFERS,
)

PERTURBATIONS = (
    on_trace("trace-two-ends", "ends a batch twice", "transition", of(BatchEnded), twice),
    on_trace(
        "trace-other-end",
        "reports a batch as failed that it recorded as stored",
        "transition",
        of(BatchEnded, lambda event: not event.error),
        with_fields(error="NETWORK_EXCEPTION"),
    ),
    on_trace("trace-made-twice", "creates a batch twice", "bookkeeping", of(BatchCreated), twice),
    on_trace(
        "trace-unmade-batch", "sends a batch that it never created", "bookkeeping", of(BatchCreated), gone
    ),
    on_trace(
        "trace-attempt-not-counted",
        "does not count an attempt",
        "bookkeeping",
        of(BatchSent, lambda event: event.attempt > 1),
        plus("attempt", -1),
        Verdict.DIFFERS,
    ),
    on_trace(
        "trace-final-error-retried",
        "sends a batch again after an error that is final",
        "bookkeeping",
        of(BatchRetried),
        with_fields(error="TOPIC_AUTHORIZATION_FAILED"),
        Verdict.DIFFERS,
    ),
    on_trace(
        "trace-retried-too-soon",
        "sends a batch again before its backoff has passed",
        ("bookkeeping", "deadlines"),
        of(BatchRetried),
        plus("retry_at_ms", LONG_MS),
        Verdict.DIFFERS,
    ),
    on_trace(
        "trace-sequence-gap",
        "leaves a gap in the sequence of a partition",
        "sequence",
        of(BatchSent, _numbered),
        plus("base_sequence", 1),
        exactly_once=True,
    ),
    on_trace(
        "trace-sequence-overlap",
        "assigns a sequence twice",
        "sequence",
        of(BatchSent, _numbered),
        plus("base_sequence", -1),
        exactly_once=True,
    ),
    on_trace(
        "trace-other-epoch",
        "sends a batch under an epoch that it does not have",
        "sequence",
        of(BatchSent, _numbered),
        plus("producer_epoch", 1),
        exactly_once=True,
    ),
    on_trace(
        "trace-other-producer-id",
        "sends a batch under a producer id that it does not have",
        "sequence",
        of(BatchSent, _numbered),
        plus("producer_id", 1),
        exactly_once=True,
    ),
    on_trace(
        "trace-linger-cut-short",
        "closes a batch as lingered before its linger.ms have passed",
        "deadlines",
        _lingered,
        plus("at_ms", SHORT_MS),
        Verdict.DIFFERS,
    ),
    NEVER_EXPIRED,
)
