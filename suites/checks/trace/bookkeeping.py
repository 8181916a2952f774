"""# bookkeeping

## What it does

Keeps account of every batch in the client's trace. Each batch must be created once, be in one place at a
time, be sent again only for a reason that allows it and only as often as allowed, be replaced by its parts if
it was split, and end once.

## Why it is bad

A batch that is in two places is sent twice; one that is in no place never gets a result. A client that
resends a batch that was permanently refused, or that it has given up, writes records whose result has already
been reported to the application.

## How it is judged per guarantee

- **all**: forbidden. With max.in.flight.requests.per.connection=1, no partition may have two batches in flight.

## What it needs

The client's own trace; clients without one are not judged. Settings: retries, delivery.timeout.ms,
max.in.flight.requests.per.connection, acks. Only a client that was closed must have ended every batch.

## References

PRD-FIN-04 (IncompleteBatches), PRD-ACC-04, -08, PRD-SND-02, -03, PRD-EXP-02, -03 (KIP-91), PRD-SPL-01, -03
(KIP-126).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clients.reference.telemetry.trace import (
    BatchClosed,
    BatchCreated,
    BatchEnded,
    BatchExpired,
    BatchRetried,
    BatchSent,
    BatchSplit,
    LeadershipUpdated,
    MetadataUpdated,
    RequestLost,
    RequestSent,
    ResponseReceived,
    StateChanged,
    TraceEvent,
)
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Guarantee
from harness.plugins.check import Check
from harness.text.counting import some
from harness.wire.error_table import BY_NAME
from suites.checks.trace.situations import judged
from suites.checks.trace.trace_model import (
    FINAL,
    MUST,
    SHOULD,
    Breach,
    Monitor,
    accusation,
    breach_anomaly,
    events_of,
    number,
)

UNLIMITED = 2**31 - 1
#: Errors about sequences, in addition to the retriable ones, that an idempotent producer repairs by itself
#: (KIP-360).
_MENDED = frozenset({"OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID"})
_QUEUED, _OUT = "queued", "in flight"


@dataclass(slots=True)
class _Batch:
    """One batch.

    ``order`` is its number, followed by its place in the whole batch if it is a part. ``place`` is "queued",
    "in flight" or its final state.
    """

    partition: str
    order: tuple[int, ...]
    created_ms: int
    place: str = _QUEUED
    attempts: int = 0
    record_count: int = 0
    sent: bool = False
    retry_at_ms: int = 0
    news_when_sent: int = 0
    request: tuple[int, int] | None = None


@dataclass(slots=True)
class _Partition:
    """The queued batches of a partition, and the newest batch that was sent."""

    queued: dict[str, _Batch] = field(default_factory=dict)
    newest: _Batch | None = None


class Bookkeeping(Monitor):
    """The account of all batches by name, with the configured limits."""

    def __init__(self, *, retries: int, delivery_timeout_ms: int, one_in_flight: bool, answers: bool) -> None:
        super().__init__()
        self._retries, self._delivery_timeout_ms = retries, delivery_timeout_ms
        self._one_in_flight, self._answers = one_in_flight, answers
        self._batches: dict[str, _Batch] = {}
        self._partitions: dict[str, _Partition] = {}
        self._parts: dict[str, int] = {}
        self._open_requests: set[tuple[int, int]] = set()
        self._last_request: tuple[int, int] | None = None
        self._news = 0
        self._closed_ms: int | None = None
        self.handlers = {
            BatchCreated: self._created,
            BatchClosed: self._filled,
            StateChanged: self._moved,
            BatchSent: self._sent,
            BatchRetried: self._retried,
            BatchExpired: self._expired,
            BatchSplit: self._split,
            BatchEnded: self._ended,
            LeadershipUpdated: self._learned,
            MetadataUpdated: self._learned,
        }
        if one_in_flight:
            self.handlers |= {
                RequestSent: self._requested,
                RequestLost: self._answered,
                ResponseReceived: self._answered,
            }

    # the place of a batch

    def _created(self, event: BatchCreated) -> None:
        name = event.batch
        if name in self._batches:
            self.accuse("PRD-FIN-04", event, name, "was made twice")
        partition, _, place = name.rpartition("#")
        self._enter(name, _Batch(partition, (int(place),), event.at_ms))

    def _enter(self, name: str, batch: _Batch) -> None:
        self._batches[name] = batch
        known = self._partitions.get(batch.partition)
        if known is None:
            known = self._partitions[batch.partition] = _Partition()
        known.queued[name] = batch

    def _filled(self, event: BatchClosed) -> None:
        """A batch takes no more records. For a part, this is its first event."""
        if event.reason == "part":
            self._parts[event.batch] = event.record_count
        elif batch := self._known(event, event.batch):
            batch.record_count = event.record_count

    def _moved(self, event: StateChanged) -> None:
        place = _PLACES.get(event.cause)
        if place is not None:
            batch = self._batches.get(event.subject)
            if batch is not None:
                self._put(event.subject, batch, place)
        elif event.machine == "life" and event.after == "CLOSED" and self._closed_ms is None:
            self._closed_ms = event.at_ms

    def _put(self, name: str, batch: _Batch, place: str) -> None:
        if batch.place in FINAL:
            return
        batch.place = place
        queued = self._partitions[batch.partition].queued
        if place is _QUEUED:
            queued[name] = batch
        else:
            queued.pop(name, None)

    def _known(self, event: TraceEvent, name: str) -> _Batch | None:
        batch = self._batches.get(name)
        if batch is None:
            self.accuse("PRD-FIN-04", event, name, "is a batch that was never created")
        return batch

    # attempts

    def _sent(self, event: BatchSent) -> None:
        name = event.batch
        batch = self._known(event, name)
        if batch is None:
            return
        if batch.place is not _OUT:
            rule = "PRD-EXP-03" if batch.place == "FAILED" else "PRD-FIN-04"
            self.accuse(rule, event, name, f"was sent while it is {batch.place}")
        if event.attempt != batch.attempts + 1:
            self.accuse(
                "PRD-SND-02", event, name, f"was sent as attempt {event.attempt} after {batch.attempts}"
            )
        if batch.attempts > self._retries:
            self.accuse(
                "PRD-SND-02",
                event,
                name,
                f"was sent {some(event.attempt, 'time')} with retries={self._retries}",
            )
        if event.at_ms < batch.retry_at_ms and self._news == batch.news_when_sent:
            early_ms = batch.retry_at_ms - event.at_ms
            self.accuse(
                "PRD-ACC-04", event, name, f"was sent again {early_ms} ms before its backoff had passed"
            )
        self._in_turn(event, batch)
        batch.sent, batch.news_when_sent, batch.record_count = True, self._news, event.record_count

    def _in_turn(self, event: BatchSent, batch: _Batch) -> None:
        """Check that no batch overtakes an older queued one, or another batch if only one may be in flight."""
        partition = self._partitions[batch.partition]
        if not batch.sent and partition.queued:
            oldest = min(partition.queued.values(), key=_order)
            if oldest.order < batch.order:
                what = f"was sent before {_name(oldest)}, which is older and waits"
                self.accuse("PRD-SPL-01" if len(oldest.order) > 1 else "PRD-ACC-04", event, event.batch, what)
        newest, partition.newest = partition.newest, batch
        if not self._one_in_flight:
            return
        if newest is not None and newest is not batch and self._is_out(newest):
            self.accuse("PRD-ACC-08", event, event.batch, f"was sent together with {_name(newest)}")
        batch.request = self._last_request

    def _is_out(self, batch: _Batch) -> bool:
        return batch.request in self._open_requests if self._answers else batch.place is _OUT

    def _requested(self, event: RequestSent) -> None:
        if event.api == "Produce":
            self._last_request = event.node, event.correlation_id
            self._open_requests.add(self._last_request)

    def _answered(self, event: RequestLost | ResponseReceived) -> None:
        self._open_requests.discard((event.node, event.correlation_id))

    def _retried(self, event: BatchRetried) -> None:
        batch = self._known(event, event.batch)
        if batch is None:
            return
        error = BY_NAME.get(event.error)
        if not (event.error in _MENDED or (error and error.retriable)):
            self.accuse("PRD-SND-03", event, event.batch, f"is retried after {event.error}, which is final")
        if event.attempts != batch.attempts + 1:
            what = f"reports {some(event.attempts, 'attempt')}, expected {batch.attempts + 1}"
            self.accuse("PRD-SND-02", event, event.batch, what)
        if event.at_ms >= batch.created_ms + self._delivery_timeout_ms:
            self.accuse(
                "PRD-EXP-03", event, event.batch, "is retried although its delivery timeout has passed"
            )
        batch.attempts, batch.retry_at_ms = event.attempts, event.retry_at_ms

    def _learned(self, event: LeadershipUpdated | MetadataUpdated) -> None:
        """After a newer leader is known, a retry need not wait for the backoff from an older one (KIP-951)."""
        if not isinstance(event, MetadataUpdated) or event.leaders_changed:
            self._news += 1

    # ends

    def _expired(self, event: BatchExpired) -> None:
        batch = self._known(event, event.batch)
        if batch is None:
            return
        age_ms = event.at_ms - batch.created_ms
        if age_ms < self._delivery_timeout_ms:
            self.accuse("PRD-EXP-02", event, event.batch, f"expired after {age_ms} ms")
        if event.age_ms != age_ms:
            rule = "PRD-SPL-03" if len(batch.order) > 1 else "PRD-EXP-02"
            self.accuse(rule, event, event.batch, f"reports an age of {event.age_ms} ms, expected {age_ms}")

    def _split(self, event: BatchSplit) -> None:
        """The parts take the place of the batch, with its age and attempts, and together contain all its records."""
        whole = self._known(event, event.batch)
        if whole is None:
            return
        names = [f"{event.batch}.{place + 1}" for place in range(event.parts)]
        counts = [self._parts.pop(name, 0) for name in names]
        if event.parts < 2 or 0 in counts or sum(counts) != event.record_count:
            what = f"with {some(event.record_count, 'record')} was split into {counts}"
            self.accuse("PRD-SPL-01", event, event.batch, what)
        if event.at_ms >= whole.created_ms + self._delivery_timeout_ms:
            self.accuse(
                "PRD-SPL-03", event, event.batch, "was split although its delivery timeout has passed"
            )
        if whole.place != "SPLIT":
            self.accuse("PRD-FIN-04", event, event.batch, f"was split while it is {whole.place}")
        for place, (name, count) in enumerate(zip(names, counts, strict=True), 1):
            part = _Batch(whole.partition, (*whole.order, place), whole.created_ms, record_count=count)
            part.attempts = whole.attempts
            self._enter(name, part)

    def _ended(self, event: BatchEnded) -> None:
        batch = self._known(event, event.batch)
        if batch is not None and batch.record_count != event.record_count and batch.record_count:
            what = f"ended with {some(event.record_count, 'record')} of {batch.record_count}"
            self.accuse("PRD-FIN-04", event, event.batch, what)

    def ended(self) -> None:
        """A closed producer must have ended every batch."""
        if self._closed_ms is None:
            return
        for name, batch in self._batches.items():
            if batch.place not in FINAL and batch.place != "SPLIT":
                what = f"is {batch.place} in a producer that is closed"
                self.breaches.append(Breach("PRD-FIN-04", self._closed_ms, name, what))


_PLACES = {
    "drain": _OUT,
    "reenqueue": _QUEUED,
    "split": "SPLIT",
    "succeed": "SUCCEEDED",
    "fail": "FAILED",
    "abort": "ABORTED",
}


def _order(batch: _Batch) -> tuple[int, ...]:
    return batch.order


def _name(batch: _Batch) -> str:
    return f"{batch.partition}#{'.'.join(map(str, batch.order))}"


ANOMALY = breach_anomaly("bookkeeping")


def run(evidence: Evidence) -> list[Finding]:
    """Return one finding per requirement, which counts the events that break the account."""
    monitor = Bookkeeping(
        retries=number(evidence, "retries", UNLIMITED),
        delivery_timeout_ms=number(evidence, "delivery.timeout.ms", 120_000),
        one_in_flight=number(evidence, "max.in.flight.requests.per.connection", 5) == 1,
        answers=str(evidence.record.spec.config.get("acks", "all")) != "0",
    )
    return accusation(ANOMALY, monitor.watch(events_of(evidence)))


CHECK = Check(
    name="bookkeeping",
    summary="Batches that are in two places or in none, or that are sent again when they must not be.",
    requirements=(
        judged("PRD-ACC-04", SHOULD),
        judged("PRD-ACC-08", MUST),
        judged("PRD-EXP-02", SHOULD),
        judged("PRD-EXP-03", MUST),
        judged("PRD-FIN-04", MUST),
        judged("PRD-SND-02", SHOULD),
        judged("PRD-SND-03", SHOULD),
        judged("PRD-SPL-01", SHOULD),
        judged("PRD-SPL-03", SHOULD),
    ),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"trace"}),
    killed_mutant="drops_batch_on_disconnect",
    run=run,
)
