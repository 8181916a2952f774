"""How often the situation of each behaviour arose, from the client's own trace.

A behaviour is exercised only if its situation arose. For example, the splitting of batches shows only if a batch was
too large. One pass over the trace counts the situations of every behaviour that a trace check judges. A client that
violates a behaviour must at least have met its situation. Counts are of situations and never of outcomes: a client that
does the wrong thing in a situation has met it too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from clients.reference.telemetry.trace import (
    BatchClosed,
    BatchCreated,
    BatchEnded,
    BatchExpired,
    BatchRetried,
    BatchSent,
    BatchSplit,
    ConnectAttempt,
    ConnectionEnded,
    MetadataFailed,
    MetadataUpdated,
    ProducerIdAssigned,
    ReconnectBackoff,
    RequestLost,
    RequestSent,
    ResponseReceived,
    SendBlocked,
    SendUnblocked,
    SequencesRestarted,
    StateChanged,
    TraceEvent,
)
from harness.model.evidence import Evidence, view
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.attempts import REMEMBERED
from suites.checks.trace.trace_model import FINAL, events_of, number

TOO_LARGE = "MESSAGE_TOO_LARGE"
EVERY = frozenset(Guarantee)


def judged(id: str, level: Level, guarantees: frozenset[Guarantee] = EVERY) -> Requirement:
    """Return a requirement of a trace check. It arises if the trace of a trial has its situation."""
    return Requirement(id, level, guarantees, lambda evidence: situations(evidence)[id])


@view
def situations(evidence: Evidence) -> Counter[str]:
    """Map each behaviour id to how often its situation arose in the trial."""
    return _Situations(evidence).counted(events_of(evidence))


class _Situations:
    """The situations that the client has met so far. ``count`` is by behaviour id."""

    def __init__(self, evidence: Evidence) -> None:
        config = evidence.record.spec.config
        self._one_in_flight = number(evidence, "max.in.flight.requests.per.connection", 5) == 1
        self._answers_produce = str(config.get("acks", "all")) != "0"
        self._max_age_ms = number(evidence, "metadata.max.age.ms", 300_000)
        self.count: Counter[str] = Counter()
        self._waiting: Counter[int] = Counter()
        self._timed_out: Counter[tuple[int, int]] = Counter()
        self._failed: dict[int, str] = {}
        self._refreshed_ms: int | None = None
        self._unchanged_ms: int | None = None
        self._metadata_failed = False
        self._sent: Counter[str] = Counter()
        self._sent_of: Counter[str] = Counter()
        self._out: defaultdict[str, set[str]] = defaultdict(set)
        self._unfinished: set[str] = set()
        self._blocked: dict[int, set[str]] = {}
        self._now_blocked = 0
        self._handlers: dict[type[TraceEvent], Callable[[Any], None]] = {
            StateChanged: self._moved,
            ConnectAttempt: self._attempt,
            ReconnectBackoff: self._backs_off,
            ConnectionEnded: self._connection_ended,
            RequestSent: self._requested,
            ResponseReceived: self._answered,
            RequestLost: self._lost,
            MetadataUpdated: self._updated,
            MetadataFailed: self._not_updated,
            BatchCreated: self._created,
            BatchClosed: self._closed,
            BatchSent: self._batch_sent,
            BatchRetried: self._retried,
            BatchExpired: self._expired,
            BatchSplit: self._split,
            BatchEnded: self._ended,
            ProducerIdAssigned: self._assigned,
            SequencesRestarted: self._restarted,
            SendBlocked: self._waits,
            SendUnblocked: self._goes_on,
        }

    def counted(self, events: Any) -> Counter[str]:
        handler_of = self._handlers.get
        for event in events:
            handler = handler_of(type(event))
            if handler is not None:
                handler(event)
        if self._refreshed_ms is not None and events[-1].at_ms - self._refreshed_ms >= self._max_age_ms:
            self._arose("MET-01")
        return self.count

    def _arose(self, *ids: str) -> None:
        for id in ids:
            self.count[id] += 1

    # state machines

    def _moved(self, event: StateChanged) -> None:
        machine = event.machine
        if machine == "batch":
            self._batch_moved(event)
        elif machine == "connection":
            if event.cause == "connected":
                self._arose("NET-CON-01")
            elif event.cause == "disconnect":
                self._failed[int(event.subject)] = event.before
                self._waiting[int(event.subject)] = 0
        elif machine == "producer-id":
            if event.cause == "epoch-exhausted":
                self._arose("PRD-IDM-11")
        elif machine == "transaction":
            self._transaction_moved(event)
        elif machine == "sequence" and event.cause == "unknown-end":
            self._arose("PRD-EXP-06", "PRD-IDM-13")
        elif machine == "life" and event.cause in ("close", "force"):
            self._arose("PRD-CLS-03")
            if self._unfinished:
                self._arose("PRD-CLS-04")
            if self._now_blocked:
                self._arose("PRD-CLS-07")

    def _transaction_moved(self, event: StateChanged) -> None:
        self._arose("PRD-TXN-02")
        if event.after == "ABORTABLE_ERROR" or event.before == "ABORTABLE_ERROR":
            self._arose("PRD-TXN-07")
        if "FATAL_ERROR" in (event.before, event.after):
            self._arose("PRD-TXN-19")
        if event.before == "ABORTING_TRANSACTION" and event.cause == "abortable":
            self._arose("PRD-TXN-20")

    def _batch_moved(self, event: StateChanged) -> None:
        partition = event.subject.rpartition("#")[0]
        if event.before in FINAL:
            self._arose("PRD-FIN-03" if event.before == "SUCCEEDED" else "PRD-FIN-02")
        elif event.cause == "drain":
            out = self._out[partition]
            out.add(event.subject)
            if len(out) >= REMEMBERED:
                self._arose("PRD-IDM-04")
        elif event.before == "IN_FLIGHT":
            self._out[partition].discard(event.subject)

    # connections

    def _attempt(self, event: ConnectAttempt) -> None:
        failed_as = self._failed.pop(event.node, None)
        if failed_as is not None:
            self._arose("NET-CON-05")
            if failed_as == "READY":
                self._arose("NET-CON-07")

    def _backs_off(self, event: ReconnectBackoff) -> None:
        if event.failures > 1:
            self._arose("NET-CON-06")

    def _connection_ended(self, event: ConnectionEnded) -> None:
        if event.state == "SETUP_TIMEOUT":
            self._arose("NET-CON-08")
        elif event.state == "EXPIRED":
            self._arose("NET-CON-14")
        elif event.state == "REQUEST_TIMEOUT":
            self._arose("NET-TMO-01")
        if event.state != "LOCAL_CLOSE":
            self._arose("NET-TMO-05")

    # requests

    def _requested(self, event: RequestSent) -> None:
        self._arose("NET-INF-02")
        if event.api == "Metadata" and self._metadata_failed:
            self._metadata_failed = False
            self._arose("MET-02")
        if event.api == "Produce" and not self._answers_produce:
            self._arose("NET-INF-05")
            return
        if self._waiting[event.node]:
            self._arose("NET-INF-03")
        self._waiting[event.node] += 1

    def _answered(self, event: ResponseReceived) -> None:
        waiting = self._waiting[event.node]
        if waiting > 1:
            self._arose("NET-INF-01")
        self._waiting[event.node] = max(waiting - 1, 0)
        if event.throttle_ms > 0:
            self._arose("NET-CON-12")
            if waiting > 1:
                self._arose("NET-TMO-04")

    def _lost(self, event: RequestLost) -> None:
        self._arose("NET-INF-06")
        if event.timed_out:
            self._timed_out[event.node, event.at_ms] += 1
            if self._timed_out[event.node, event.at_ms] == 2:
                self._arose("NET-TMO-02")

    # metadata

    def _updated(self, event: MetadataUpdated) -> None:
        if self._refreshed_ms is not None and event.at_ms - self._refreshed_ms >= self._max_age_ms:
            self._arose("MET-01")
        self._refreshed_ms = event.at_ms
        if event.leaders_changed:
            self._unchanged_ms = None
            return
        if self._unchanged_ms is not None and event.at_ms - self._unchanged_ms < self._max_age_ms:
            self._arose("MET-03")
        self._unchanged_ms = event.at_ms

    def _not_updated(self, event: MetadataFailed) -> None:
        self._metadata_failed = True

    # batches

    def _created(self, event: BatchCreated) -> None:
        self._arose("PRD-FIN-04")
        self._unfinished.add(event.batch)

    def _closed(self, event: BatchClosed) -> None:
        if event.reason == "linger":
            self._arose("PRD-ACC-03")
        elif event.reason == "part":
            self._unfinished.add(event.batch)

    def _batch_sent(self, event: BatchSent) -> None:
        partition = event.batch.rpartition("#")[0]
        self._arose("PRD-ACC-02", "PRD-IDM-01")
        if event.attempt > 1:
            self._arose("PRD-IDM-03")
        if self._sent_of[partition]:
            self._arose("PRD-IDM-02")
            if self._one_in_flight:
                self._arose("PRD-ACC-08")
        self._sent_of[partition] += 1
        self._sent[event.batch] += 1

    def _retried(self, event: BatchRetried) -> None:
        self._arose("PRD-SND-02", "PRD-ACC-04")
        if self._out[event.batch.rpartition("#")[0]] - {event.batch}:
            self._arose("PRD-IDM-07")

    def _expired(self, event: BatchExpired) -> None:
        self._arose("PRD-EXP-01", "PRD-EXP-02", "PRD-EXP-05")
        self._arose("PRD-EXP-03" if self._sent[event.batch] else "PRD-EXP-07")

    def _split(self, event: BatchSplit) -> None:
        self._arose("PRD-SPL-01", "PRD-SPL-03", "PRD-SPL-04")
        self._unfinished.discard(event.batch)

    def _ended(self, event: BatchEnded) -> None:
        self._arose("PRD-FIN-01")
        self._unfinished.discard(event.batch)
        if event.error:
            error = BY_NAME.get(event.error)
            if error is not None and not error.retriable:
                self._arose("PRD-SND-03")
            if event.error == TOO_LARGE and event.record_count > 1:
                self._arose("PRD-SPL-01")

    # the producer

    def _assigned(self, event: ProducerIdAssigned) -> None:
        if event.bumped_locally:
            self._arose("PRD-IDM-09")

    def _restarted(self, event: SequencesRestarted) -> None:
        self._arose("PRD-IDM-10")

    def _waits(self, event: SendBlocked) -> None:
        self._now_blocked += 1
        known = self._blocked.setdefault(event.send, set())
        self._arose("PRD-ACC-09" if event.waiting_for == "memory" else "MET-11")
        if known and event.waiting_for not in known:
            self._arose("MET-14")
        known.add(event.waiting_for)

    def _goes_on(self, event: SendUnblocked) -> None:
        self._now_blocked -= 1
