"""A record larger than max.request.size is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Unlimited(ProducerConfig):
    """Removes the limit max.request.size."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        return replace(super().from_mapping(settings, **more), max_request_size=2**31 - 1)


MUTANT = Mutant(
    "sends records larger than max.request.size",
    Components(config=Unlimited),
    caught_by=("delivery/a_record_beyond_the_limit_fails_at_once",),
    breaks=("PRD-ACC-10",),
)
