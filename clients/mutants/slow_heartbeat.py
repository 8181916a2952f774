"""The client ignores a heartbeat.interval.ms that is not below session.timeout.ms instead of refusing it."""

from __future__ import annotations

from clients.seeding.mutant import Mutant
from clients.seeding.variant import ForgivingConfig, Variant


class Unhurried(ForgivingConfig):
    """Ignores an invalid heartbeat.interval.ms."""

    forgives = ("heartbeat.interval.ms",)
    code = "heartbeat-interval-too-long"


MUTANT = Mutant(
    "ignores a heartbeat.interval.ms that is not below session.timeout.ms",
    Variant(consumer_config=Unhurried),
    caught_by=("state_transitions/a_heartbeat_is_more_frequent_than_sessions_end",),
    breaks=("CLI-CFG-04",),
)
