"""Each poll leaves out the last record of a partition, and the position moves past it nevertheless."""

from __future__ import annotations

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_collector import Fetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import READS, Mutant


class OneShort(Fetcher):
    """Returns all records of a collection but the last of each partition."""

    def collect(self) -> Call[Fetch]:
        fetch = yield from super().collect()
        for records in fetch.records.values():
            records.pop()
        fetch.records = {partition: records for partition, records in fetch.records.items() if records}
        fetch.count = sum(map(len, fetch.records.values()))
        return fetch


MUTANT = Mutant(
    "leaves out the last record of a partition in each poll",
    Components(fetcher=OneShort),
    caught_by=("delivery-order", "skipped"),
    breaks=("CSM-FET-02",),
    scenarios=READS,
)
