"""The client ignores an isolation.level that is not one of the allowed values instead of refusing it."""

from __future__ import annotations

from clients.seeding.mutant import Mutant
from clients.seeding.variant import ForgivingConfig, Variant


class Isolated(ForgivingConfig):
    """Ignores an invalid isolation.level."""

    forgives = ("isolation.level",)
    code = "config-value"


MUTANT = Mutant(
    "ignores an invalid isolation.level",
    Variant(consumer_config=Isolated),
    caught_by=("state_transitions/isolation_and_reset_take_their_listed_values",),
    breaks=("CLI-CFG-09",),
)
