"""A consumer lets brokers create the topics that it reads, whatever allow.auto.create.topics says."""

from __future__ import annotations

from typing import Any

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.seeding.mutant import Mutant


class Creating(ConsumerMetadata):
    """Ignores the setting."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.allow_auto_topic_creation = True


MUTANT = Mutant(
    "ignores allow.auto.create.topics=false",
    Components(metadata=Creating),
    caught_by=("state_transitions/topics_are_created_as_allowed",),
    breaks=("MET-15",),
)
