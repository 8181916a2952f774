"""Heartbeat: the three clocks of a member, on the core's time (org.apache.kafka...internals.Heartbeat).

They measure when the next heartbeat is due, how long the coordinator has not answered one (session.timeout.ms), and
how long the application has not polled (max.poll.interval.ms).
"""

from __future__ import annotations

from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Clock
from clients.reference.ports import Jitter


class Heartbeat:
    """The times of one member. All of them start again when it has joined."""

    def __init__(self, config: ConsumerConfig, clock: Clock, jitter: Jitter) -> None:
        self._config = config
        self._clock = clock
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self._failures = 0
        self.due_ms = self.session_ends_ms = self.poll_ends_ms = 0
        self.reset_timeouts()

    def reset_timeouts(self) -> None:
        """Start all three clocks, after a JoinGroup response."""
        self.due_ms = self._clock.now_ms + self._config.heartbeat_interval_ms
        self.reset_session_timeout()
        self.polled()

    def reset_session_timeout(self) -> None:
        """Start the session again: a coordinator was found, or has answered."""
        self.session_ends_ms = self._clock.now_ms + self._config.session_timeout_ms

    def polled(self) -> None:
        """The application polls."""
        self.poll_ends_ms = self._clock.now_ms + self._config.max_poll_interval_ms

    def sent(self) -> None:
        """A heartbeat is queued. The next one follows after heartbeat.interval.ms, answered or not."""
        self.due_ms = self._clock.now_ms + self._config.heartbeat_interval_ms

    def received(self) -> None:
        """The coordinator has answered, so it knows the member."""
        self._failures = 0
        self.reset_session_timeout()

    def failed(self) -> None:
        """A heartbeat failed. The next one follows after a backoff."""
        self.due_ms = self._clock.now_ms + self._backoff.delay_ms(self._failures)
        self._failures += 1

    @property
    def is_due(self) -> bool:
        """Whether a heartbeat should be sent now."""
        return self._clock.now_ms >= self.due_ms

    @property
    def session_expired(self) -> bool:
        """Whether no heartbeat was answered for session.timeout.ms (CSM-GRP-08)."""
        return self._clock.now_ms >= self.session_ends_ms

    @property
    def poll_expired(self) -> bool:
        """Whether the application has not polled for max.poll.interval.ms (CSM-GRP-09)."""
        return self._clock.now_ms >= self.poll_ends_ms

    @property
    def next_ms(self) -> int:
        """When the first of the three needs attention."""
        return min(self.due_ms, self.session_ends_ms, self.poll_ends_ms)
