"""Interceptors are told about stored records, but never about failed ones."""

from __future__ import annotations

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.interceptors import Interceptors
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import Headers, RecordMetadata
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.seeding.mutant import Mutant


class Rosy(Interceptors):
    """Does not report failed sends."""

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None, headers: Headers) -> None:
        if error is None:
            super().on_acknowledgement(metadata, error, headers)


class RosyPlugins(ProducerPlugins):
    """Uses ``Rosy``."""

    def __init__(self, config: ProducerConfig) -> None:
        super().__init__(config)
        self.interceptors = Rosy(self.interceptors._chain)


MUTANT = Mutant(
    "does not tell interceptors about records that failed",
    Components(plugins=RosyPlugins),
    caught_by=("delivery/interceptors_hear_of_each_end_first",),
    breaks=("PRD-ISP-02",),
)
