"""Settings that are not set have the defaults of Kafka 2.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components


class Old(ProducerConfig):
    """Has not read the release notes."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        return super().from_mapping(settings, **(more | {"defaults_of": "2.0"}))


COMPONENTS = Components(config=Old)
