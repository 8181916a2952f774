"""Batches without a leader do not make the client request the metadata of their topic."""

from __future__ import annotations

from clients.reference.producer.batch_drain import ReadyCheck
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Resigned(RecordAccumulator):
    """Reports no topics with an unknown leader."""

    def ready(self, now_ms: int) -> ReadyCheck:
        found = super().ready(now_ms)
        found.unknown_leader_topics = set()
        return found


MUTANT = Mutant(
    "does not request the metadata of a topic whose batches have no leader",
    Components(accumulator=Resigned),
    caught_by=(
        "state_transitions/BatchesGoWhenTheyMayAndInOrder",
        "timeout_expiry/a_leaderless_topic_is_asked_for_until_it_is_led",
    ),
    breaks=("PRD-ACC-07",),
)
