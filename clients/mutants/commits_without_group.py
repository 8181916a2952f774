"""enable.auto.commit without a group.id is passed over."""

from __future__ import annotations

from clients.seeding.mutant import Mutant
from clients.seeding.variant import ForgivingConfig, Variant


class Committed(ForgivingConfig):
    """Commits for nobody."""

    forgives = ("enable.auto.commit",)
    code = "auto-commit-without-group"


MUTANT = Mutant(
    "passes over auto-commit that was asked for without a group",
    Variant(consumer_config=Committed),
    caught_by=("state_transitions/without_a_group_nothing_is_committed",),
    breaks=("CLI-CFG-05",),
)
