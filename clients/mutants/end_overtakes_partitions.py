"""EndTxn is sent before the requests that add partitions and offsets."""

from __future__ import annotations

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.ports import Jitter
from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.txn_request_handlers import (
    EndTxnHandler,
    FindCoordinatorHandler,
    TxnRequestHandler,
)
from clients.reference.producer.transactions.txn_request_queue import TxnRequestQueue
from clients.reference.telemetry.trace import Trace
from clients.seeding.mutant import Mutant


class NewestFirst(TxnRequestQueue):
    """Prefers the end."""

    def first(self) -> TxnRequestHandler | None:
        first = super().first()
        ends = [handler for handler in self.waiting if isinstance(handler, EndTxnHandler)]
        is_lookup = isinstance(first, FindCoordinatorHandler)
        return ends[0] if ends and not is_lookup else first


class Hurried(TransactionalManager):
    """Ends first."""

    def __init__(self, config: ProducerConfig, jitter: Jitter, trace: Trace) -> None:
        super().__init__(config, jitter, trace)
        self.requests = NewestFirst(trace)


MUTANT = Mutant(
    "sends EndTxn before other requests of the transaction",
    Components(transactional_manager=Hurried),
    caught_by=(
        "state_transitions/requests_go_one_at_a_time_and_the_end_last",
        "state_transitions/an_error_does_not_stop_the_abort",
        "delivery/delays_do_not_disturb_a_transaction",
    ),
    breaks=("PRD-TXN-12",),
)
