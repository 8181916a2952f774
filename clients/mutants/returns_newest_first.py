"""The records of one poll come in the reverse order of the log."""

from __future__ import annotations

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_collector import Fetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import READS, Mutant


class Backwards(Fetcher):
    """Reverses the records of each partition."""

    def collect(self) -> Call[Fetch]:
        fetch = yield from super().collect()
        for records in fetch.records.values():
            records.reverse()
        return fetch


MUTANT = Mutant(
    "returns the records of a poll in reverse order",
    Components(fetcher=Backwards),
    caught_by=("delivery-order",),
    breaks=("CSM-FET-02",),
    scenarios=READS,
)
