"""The codec that was asked for is not applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clients.reference.config import ProducerConfig
from clients.reference.producer import Components
from harness.wire.records import Codec


class Plain(ProducerConfig):
    """Sends everything as it is."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        return replace(super().from_mapping(settings, **more), compression_type=Codec.NONE)


COMPONENTS = Components(config=Plain)
