"""A heartbeat.interval.ms that is not less than session.timeout.ms is passed over."""

from __future__ import annotations

from clients.seeding.mutant import Mutant
from clients.seeding.variant import ForgivingConfig, Variant


class Unhurried(ForgivingConfig):
    """Has its own idea of a heartbeat."""

    forgives = ("heartbeat.interval.ms",)
    code = "heartbeat-interval-too-long"


MUTANT = Mutant(
    "passes over a heartbeat.interval.ms that is as long as the session",
    Variant(consumer_config=Unhurried),
    caught_by=("state_transitions/a_heartbeat_is_more_frequent_than_sessions_end",),
    breaks=("CLI-CFG-04",),
)
