"""A record larger than max.request.size is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components


class Unlimited(ProducerConfig):
    """Has no limit of its own."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        return replace(super().from_mapping(settings, **more), max_request_size=2**31 - 1)


COMPONENTS = Components(config=Unlimited)
