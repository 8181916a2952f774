"""How long a group may take, by its members' settings: to remove a member, and to tell a member that it was removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.trial.patience import bound_ms

SESSION, MAX_POLL, REQUEST = "session.timeout.ms", "max.poll.interval.ms", "request.timeout.ms"
API: Final = "default.api.timeout.ms"
#: The brokers' session timeout of the protocol of KIP-848, and Java's defaults.
DEFAULT_MS: Final = {SESSION: 45_000, MAX_POLL: 300_000, REQUEST: 30_000}
#: How far apart two threads of a process, or two processes of one machine, may report what happens at the same time.
SLACK_NS: Final = 1_000 * NS_PER_MS


def setting_ms(evidence: Evidence, name: str, pick: Callable[[Iterable[int]], int] = max) -> int:
    """Return the longest timeout of a member, or with ``min`` the shortest. One that was not given has its default."""
    if name in evidence.record.not_set:
        return DEFAULT_MS[name]
    return pick(int(config.get(name, DEFAULT_MS[name])) for config in evidence.record.spec.configs)


def limit_ms(evidence: Evidence, name: str) -> int | None:
    """Return the longest limit of a member, or None if it has none, or the client cannot be told."""
    limits = [config.get(name) for config in evidence.record.spec.configs]
    if name in evidence.record.not_set or None in limits:
        return None
    return max(int(limit) for limit in limits if limit is not None)


def removal_ns(evidence: Evidence) -> int:
    """Return how long a group may take from a member's silence until others have its partitions."""
    return (setting_ms(evidence, SESSION) + setting_ms(evidence, MAX_POLL)) * NS_PER_MS


def notice_ns(evidence: Evidence) -> int:
    """Return how long a removed member may go on once it runs and its network works: one heartbeat has to fail."""
    return (setting_ms(evidence, SESSION) + setting_ms(evidence, REQUEST)) * NS_PER_MS


def idle_bound_ms(evidence: Evidence) -> int:
    """Return for how long a group may be without progress: its largest timeout, and the work on one poll."""
    spec = evidence.record.spec
    longest_ms = max(bound_ms(config, evidence.record.not_set) for config in spec.configs)
    return longest_ms + spec.workload.params.get("processing_ms", 0)
