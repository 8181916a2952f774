"""poll() returns a tenth of a second too late if nothing comes."""

from __future__ import annotations

from clients.reference.consumer.calls import Call
from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.consumer.consumer_record import ConsumerRecords
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Late(ConsumerCore):
    """Waits a little longer."""

    def poll(self, timeout_ms: int) -> Call[ConsumerRecords]:
        return (yield from super().poll(timeout_ms + 100))


MUTANT = Mutant(
    "polls longer than its timeout",
    ConsumerVariant(core=Late),
    caught_by=("timeout_expiry/a_poll_without_records_ends_at_its_timeout",),
    breaks=("CSM-API-02",),
)
