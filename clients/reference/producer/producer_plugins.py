"""The plug-ins of a producer, created from its settings in a fixed order and closed with it (PRD-ISP-01 to -05).

A plug-in with a method ``on_update(cluster_id)`` receives the cluster's id at every metadata update (KIP-78). It may
be an interceptor, a serializer or a metric reporter.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from clients.reference.config.plugins import Plugins
from clients.reference.config.producer_config import KEYS, ProducerConfig
from clients.reference.errors import SerializationError
from clients.reference.producer.interceptors import Interceptors, ProducerRecord
from clients.reference.producer.partitioner import RoundRobinPartitioner
from clients.reference.producer.serializers import JAVA_SERIALIZERS, Serializer
from clients.reference.telemetry.reporters import Reporters

#: The classes that settings may call by the name of their Java counterpart. Java itself has no interceptors.
COUNTERPARTS: Mapping[str, type] = {
    **JAVA_SERIALIZERS,
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": RoundRobinPartitioner,
}

logger = logging.getLogger("kafka-trial.reference")


class ProducerPlugins:
    """Raise PluginError if a plug-in cannot be created, and UsageError for a setting that nothing reads.

    The plug-ins that were created before are closed then.
    """

    def __init__(self, config: ProducerConfig) -> None:
        self._life = Plugins(config.as_mapping(), COUNTERPARTS)
        make = self._life.make
        try:
            self.reporters = Reporters(
                [make("metric.reporters", given, "init") for given in config.metric_reporters]
            )
            self.partitioner = config.partitioner_class and make(
                "partitioner.class", config.partitioner_class, "partition"
            )
            self.key_serializer = self._serializer("key.serializer", config.key_serializer, is_key=True)
            self.value_serializer = self._serializer(
                "value.serializer", config.value_serializer, is_key=False
            )
            self.interceptors = Interceptors(
                [
                    make("interceptor.classes", given, "on_send", "on_acknowledgement")
                    for given in config.interceptor_classes
                ]
            )
            self._life.refuse_unread("producer", config.own, KEYS)
        except BaseException:
            self.close()
            raise
        self.cluster_listeners = [
            each for each in self._life.wanting("on_update") if each is not self.partitioner
        ]

    def _serializer(self, setting: str, given: Any, *, is_key: bool) -> Serializer | None:
        if given is None:
            return None
        made: Serializer = self._life.make(setting, given, "serialize", is_key=is_key)
        return made

    @property
    def touch_records(self) -> bool:
        """Whether any plug-in takes part in a send."""
        return bool(
            self.interceptors
            or self.key_serializer
            or self.value_serializer
            or self.partitioner
            or self.cluster_listeners
        )

    def serialize(self, record: ProducerRecord) -> tuple[Any, Any]:
        """Return (key, value) as bytes. The key is serialized first. Raise SerializationError (PRD-ISP-04)."""
        return (
            self._bytes(self.key_serializer, "key", record, record.key),
            self._bytes(self.value_serializer, "value", record, record.value),
        )

    def _bytes(self, serializer: Serializer | None, what: str, record: ProducerRecord, value: Any) -> Any:
        if serializer is None:
            return value
        try:
            return serializer.serialize(record.topic, value, record.headers)
        except SerializationError:
            raise
        except Exception as error:
            raise SerializationError(
                "not-serializable",
                "the {what} of a record for topic {topic!r} cannot be serialized: {type}: {why}",
                what=what,
                topic=record.topic,
                type=type(error).__name__,
                why=error,
            ) from error

    def cluster_updated(self, cluster_id: str | None) -> None:
        """Notify the cluster listeners. Exceptions are logged."""
        for listener in self.cluster_listeners:
            try:
                listener.on_update(cluster_id)
            except Exception:
                logger.warning("a plug-in failed: %s", type(listener).__name__, exc_info=True)

    def close(self) -> None:
        """Close all plug-ins, once."""
        self._life.close()
