"""Conflicting settings are accepted: acks=1 silently turns off the idempotence that the user asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Lenient(ProducerConfig):
    """Turns off idempotence if acks is not "all"."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        acks = str(settings.get("acks", "all"))
        if acks not in ("all", "-1"):
            settings = {**settings, "enable.idempotence": False}
        return super().from_mapping(settings, **more)


MUTANT = Mutant(
    "accepts acks=1 together with enable.idempotence=true, and silently turns idempotence off",
    Components(config=Lenient),
    caught_by=("state_transitions/idempotence_that_was_asked_for_refuses_what_breaks_it",),
    breaks=("CLI-CFG-01",),
)
