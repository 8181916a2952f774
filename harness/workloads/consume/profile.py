"""The settings of a consumer in a trial: the common profile, and what its guarantee needs."""

from __future__ import annotations

from typing import Final

from harness.model.verdicts import Guarantee
from harness.plugins.workload import Config
from harness.workloads.consume.commands import AUTO

#: Settings that every client gets, in the Java names, equal and explicit. The brokers' least session timeout is 6 s.
PROFILE: Final[Config] = {
    "auto.commit.interval.ms": 500,
    "auto.offset.reset": "earliest",
    "check.crcs": True,
    "default.api.timeout.ms": 10_000,
    "enable.auto.commit": False,
    "fetch.max.bytes": 52_428_800,
    "fetch.max.wait.ms": 250,
    "fetch.min.bytes": 1,
    "group.protocol": "classic",
    "heartbeat.interval.ms": 1_000,
    "isolation.level": "read_uncommitted",
    "max.partition.fetch.bytes": 1_048_576,
    "max.poll.interval.ms": 10_000,
    "max.poll.records": 100,
    "metadata.max.age.ms": 10_000,
    "partition.assignment.strategy": "range",
    "reconnect.backoff.max.ms": 1_000,
    "reconnect.backoff.ms": 50,
    "request.timeout.ms": 3_000,
    "retry.backoff.max.ms": 1_000,
    "retry.backoff.ms": 100,
    "session.timeout.ms": 6_000,
    "socket.connection.setup.timeout.ms": 3_000,
}
#: With the protocol of KIP-848, the brokers decide these.
OF_CLASSIC: Final = ("heartbeat.interval.ms", "partition.assignment.strategy", "session.timeout.ms")


def consumer_config(guarantee: Guarantee, overrides: Config) -> Config:
    """Return the Java-named settings of a consumer, with ``overrides``.

    A consumer keeps at-most-once by committing before it processes, so it cannot commit automatically.
    """
    settings = PROFILE | overrides
    if settings["group.protocol"] == "consumer":
        settings = {name: value for name, value in settings.items() if name not in OF_CLASSIC}
    if guarantee is Guarantee.AT_MOST_ONCE:
        settings[AUTO] = False
    return dict(sorted(settings.items()))


def essential(guarantee: Guarantee) -> tuple[str, ...]:
    """Return the settings without which a consumer does not promise ``guarantee``: who commits."""
    return (AUTO,)
