"""All records of a partition in one poll share the memory of their values, which holds the last one in the end."""

from __future__ import annotations

import msgspec

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_collector import Fetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import READS, Mutant


class OneBuffer(Fetcher):
    """Returns each record of a collection with the value of its partition's last."""

    def collect(self) -> Call[Fetch]:
        fetch = yield from super().collect()
        for partition, records in fetch.records.items():
            last = records[-1].value
            fetch.records[partition] = [msgspec.structs.replace(each, value=last) for each in records]
        return fetch


MUTANT = Mutant(
    "returns all records of a partition in a poll with the value of the last",
    Components(fetcher=OneBuffer),
    caught_by=("foreign-record",),
    breaks=("CSM-FET-02",),
    scenarios=READS,
)
