"""A transactional.id is accepted and ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Silent(ProducerConfig):
    """Drops transactional.id."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        kept = {name: value for name, value in settings.items() if name != "transactional.id"}
        return super().from_mapping(kept, **more)


MUTANT = Mutant(
    "accepts a transactional.id and ignores it",
    Components(config=Silent),
    caught_by=("state_transitions/transactions_need_idempotence",),
    breaks=("CLI-CFG-03",),
)
