"""An isolation.level that is not listed is passed over."""

from __future__ import annotations

from clients.mutants.variant import ForgivingConfig, Variant


class Isolated(ForgivingConfig):
    """Knows a level for everything."""

    forgives = ("isolation.level",)


COMPONENTS = Variant(consumer_config=Isolated)
