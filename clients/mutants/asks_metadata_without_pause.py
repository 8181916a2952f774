"""A failed Metadata request is repeated at once, however often it fails."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class RestlessMetadata(Metadata):
    """Sets no backoff after a failed request."""

    def failed(self, now_ms: int, reason: str) -> None:
        super().failed(now_ms, reason)
        self._backoff_until_ms = now_ms


MUTANT = Mutant(
    "repeats a failed Metadata request without a backoff",
    Components(metadata=RestlessMetadata),
    caught_by=(
        "state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",
        "timeout_expiry/failed_questions_are_spaced",
    ),
    breaks=("MET-02",),
)
