"""Metadata is kept forever unless an error invalidates it, whatever metadata.max.age.ms is."""

from __future__ import annotations

from clients.reference.metadata.metadata import Metadata, MetadataRequest
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Ageless(Metadata):
    """Never treats its metadata as expired."""

    def _answered(self, question: MetadataRequest, now_ms: int) -> None:
        super()._answered(question, now_ms)
        self._expires_ms = 2**62


MUTANT = Mutant(
    "ignores metadata.max.age.ms",
    Components(metadata=Ageless),
    caught_by=("timeout_expiry/metadata_never_gets_too_old",),
    breaks=("MET-01",),
)
