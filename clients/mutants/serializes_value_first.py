"""The value is serialized before the key, so the value serializer runs even if the key is invalid."""

from __future__ import annotations

from typing import Any

from clients.reference.producer.interceptors import ProducerRecord
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.seeding.mutant import Mutant


class Backwards(ProducerPlugins):
    """Serializes the value, then the key."""

    def serialize(self, record: ProducerRecord) -> tuple[Any, Any]:
        value = self._bytes(self.value_serializer, "value", record, record.value)
        return self._bytes(self.key_serializer, "key", record, record.key), value


MUTANT = Mutant(
    "serializes the value before the key",
    Components(plugins=Backwards),
    caught_by=("delivery/the_key_is_serialized_first",),
    breaks=("PRD-ISP-04",),
)
