"""An isolation.level that is not listed is passed over."""

from __future__ import annotations

from clients.seeding.mutant import Mutant
from clients.seeding.variant import ForgivingConfig, Variant


class Isolated(ForgivingConfig):
    """Knows a level for everything."""

    forgives = ("isolation.level",)
    code = "config-value"


MUTANT = Mutant(
    "passes over an isolation.level that is not listed",
    Variant(consumer_config=Isolated),
    caught_by=("state_transitions/isolation_and_reset_take_their_listed_values",),
    breaks=("CLI-CFG-09",),
)
