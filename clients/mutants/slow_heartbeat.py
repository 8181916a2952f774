"""A heartbeat.interval.ms that is not less than session.timeout.ms is passed over."""

from __future__ import annotations

from clients.mutants.variant import ForgivingConfig, Variant


class Unhurried(ForgivingConfig):
    """Has its own idea of a heartbeat."""

    forgives = ("heartbeat.interval.ms",)


COMPONENTS = Variant(consumer_config=Unhurried)
