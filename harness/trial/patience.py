"""Liveness: when a client last made progress, and for how long it may make none. Pure.

Progress is an acknowledgement, a request of the workload (such as Produce) that reached the witness, or the response to
one (plus the time for which it told the client to hold back). A failed record is not progress. Neither are other
requests, because a client may request Metadata every ten seconds and never send a record again.

A client may do nothing for as long as the largest timeout that it reported as applied, because one step of its recovery
may take that long. If it could not apply one of them, ``NOT_GIVEN_MS`` is used instead. ``SLACK_MS`` allows for what
follows the timeout: a connection, ApiVersions, Metadata, a producer id. The runner waits that long before it closes a
client with pending records, and the check ``stuck`` uses the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.model.consumer_contract import RecordsConsumed
from harness.model.contract import WHOLE_OPS, AnyEvent, OpComplete
from harness.model.rows import Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome

#: The settings by which a client may wait before its next step.
TIMEOUTS = (
    "delivery.timeout.ms",
    "heartbeat.interval.ms",
    "linger.ms",
    "max.block.ms",
    "max.poll.interval.ms",
    "metadata.max.age.ms",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "session.timeout.ms",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
)
#: The settings that limit the whole of one operation. A workload has at most one of them.
LIMITS = ("delivery.timeout.ms", "default.api.timeout.ms")
#: With this protocol (KIP-848) the brokers decide how long a session lasts. Kafka's default counts.
NEW_PROTOCOL, BROKERS_SESSION_MS = ("group.protocol", "consumer"), 45_000
#: The timeout of a client that could not apply one: Java's default for a request.
NOT_GIVEN_MS = 30_000
SLACK_MS = 10_000
#: How late a client may report its own delivery timeout before the runner stops waiting. This does not affect verdicts.
FLUSH_MARGIN_MS = 20_000
#: How long a client may take to close.
CLOSE_TIMEOUT_MS = 10_000
#: The runner waits this much longer than the bound, so that the check can ignore the last millisecond.
TOLERANCE_MS = 1_000
#: The maximum that the runner waits, whatever the settings are. ``stuck`` does not judge a client with a larger bound.
MOST_WAIT_MS = 300_000


def bound_ms(config: Mapping[str, str | int | bool], not_set: Mapping[str, str]) -> int:
    """Return for how long a client with these settings may do nothing. It could not apply those in ``not_set``."""
    asked = [NOT_GIVEN_MS if name in not_set else int(config[name]) for name in TIMEOUTS if name in config]
    if NEW_PROTOCOL in config.items():
        asked.append(BROKERS_SESSION_MS)
    return max(asked, default=NOT_GIVEN_MS) + SLACK_MS


def progress_ns(history: Iterable[AnyEvent], frames: Iterable[Frame], api: str) -> Iterator[int]:
    """Yield the moments of progress, in no particular order.

    ``api`` is that of the workload. ``frames`` include those that were stopped.
    """
    for event in history:
        if isinstance(event, OpComplete) and event.op not in WHOLE_OPS:
            results = zip(event.complete_ns, event.outcome, strict=True)
            yield from (complete_ns for complete_ns, outcome in results if outcome == Outcome.OK)
        elif isinstance(event, RecordsConsumed):
            yield event.polled_ns
    for frame in frames:
        if frame.api != api:
            continue
        if frame.kind is FrameKind.REQUEST:
            yield from (frame.arrived_ns, frame.t_ns)
        elif frame.kind is FrameKind.RESPONSE:
            yield frame.t_ns + frame.throttle_ms * NS_PER_MS


def flush_timeout_ms(config: Mapping[str, str | int | bool]) -> int:
    """Return how long a client may take to give every element a result once the network has healed.

    A workload without a delivery timeout uses the default of Java's clients for other calls.
    """
    return next((int(config[name]) for name in LIMITS if name in config), NOT_GIVEN_MS) + FLUSH_MARGIN_MS


@dataclass(frozen=True)
class Patience:
    """How long the runner waits for pending records after a flush: until the client is past its bound."""

    configs: Sequence[Mapping[str, str | int | bool]]
    not_set: Mapping[str, str]
    healed_ns: int
    api: str

    @property
    def longest_ms(self) -> int:
        """Return the maximum total wait, even for a client that keeps making progress."""
        longest_ms = max(bound_ms(config, self.not_set) for config in self.configs)
        return min(longest_ms + TOLERANCE_MS, MOST_WAIT_MS)

    def is_over(self, history: Iterable[AnyEvent], frames: Iterable[Frame], now_ns: int) -> bool:
        """True once there was no progress for so long that ``stuck`` can judge."""
        since_ns = max((self.healed_ns, *progress_ns(history, frames, self.api)))
        return now_ns - since_ns >= self.longest_ms * NS_PER_MS
