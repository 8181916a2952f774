"""acks=all is sent as acks=1: what the leader alone has counts as stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components


class Modest(ProducerConfig):
    """Is content with less."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        config = super().from_mapping(settings, **more)
        return replace(config, acks=1) if config.acks == -1 else config


COMPONENTS = Components(config=Modest)
