"""# deadlines

## What it does

Runs a clock beside every limit of time that the client has, from its trace: requests, set-ups, backoffs, throttling and
idleness of connections; the age and the backoff of metadata; linger, retries and delivery of batches; blocked sends;
close. Nothing may come before its time, and nothing that the client alone decides may come after it.

## Why it is bad

A client that is early asks brokers more often than they bear, or gives up what would have succeeded; one that is late
leaves the application waiting for results that it was promised.

## How it is judged per guarantee

- **all**: forbidden. In the simulated world what is due may be 2 ms late; in the live one 1,500 ms, and where the
  machine stood still, lateness is inconclusive.

## What it needs

The client's own trace; where a client tells none it is not asked. That a new connection or a retry comes soon is not
asked, for others decide it too. Nor is it told whether flush() or a full batch is true as the reason for cutting linger
short. That metadata is asked for too early is judged until metadata.max.idle.ms have passed.

## References

NET-TMO-01, -04, NET-CON-05 to -08, -12, -14 (KIP-144, KIP-601, KIP-219), MET-01 to -03, -11, -14 (KIP-580), PRD-ACC-02
to -04, -09, PRD-EXP-01, -02, -05 (KIP-91), PRD-CLS-04, -07.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clients.reference.trace import (
    BatchClosed,
    BatchCreated,
    BatchEnded,
    BatchExpired,
    BatchRetried,
    BatchSent,
    BatchSplit,
    LeadershipUpdated,
    MetadataUpdated,
    SendBlocked,
    SendUnblocked,
    StateChanged,
    TraceEvent,
)
from harness.check import Check, Requirement
from harness.evidence import Evidence
from harness.outcome import Guarantee
from harness.rows import Finding
from suites.checks.disturbance import doubt_if_disturbed
from suites.checks.network_clocks import (
    Clocks,
    ConnectionClocks,
    Limits,
    MetadataClocks,
    growing_ms,
    together,
)
from suites.checks.trace_model import MUST, SHOULD, Breach, Monitor, accusation, events_of, number

SIMULATED_SLACK_MS, LIVE_SLACK_MS = 2, 1_500
_TIMED_OUT = "REQUEST_TIMED_OUT"


@dataclass(slots=True)
class _Batch:
    partition: str
    created_ms: int
    reason: str = ""
    is_queued: bool = True
    sent_ms: int = -1
    retry_at_ms: int = 0
    news_when_sent: int = 0


class BatchClocks(Clocks):
    """Linger, the backoff of retries, and the delivery timeout of every batch."""

    machines = ("life",)

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._batches: dict[str, _Batch] = {}
        self._news = 0
        self._waiting_for_memory = 0
        self._life = "OPEN"
        self.handlers = {
            BatchCreated: self._created,
            BatchClosed: self._filled,
            BatchSent: self._sent,
            BatchRetried: self._retried,
            BatchSplit: self._split,
            BatchExpired: self._expired,
            BatchEnded: self._ended,
            LeadershipUpdated: self._learned,
            MetadataUpdated: self._learned,
            SendBlocked: self._blocked,
            SendUnblocked: self._unblocked,
        }

    # what hurries a batch

    def _blocked(self, event: SendBlocked) -> None:
        self._waiting_for_memory += event.waiting_for == "memory"

    def _unblocked(self, event: SendUnblocked) -> None:
        self._waiting_for_memory -= event.waited_for == "memory"

    def moved(self, event: StateChanged) -> None:
        self._life = event.after

    def _learned(self, event: LeadershipUpdated | MetadataUpdated) -> None:
        if not isinstance(event, MetadataUpdated) or event.leaders_changed:
            self._news += 1

    # linger

    def _created(self, event: BatchCreated) -> None:
        name = event.batch
        self._batches[name] = _Batch(name.rpartition("#")[0], event.at_ms)

    def _filled(self, event: BatchClosed) -> None:
        """Why it takes no more records must be true, as far as the trace can tell."""
        batch = self._batches.get(event.batch)
        if batch is None:
            return
        batch.reason = event.reason
        age_ms = event.at_ms - batch.created_ms
        if age_ms >= self.limits.linger_ms:
            return
        if event.reason == "linger":
            self.accuse(
                "PRD-ACC-03", event, event.batch, f"lingered for {age_ms} of {self.limits.linger_ms} ms"
            )
        elif not self._is_true(event.reason, batch):
            self.accuse("PRD-ACC-02", event, event.batch, f"was closed as {event.reason!r}, which is not so")

    def _is_true(self, reason: str, batch: _Batch) -> bool:
        if reason == "memory":
            return self._waiting_for_memory > 0
        if reason == "closing":
            return self._life != "OPEN"
        if reason == "queued":
            others = (each for each in self._batches.values() if each.partition == batch.partition)
            return any(each.is_queued and each is not batch for each in others)
        return True

    def _sent(self, event: BatchSent) -> None:
        batch = self._batches.get(event.batch)
        if batch is None:
            return
        if event.at_ms < batch.retry_at_ms and self._news == batch.news_when_sent:
            early_ms = batch.retry_at_ms - event.at_ms
            self.accuse("PRD-ACC-04", event, event.batch, f"was sent again {early_ms} ms too early")
        batch.sent_ms, batch.is_queued, batch.news_when_sent = event.at_ms, False, self._news
        if batch.reason == "along" and not self._somebody_goes(event.at_ms):
            age_ms = event.at_ms - batch.created_ms
            self.accuse("PRD-ACC-03", event, event.batch, f"went after {age_ms} ms along with nobody")

    def _somebody_goes(self, at_ms: int) -> bool:
        """Is there a batch, waiting or sent right now, that could go by itself?"""
        limit_ms = at_ms - self.limits.linger_ms
        return any(
            (each.is_queued or each.sent_ms == at_ms)
            and (each.reason not in ("", "along") or each.created_ms <= limit_ms)
            for each in self._batches.values()
        )

    def _retried(self, event: BatchRetried) -> None:
        limits, delay_ms = self.limits, event.retry_at_ms - event.at_ms
        least_ms, most_ms = growing_ms(limits.retry_ms, limits.retry_max_ms, max(event.attempts - 1, 0))
        if not least_ms <= delay_ms <= most_ms:
            what = f"waits {delay_ms} ms after attempt {event.attempts}, not {least_ms} to {most_ms}"
            self.accuse("PRD-ACC-04", event, event.batch, what)
        if batch := self._batches.get(event.batch):
            batch.retry_at_ms, batch.is_queued = event.retry_at_ms, True

    # delivery

    def _split(self, event: BatchSplit) -> None:
        """The parts are as old as the whole (PRD-SPL-03)."""
        whole = self._batches.pop(event.batch, None)
        if whole is not None:
            for place in range(1, event.parts + 1):
                name = f"{event.batch}.{place}"
                self._batches[name] = _Batch(whole.partition, whole.created_ms, reason="part")

    def _expired(self, event: BatchExpired) -> None:
        batch = self._batches.get(event.batch)
        if batch is not None and (age_ms := event.at_ms - batch.created_ms) < self.limits.delivery_ms:
            what = f"expired after {age_ms} of {self.limits.delivery_ms} ms"
            self.accuse("PRD-EXP-02", event, event.batch, what)

    def _ended(self, event: BatchEnded) -> None:
        batch = self._batches.pop(event.batch, None)
        if batch is not None:
            self._late(batch, event.batch, event.at_ms, "PRD-EXP-01")

    def _late(self, batch: _Batch, name: str, at_ms: int, rule: str) -> None:
        age_ms = at_ms - batch.created_ms
        if age_ms > self.limits.delivery_ms + self.limits.slack_ms:
            what = f"had no result after {self.limits.delivery_ms} ms, nor for {age_ms} ms"
            self.too_late(rule, at_ms, name, what)

    def overdue(self, now_ms: int) -> None:
        if self._life != "CLOSED":
            for name, batch in self._batches.items():
                self._late(batch, name, now_ms, "PRD-EXP-05")


class ApplicationClocks(Clocks):
    """What the application waits for: send() and close()."""

    machines = ("life",)

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._since_ms: dict[int, int] = {}
        self._closing_ms: int | None = None
        self._closes = 0
        self._is_closed = False
        self.handlers = {SendBlocked: self._blocked, SendUnblocked: self._unblocked}

    def _blocked(self, event: SendBlocked) -> None:
        """The one limit counts from where the first of its waits began (MET-14)."""
        self._since_ms.setdefault(event.send, event.at_ms)

    def _unblocked(self, event: SendUnblocked) -> None:
        since_ms = self._since_ms.get(event.send)
        if not event.send or since_ms is None:
            return
        waited_ms, limit_ms = event.at_ms - since_ms, self.limits.max_block_ms
        rule = "PRD-ACC-09" if event.waited_for == "memory" else "MET-11"
        if event.error == _TIMED_OUT and waited_ms < limit_ms:
            what = f"gave up after {waited_ms} of {limit_ms} ms"
            self.accuse(rule, event, f"send {event.send}", what)
        self._late(event.send, rule, event.at_ms)
        if self._closing_ms is not None and event.at_ms > self._closing_ms + self.limits.slack_ms:
            what = f"was held up for {event.at_ms - self._closing_ms} ms after close()"
            self.too_late("PRD-CLS-07", event.at_ms, f"send {event.send}", what)

    def _late(self, send: int, rule: str, at_ms: int) -> None:
        waited_ms = at_ms - self._since_ms[send]
        if waited_ms > self.limits.max_block_ms + self.limits.slack_ms:
            what = f"was held up for {waited_ms} ms, {self.limits.max_block_ms} are allowed"
            self.too_late(rule, at_ms, f"send {send}", what)

    def moved(self, event: StateChanged) -> None:
        if event.cause == "close":
            self._closes += 1
            self._closing_ms = event.at_ms if self._closing_ms is None else self._closing_ms
            return
        self._is_closed = True
        if self._closing_ms is None or self._closes > 1:
            return
        took_ms = event.at_ms - self._closing_ms
        if event.cause == "force" and took_ms < self.limits.close_ms:
            what = f"gave up after {took_ms} of {self.limits.close_ms} ms"
            self.accuse("PRD-CLS-04", event, "close()", what)
        self._closing_late(event.at_ms)

    def _closing_late(self, at_ms: int) -> None:
        took_ms = at_ms - (self._closing_ms or 0)
        if took_ms > self.limits.close_ms + self.limits.slack_ms:
            what = f"took {took_ms} ms, {self.limits.close_ms} are allowed"
            self.too_late("PRD-CLS-04", at_ms, "close()", what)

    def overdue(self, now_ms: int) -> None:
        if self._closing_ms is not None and not self._is_closed:
            self._closing_late(now_ms)


class Deadlines(Monitor):
    """All clocks, in one pass; ``early`` is what came before its time or is no such time, ``late`` the rest."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        kinds = (ConnectionClocks, MetadataClocks, BatchClocks, ApplicationClocks)
        self._parts: list[Clocks] = [kind(limits) for kind in kinds]
        self.handlers = together(self._parts)

    def watch(self, events: Sequence[TraceEvent]) -> list[Breach]:
        super().watch(events)
        if events:
            for part in self._parts:
                part.overdue(events[-1].at_ms)
        return sorted(self.early + self.late, key=lambda breach: breach.at_ms)

    @property
    def early(self) -> list[Breach]:
        return [breach for part in self._parts for breach in part.breaches]

    @property
    def late(self) -> list[Breach]:
        return [breach for part in self._parts for breach in part.late]


