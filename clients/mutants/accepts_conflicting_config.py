"""Settings that contradict each other are taken: idempotence that was asked for is silently not had."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components


class Lenient(ProducerConfig):
    """Finds a way to please everybody."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        acks = str(settings.get("acks", "all"))
        if acks not in ("all", "-1"):
            settings = {**settings, "enable.idempotence": False}
        return super().from_mapping(settings, **more)


COMPONENTS = Components(config=Lenient)
