"""Settings that are not set have the defaults of Kafka 2.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Old(ProducerConfig):
    """Uses the defaults of Kafka 2.0."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        return super().from_mapping(settings, **(more | {"defaults_of": "2.0"}))


MUTANT = Mutant(
    "uses the defaults of Kafka 2.0 for settings that are not set",
    Components(config=Old),
    caught_by=("state_transitions/defaults_are_those_of_the_release",),
    breaks=("CLI-CFG-02",),
)
