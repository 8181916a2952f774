"""The client sends acks=1 if acks=all is set, so a record counts as stored once the leader alone has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Modest(ProducerConfig):
    """Replaces acks=all by acks=1."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        config = super().from_mapping(settings, **more)
        return replace(config, acks=1) if config.acks == -1 else config


MUTANT = Mutant(
    "sends acks=1 if acks=all is set",
    Components(config=Modest),
    caught_by=("delivery/acks_are_what_was_asked_for", "not-as-configured"),
    breaks=("PRD-SND-16",),
)
