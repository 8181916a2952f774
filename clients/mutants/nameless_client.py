"""A client.id that was not set stays empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components


class Nameless(ProducerConfig):
    """Has no name of its own."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        return super().from_mapping({"client.id": ""} | dict(settings), **more)


COMPONENTS = Components(config=Nameless)