#: The close() of a trial has this long, in either world.
CLOSE_TIMEOUT_MS = 10_000


def limits_of(evidence: Evidence) -> Limits:
    """The limits as the trial's settings and its world have them."""

    def ms(name: str, default: int) -> int:
        return number(evidence, name, default)

    reconnect_ms = ms("reconnect.backoff.ms", 50)
    is_constant = "reconnect.backoff.ms" in evidence.record.spec.config
    request_ms, linger_ms = ms("request.timeout.ms", 30_000), ms("linger.ms", 5)
    simulated = evidence.record.spec.broker.startswith("scripted:")
    return Limits(
        request_ms=request_ms,
        setup_ms=ms("socket.connection.setup.timeout.ms", 10_000),
        setup_max_ms=ms("socket.connection.setup.timeout.max.ms", 30_000),
        reconnect_ms=reconnect_ms,
        reconnect_max_ms=ms("reconnect.backoff.max.ms", reconnect_ms if is_constant else 1_000),
        retry_ms=ms("retry.backoff.ms", 100),
        retry_max_ms=ms("retry.backoff.max.ms", 1_000),
        delivery_ms=ms("delivery.timeout.ms", max(120_000, linger_ms + request_ms)),
        linger_ms=linger_ms,
        max_block_ms=ms("max.block.ms", 60_000),
        metadata_max_age_ms=ms("metadata.max.age.ms", 300_000),
        metadata_max_idle_ms=ms("metadata.max.idle.ms", 300_000),
        connections_max_idle_ms=ms("connections.max.idle.ms", 540_000),
        close_ms=CLOSE_TIMEOUT_MS,
        answers_produce=str(evidence.record.spec.config.get("acks", "all")) != "0",
        slack_ms=SIMULATED_SLACK_MS if simulated else LIVE_SLACK_MS,
    )


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding, with one count a limit that was not kept."""
    limits = limits_of(evidence)
    monitor = Deadlines(limits)
    breaches = monitor.watch(events_of(evidence))
    if breaches and limits.slack_ms == LIVE_SLACK_MS and not monitor.early:
        doubt_if_disturbed(evidence, f"{len(breaches)} limits were passed")
    return accusation("deadlines", breaches)


CHECK = Check(
    name="deadlines",
    summary="Limits of time that came early, or that the client let pass.",
    requirements=(
        *(Requirement(f"NET-TMO-0{n}", SHOULD) for n in (1, 4)),
        *(Requirement(f"NET-CON-{n}", SHOULD) for n in ("05", "06", "07", "08", "12", "14")),
        *(Requirement(f"MET-{n}", SHOULD) for n in ("01", "02", "03", "11", "14")),
        *(Requirement(f"PRD-ACC-0{n}", SHOULD) for n in (2, 3, 4, 9)),
        *(Requirement(f"PRD-EXP-0{n}", SHOULD) for n in (1, 2, 5)),
        *(Requirement(f"PRD-CLS-0{n}", MUST) for n in (4, 7)),
    ),
    guarantees=frozenset(Guarantee),
    channels=frozenset({"trace"}),
    mutant="never_expires",
    find=find,
)
