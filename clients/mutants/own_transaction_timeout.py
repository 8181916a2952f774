"""The coordinator is told another timeout than transaction.timeout.ms."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.ports import Jitter
from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.telemetry.trace import Trace
from clients.seeding.mutant import Mutant


class Unhurried(TransactionalManager):
    """Prefers five minutes."""

    def __init__(self, config: ProducerConfig, jitter: Jitter, trace: Trace) -> None:
        super().__init__(replace(config, transaction_timeout_ms=300_000), jitter, trace)


MUTANT = Mutant(
    "tells the coordinator a timeout of its own",
    Components(transactional_manager=Unhurried),
    caught_by=("delivery/initialization_names_the_producer",),
    breaks=("PRD-TXN-15",),
)
