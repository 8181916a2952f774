"""What a serializer does not take is sent as an empty value."""

from __future__ import annotations

from typing import Any

from clients.reference.errors import SerializationError
from clients.reference.producer.interceptors import ProducerRecord
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.reference.producer.serializers import Serializer


class Obliging(ProducerPlugins):
    """Refuses nothing."""

    def _bytes(self, serializer: Serializer | None, what: str, record: ProducerRecord, value: Any) -> Any:
        try:
            return super()._bytes(serializer, what, record, value)
        except SerializationError:
            return b""


COMPONENTS = Components(plugins=Obliging)
