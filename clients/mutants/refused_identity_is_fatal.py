"""A broker that refuses a producer id once ends the producer, although the permission may be granted later."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import error_for


class Discouraged(TransactionManager):
    """Takes every error that is not retriable as the end."""

    def initialized(self, response: ClientResponse, now_ms: int) -> None:
        if response.body is not None:
            error = error_for(int(response.body.error_code))
            if error.code and not error.retriable:
                self.fail_fatally(error, now_ms)
                return
        super().initialized(response, now_ms)


MUTANT = Mutant(
    "fails for good if a broker refuses a producer id once",
    Components(transaction_manager=Discouraged),
    caught_by=("delivery/a_refused_identity_is_asked_for_again",),
    breaks=("PRD-IDM-01",),
)
