"""The client never rebootstraps, neither after a long time without metadata nor on REBOOTSTRAP_REQUIRED."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Settled(Metadata):
    """Keeps the brokers that it knows."""

    def rebootstrap_at_ms(self) -> int | None:
        return None

    def rebootstrap(self, now_ms: int, reason: str) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "never returns to its bootstrap servers",
    Components(metadata=Settled),
    caught_by=(
        "timeout_expiry/nobody_to_ask_begins_anew",
        "timeout_expiry/no_metadata_for_too_long_begins_anew",
    ),
    breaks=("NET-CON-15",),
)
