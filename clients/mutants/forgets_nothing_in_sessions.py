"""A partition that was given up stays in the fetch session."""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_session_handler import FetchPartition, FetchSessionHandler, OldIds
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.seeding.mutant import MOVES, Mutant


class Hoarder(FetchSessionHandler):
    """Adds partitions to its session and removes none."""

    def _forget(self, wanted: Mapping[TopicPartition, FetchPartition]) -> OldIds:
        return ()


class Sessions(Fetcher):
    """A fetcher whose sessions only grow."""

    session_component = Hoarder


MUTANT = Mutant(
    "leaves partitions in its fetch sessions that it has given up",
    Components(fetcher=Sessions),
    caught_by=("fetches-unowned",),
    breaks=("CSM-FET-10",),
    scenarios=MOVES,
)
