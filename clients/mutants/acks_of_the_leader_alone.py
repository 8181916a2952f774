"""acks=all is sent as acks=1: what the leader alone has counts as stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Modest(ProducerConfig):
    """Is content with less."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        config = super().from_mapping(settings, **more)
        return replace(config, acks=1) if config.acks == -1 else config


MUTANT = Mutant(
    "asks for acks=1 where all is wanted",
    Components(config=Modest),
    caught_by=("delivery/acks_are_what_was_asked_for", "not-as-configured"),
    breaks=("PRD-SND-16",),
)
