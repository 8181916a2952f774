"""The checksums of batches are not compared."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetch_request import FetchSettings
from clients.reference.consumer.fetch.fetch_response import FetchedPartition
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.seeding.mutant import Mutant


class Credulous(CompletedFetch):
    """Reads a batch as if check.crcs were false."""

    def __init__(
        self, partition: TopicPartition, data: FetchedPartition, fetch_offset: int, settings: FetchSettings
    ) -> None:
        super().__init__(partition, data, fetch_offset, replace(settings, check_crcs=False))


class Reader(Fetcher):
    """Reads whatever arrives."""

    completed_component = Credulous


MUTANT = Mutant(
    "returns the records of a batch whose checksum is wrong",
    Components(fetcher=Reader),
    caught_by=("delivery/a_damaged_batch_is_an_error_with_its_place", "damaged-batch"),
    breaks=("CSM-FET-09",),
    scenarios=("delivery/damaged-batches",),
)
