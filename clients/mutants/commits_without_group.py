"""The client ignores enable.auto.commit without a group.id instead of refusing it."""

from __future__ import annotations

from clients.seeding.mutant import Mutant
from clients.seeding.variant import ForgivingConfig, Variant


class Committed(ForgivingConfig):
    """Ignores an invalid enable.auto.commit."""

    forgives = ("enable.auto.commit",)
    code = "auto-commit-without-group"


MUTANT = Mutant(
    "ignores enable.auto.commit without a group.id instead of refusing it",
    Variant(consumer_config=Committed),
    caught_by=("state_transitions/without_a_group_nothing_is_committed",),
    breaks=("CLI-CFG-05",),
)
