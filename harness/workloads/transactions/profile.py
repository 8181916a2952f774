"""The settings of a transactional producer in a trial."""

from __future__ import annotations

from typing import Final

from harness.model.spec import TrialSpec
from harness.model.verdicts import Guarantee
from harness.plugins.workload import Config
from harness.workloads.produce.profile import producer_config

TRANSACTIONAL_ID: Final = "transactional.id"
TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"
#: Beyond the delivery timeout of the profile, so that a client gives a batch up before its coordinator aborts.
TIMEOUT_MS: Final = 40_000
#: How often the brokers look for transactions that are open for too long (10 s), and the time that markers need.
CLEANUP_MS: Final = 20_000


def transactional_config(guarantee: Guarantee, overrides: Config) -> Config:
    """Return the Java-named settings of a transactional producer. Its transactional.id is that of its trial."""
    settings = {TRANSACTION_TIMEOUT: TIMEOUT_MS} | producer_config(guarantee, overrides)
    return dict(sorted(settings.items()))


def stable_within_ms(spec: TrialSpec) -> int:
    """Return how long a transaction may stay open after its producer has closed: until its coordinator aborts it."""
    return int(spec.config[TRANSACTION_TIMEOUT]) + CLEANUP_MS


def identity(topic: str, name: str) -> Config:
    """Return the transactional.id of one producer of the trial with this topic."""
    return {TRANSACTIONAL_ID: f"{topic}-{name}"}


def essential(guarantee: Guarantee) -> tuple[str, ...]:
    """Return the settings without which a producer has no transactions."""
    return ("acks", "enable.idempotence", TRANSACTIONAL_ID)
