"""The settings of a producer in a trial: the common profile, and what its guarantee needs."""

from __future__ import annotations

from harness.model.dice import Dice
from harness.model.verdicts import Guarantee
from harness.plugins.workload import Config

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

#: Settings that every client gets, in the Java names, equal and explicit (clients.md 2.2: defaults differ).
PROFILE: Config = {
    "acks": "all",
    "batch.size": 16_384,
    "delivery.timeout.ms": 30_000,
    "linger.ms": 5,
    "max.block.ms": 10_000,
    "max.in.flight.requests.per.connection": 5,
    "metadata.max.age.ms": 10_000,
    "reconnect.backoff.max.ms": 1_000,
    "reconnect.backoff.ms": 50,
    "request.timeout.ms": 3_000,
    "retries": 2_147_483_647,
    "retry.backoff.max.ms": 1_000,
    "retry.backoff.ms": 100,
    "socket.connection.setup.timeout.ms": 3_000,
}


def drawn_codec(dice: Dice) -> Config:
    """Return the codec that a seed draws."""
    return {"compression.type": dice.choice(CODECS)}


def essential(guarantee: Guarantee) -> tuple[str, ...]:
    """Return the settings without which a producer does not promise ``guarantee``."""
    idempotent = guarantee in (Guarantee.IDEMPOTENT, Guarantee.TRANSACTIONAL)
    return ("acks", "enable.idempotence") if idempotent else ("acks",)


def producer_config(guarantee: Guarantee, overrides: Config) -> Config:
    """Return the Java-named settings that make a producer promise ``guarantee``, whatever ``overrides`` say."""
    idempotent = guarantee in (Guarantee.IDEMPOTENT, Guarantee.TRANSACTIONAL)
    settings = PROFILE | {"compression.type": CODECS[0]} | overrides | {"enable.idempotence": idempotent}
    if guarantee is Guarantee.AT_MOST_ONCE:
        settings["retries"] = 0  # At-most-once excludes retries.
    return dict(sorted(settings.items()))
