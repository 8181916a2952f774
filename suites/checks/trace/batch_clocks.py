"""The clocks of batches: linger, retries and delivery. Part of the check ``deadlines``."""

from __future__ import annotations

from dataclasses import dataclass

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
    SendBlocked,
    SendUnblocked,
    StateChanged,
)
from suites.checks.trace.clocks import Clocks, Limits, growing_ms


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
    """The clocks of linger, retry backoff and the delivery timeout of every batch."""

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

    # events that make a batch due early

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
        """Check that the stated reason for closing the batch is true, if the trace shows it."""
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
            self.accuse(
                "PRD-ACC-02", event, event.batch, f"was closed with the wrong reason {event.reason!r}"
            )

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
        if event.attempt == 1 and batch.reason == "along" and not self._somebody_goes(event.at_ms):
            age_ms = event.at_ms - batch.created_ms
            self.accuse(
                "PRD-ACC-03",
                event,
                event.batch,
                f"was sent after {age_ms} ms, before its linger ended and with no other batch",
            )

    def _somebody_goes(self, at_ms: int) -> bool:
        """True if a batch that waits, or was sent at this time, could be sent on its own."""
        limit_ms = at_ms - self.limits.linger_ms
        return any(
            (each.is_queued or each.sent_ms == at_ms)
            and (
                each.reason not in ("", "along")
                or each.created_ms <= limit_ms
                or self._is_retry_due(each, at_ms)
            )
            for each in self._batches.values()
        )

    def _is_retry_due(self, batch: _Batch, at_ms: int) -> bool:
        """True if the retry may be sent on its own: its backoff has passed or leaders have changed.

        A retry that was sent at this time has been judged already.
        """
        is_due = at_ms >= batch.retry_at_ms or self._news != batch.news_when_sent
        return batch.retry_at_ms > 0 and (is_due or batch.sent_ms == at_ms)

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
        """The parts have the age of the whole batch (PRD-SPL-03)."""
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
            what = f"had no result after {age_ms} ms, {self.limits.delivery_ms} are allowed"
            self.too_late(rule, at_ms, name, what)

    def overdue(self, now_ms: int) -> None:
        if self._life != "CLOSED":
            for name, batch in self._batches.items():
                self._late(batch, name, now_ms, "PRD-EXP-05")
