"""Components for mutants of parts outside the producer's core.

Only properties can catch such a mutant. As a client it behaves like the true client.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from clients.reference.config.config_keys import NEWEST
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.errors import ConfigException
from clients.reference.producer.producer import Components
from clients.reference.transport.kafka_producer import KafkaProducer


@dataclass(frozen=True)
class Variant(Components):
    """Components with two more classes.

    ``producer`` is the producer with threads. ``consumer_config`` parses a consumer's settings.
    """

    producer: type[KafkaProducer] = KafkaProducer
    consumer_config: type[ConsumerConfig] = ConsumerConfig


class ForgivingConfig(ConsumerConfig):
    """A consumer's configuration that drops the settings in ``forgives`` if one is refused with ``code``."""

    forgives: ClassVar[tuple[str, ...]] = ()
    code: ClassVar[str] = ""

    @classmethod
    def from_mapping(
        cls, settings: Mapping[str, Any], *, defaults_of: str = NEWEST, number: int = 1
    ) -> ConsumerConfig:
        try:
            return super().from_mapping(settings, defaults_of=defaults_of, number=number)
        except ConfigException as refusal:
            if refusal.code != cls.code:
                raise
            kept = {name: value for name, value in settings.items() if name not in cls.forgives}
            return super().from_mapping(kept, defaults_of=defaults_of, number=number)
