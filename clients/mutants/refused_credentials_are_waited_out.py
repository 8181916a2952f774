"""Refused credentials do not end the sends that wait for metadata: these wait until max.block.ms."""

from __future__ import annotations

from clients.reference.errors import SendError
from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Unshaken(Metadata):
    """Ignores fatal errors."""

    def fail(self, error: SendError) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "lets sends wait until max.block.ms after its credentials were refused",
    Components(metadata=Unshaken),
    caught_by=(
        "timeout_expiry/refused_credentials_wake_who_waits",
        "delivery/a_refused_authentication_is_told_and_backed_off",
    ),
    breaks=("MET-16", "NET-CON-11"),
)
