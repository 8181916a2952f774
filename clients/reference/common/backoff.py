"""Exponential backoff with jitter, as org.apache.kafka.common.utils.ExponentialBackoff (KIP-144, KIP-580)."""

from __future__ import annotations

from dataclasses import dataclass

from clients.reference.ports import Jitter

JITTER = 0.2


@dataclass(frozen=True, slots=True)
class ExponentialBackoff:
    """initial_ms * 2^n, plus or minus 20 %, never above max_ms (capped after the jitter, as since Kafka 3.8).

    If max_ms is not above initial_ms, the delay is always max_ms.
    """

    initial_ms: int
    max_ms: int
    jitter: Jitter

    def delay_ms(self, earlier_failures: int) -> int:
        """Return the delay after ``earlier_failures`` + 1 consecutive failures, without jitter if it is constant."""
        if self.max_ms <= self.initial_ms:
            return self.max_ms
        doublings = min(max(earlier_failures, 0), 31)
        plain_ms = min(self.initial_ms << doublings, self.max_ms)
        return min(round(plain_ms * (1 + JITTER * self.jitter())), self.max_ms)
