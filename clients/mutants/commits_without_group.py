"""enable.auto.commit without a group.id is passed over."""

from __future__ import annotations

from clients.mutants.variant import ForgivingConfig, Variant


class Committed(ForgivingConfig):
    """Commits for nobody."""

    forgives = ("enable.auto.commit",)


COMPONENTS = Variant(consumer_config=Committed)
