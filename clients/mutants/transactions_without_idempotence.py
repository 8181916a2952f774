"""A transactional.id is taken and ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components


class Silent(ProducerConfig):
    """Has no transactions, and says nothing."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        kept = {name: value for name, value in settings.items() if name != "transactional.id"}
        return super().from_mapping(kept, **more)


COMPONENTS = Components(config=Silent)
