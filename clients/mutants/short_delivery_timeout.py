"""The client accepts a delivery.timeout.ms that is shorter than one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Literal(ProducerConfig):
    """Sets delivery.timeout.ms without checking it."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        kept = {name: value for name, value in settings.items() if name != "delivery.timeout.ms"}
        config = super().from_mapping(kept, **more)
        wanted = settings.get("delivery.timeout.ms")
        return config if wanted is None else replace(config, delivery_timeout_ms=int(wanted))


MUTANT = Mutant(
    "accepts a delivery.timeout.ms that is shorter than one request",
    Components(config=Literal),
    caught_by=("state_transitions/a_delivery_timeout_covers_linger_and_one_request",),
    breaks=("PRD-EXP-04",),
)
