"""A setting that is refused is left out without a word: its default counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from harness.model.errors import UsageError


class Forgiving(ProducerConfig):
    """Drops settings until the rest is good."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        try:
            return super().from_mapping(settings, **more)
        except UsageError as refusal:
            kept = {name: value for name, value in settings.items() if name not in str(refusal)}
            if len(kept) == len(settings):
                raise
            return super().from_mapping({"bootstrap.servers": "localhost:9092"} | kept, **more)


COMPONENTS = Components(config=Forgiving)
