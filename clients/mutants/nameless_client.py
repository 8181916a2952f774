"""A client.id that is not set stays empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Nameless(ProducerConfig):
    """Sets an empty client.id by default."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        return super().from_mapping({"client.id": ""} | dict(settings), **more)


MUTANT = Mutant(
    "leaves client.id empty if it is not set",
    Components(config=Nameless),
    caught_by=("state_transitions/a_producer_has_a_name",),
    breaks=("CLI-CFG-03",),
)
