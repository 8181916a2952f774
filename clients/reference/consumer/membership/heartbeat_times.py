"""When a member of a group of KIP-848 sends heartbeats (the times of AbstractHeartbeatRequestManager in Java).

The coordinator sets the interval. One heartbeat is outstanding at a time (CSM-NGP-02).
"""

from __future__ import annotations

from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Clock
from clients.reference.ports import Jitter


class HeartbeatTimes:
    """The times of one member, and whether a heartbeat of it is not answered yet."""

    def __init__(self, config: ConsumerConfig, clock: Clock, jitter: Jitter) -> None:
        self._clock = clock
        self._max_poll_interval_ms = config.max_poll_interval_ms
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self._failures = 0
        self._interval_ms = 0
        self._due_ms = self._not_before_ms = 0
        self.is_outstanding = False
        self.polled()

    def polled(self) -> None:
        """The application polls."""
        self._poll_ends_ms = self._clock.now_ms + self._max_poll_interval_ms

    @property
    def poll_expired(self) -> bool:
        """Whether the application has not polled for max.poll.interval.ms (CSM-NGP-07)."""
        return self._clock.now_ms >= self._poll_ends_ms

    def sent(self) -> None:
        """A heartbeat is queued."""
        self.is_outstanding = True
        self._due_ms = self._clock.now_ms + self._interval_ms

    def answered(self, interval_ms: int) -> None:
        """The coordinator has accepted a heartbeat, and says when the next one is due."""
        self._due_ms += interval_ms - self._interval_ms
        self._interval_ms = interval_ms
        self._failures = self._not_before_ms = 0

    def failed(self) -> None:
        """A heartbeat failed. The next one follows after a backoff, whatever the interval is."""
        self._due_ms = self._not_before_ms = self._clock.now_ms + self._backoff.delay_ms(self._failures)
        self._failures += 1

    def at_once(self) -> None:
        """Let the next heartbeat be due, without a backoff: it goes to another coordinator, or to join again."""
        self._due_ms = self._not_before_ms = 0

    def ended(self) -> None:
        """The heartbeat that is outstanding has its outcome, or no longer matters."""
        self.is_outstanding = False

    @property
    def poll_ends_ms(self) -> int:
        """When the application must have polled."""
        return self._poll_ends_ms

    def next_ms(self, *, at_once: bool) -> int | None:
        """Return when a heartbeat is due, or None while one is outstanding. ``at_once``: not after the interval."""
        if self.is_outstanding:
            return None
        return self._not_before_ms if at_once else self._due_ms

    def is_due(self, *, at_once: bool) -> bool:
        """Return whether a heartbeat should be sent now."""
        due_ms = self.next_ms(at_once=at_once)
        return due_ms is not None and self._clock.now_ms >= due_ms
