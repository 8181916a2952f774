"""The value is serialized before the key: a key that is refused has already cost the value's serializer."""

from __future__ import annotations

from typing import Any

from clients.reference.producer.interceptors import ProducerRecord
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.seeding.mutant import Mutant


class Backwards(ProducerPlugins):
    """Value, then key."""

    def serialize(self, record: ProducerRecord) -> tuple[Any, Any]:
        value = self._bytes(self.value_serializer, "value", record, record.value)
        return self._bytes(self.key_serializer, "key", record, record.key), value


MUTANT = Mutant(
    "serializes the value before the key",
    Components(plugins=Backwards),
    caught_by=("delivery/the_key_is_serialized_first",),
    breaks=("PRD-ISP-04",),
)
