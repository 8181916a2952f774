"""An automatic commit covers the records that the same poll is about to return."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.consumer.consumer_record import ConsumerRecords
from clients.reference.consumer.fetch.fetch_collector import Fetch
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant

#: How long the commit may take to the coordinator.
ROUND_MS = 50


class Eager(ConsumerCore):
    """Commits at the end of a poll."""

    def _returned(self, fetch: Fetch) -> Call[ConsumerRecords]:
        if self._parts.coordinator is not None:
            self._parts.coordinator.commits.auto_commit()
            yield from self._parts.network.wait(Timer(self._clock, ROUND_MS), is_done=lambda: False)
        return (yield from super()._returned(fetch))


MUTANT = Mutant(
    "commits records automatically before it has returned them",
    ConsumerVariant(core=Eager),
    caught_by=("delivery/an_automatic_commit_covers_earlier_polls_only",),
    breaks=("CSM-ACM-01",),
)
