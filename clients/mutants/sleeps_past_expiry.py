"""The client does not wake up when a batch expires, and fails the batch only when another event wakes it."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant


class Sleeper(Sender):
    """Reports no deadline for delivery.timeout.ms."""

    def _next_expiry_ms(self) -> int | None:
        return None


MUTANT = Mutant(
    "does not wake up when a batch expires",
    Components(sender=Sleeper),
    caught_by=("timeout_expiry/every_record_has_a_result_in_time",),
    breaks=("PRD-EXP-05",),
)
