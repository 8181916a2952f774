"""Settings of the other group.protocol are passed over."""

from __future__ import annotations

from clients.mutants.variant import ForgivingConfig, Variant


class Mixed(ForgivingConfig):
    """Reads the settings of both."""

    forgives = (
        "partition.assignment.strategy",
        "heartbeat.interval.ms",
        "session.timeout.ms",
        "group.remote.assignor",
    )


COMPONENTS = Variant(consumer_config=Mixed)
