"""Idempotence by default is treated as if the user had set it, so acks=1 is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Stern(ProducerConfig):
    """Sets enable.idempotence if the user did not."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        return super().from_mapping({"enable.idempotence": True} | dict(settings), **more)


MUTANT = Mutant(
    "refuses acks=1 even if idempotence is only the default",
    Components(config=Stern),
    caught_by=("state_transitions/idempotence_by_default_gives_way",),
    breaks=("CLI-CFG-02",),
)
