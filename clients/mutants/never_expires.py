"""Batches in flight on a lost connection are neither retried nor expired by the delivery timeout."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Batches, Sender
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee


class PatientSender(Sender):
    """Ignores lost connections, and expires only batches that are not in flight."""

    def _handle_produce_response(self, batches: Batches, response: ClientResponse, now_ms: int) -> None:
        if not response.disconnected:
            super()._handle_produce_response(batches, response, now_ms)

    def _expire(self, now_ms: int) -> None:
        for batch in self._accumulator.take_expired(now_ms):
            self._expire_batch(batch, now_ms)

    def _next_expiry_ms(self) -> int | None:
        return self._accumulator.next_expiry_ms()


MUTANT = Mutant(
    "waits forever for a response after its connection is lost",
    Components(sender=PatientSender),
    caught_by=("delivery-timeout", "deadlines"),
    breaks=("PRD-EXP-01",),
    scenario="produce/disconnect",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
