"""The client ignores settings that belong to the other group.protocol instead of refusing them."""

from __future__ import annotations

from clients.seeding.mutant import Mutant
from clients.seeding.variant import ForgivingConfig, Variant


class Mixed(ForgivingConfig):
    """Ignores invalid settings of either protocol."""

    forgives = (
        "partition.assignment.strategy",
        "heartbeat.interval.ms",
        "session.timeout.ms",
        "group.remote.assignor",
    )
    code = "config-not-of-protocol"


MUTANT = Mutant(
    "ignores settings that its group.protocol does not have",
    Variant(consumer_config=Mixed),
    caught_by=("state_transitions/a_protocol_refuses_the_settings_of_the_other",),
    breaks=("CLI-CFG-06",),
)
