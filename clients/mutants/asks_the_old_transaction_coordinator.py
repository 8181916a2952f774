"""A broker that is no longer the transaction coordinator is asked again and again."""

from __future__ import annotations

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.ports import Jitter
from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.txn_request_queue import TxnRequestQueue
from clients.reference.producer.transactions.txn_requests import Coordinator
from clients.reference.telemetry.trace import Trace
from clients.seeding.mutant import Mutant


class Attached(TxnRequestQueue):
    """Looks a coordinator up only once."""

    def look_up(self, coordinator: Coordinator, now_ms: int, why: str, *, after_ms: int = 0) -> None:
        if self.node_of(coordinator) is None:
            super().look_up(coordinator, now_ms, why, after_ms=after_ms)


class Faithful(TransactionalManager):
    """Keeps its coordinator."""

    def __init__(self, config: ProducerConfig, jitter: Jitter, trace: Trace) -> None:
        super().__init__(config, jitter, trace)
        self.requests = Attached(trace)


MUTANT = Mutant(
    "asks the same broker again after NOT_COORDINATOR",
    Components(transactional_manager=Faithful),
    caught_by=("delivery/a_lost_coordinator_is_looked_up",),
    breaks=("PRD-TXN-10",),
)
