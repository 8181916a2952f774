"""What a serializer does not take is sent as an empty value."""

from __future__ import annotations

from typing import Any

from clients.reference.errors import SerializationError
from clients.reference.producer.interceptors import ProducerRecord
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.reference.producer.serializers import Serializer
from clients.seeding.mutant import Mutant


class Obliging(ProducerPlugins):
    """Refuses nothing."""

    def _bytes(self, serializer: Serializer | None, what: str, record: ProducerRecord, value: Any) -> Any:
        try:
            return super()._bytes(serializer, what, record, value)
        except SerializationError:
            return b""


MUTANT = Mutant(
    "sends an empty value where the serializer refuses one",
    Components(plugins=Obliging),
    caught_by=("delivery/the_key_is_serialized_first",),
    breaks=("PRD-ISP-04",),
)
