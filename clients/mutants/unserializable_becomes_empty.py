"""If a serializer raises, an empty key or value is sent."""

from __future__ import annotations

from typing import Any

from clients.reference.errors import SerializationError
from clients.reference.producer.interceptors import ProducerRecord
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.reference.producer.serializers import Serializer
from clients.seeding.mutant import Mutant


class Obliging(ProducerPlugins):
    """Replaces a serialization error by empty bytes."""

    def _bytes(self, serializer: Serializer | None, what: str, record: ProducerRecord, value: Any) -> Any:
        try:
            return super()._bytes(serializer, what, record, value)
        except SerializationError:
            return b""


MUTANT = Mutant(
    "sends an empty value if the serializer raises",
    Components(plugins=Obliging),
    caught_by=("delivery/the_key_is_serialized_first",),
    breaks=("PRD-ISP-04",),
)
