"""The plug-ins of a consumer, created from its settings in a fixed order and closed with it."""

from __future__ import annotations

import logging
from typing import Any

from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.config.plugins import Plugins
from clients.reference.consumer.assignors import ASSIGNORS
from clients.reference.consumer.assignors.assignor import Assignor
from clients.reference.consumer.deserializers import Deserializer, Deserializers
from clients.reference.consumer.interceptors import ConsumerInterceptors
from clients.reference.errors import ConfigException

logger = logging.getLogger("kafka-trial.reference")


class ConsumerPlugins:
    """Deserializers, interceptors, reporters and assignors. Raise PluginError if one cannot be created."""

    def __init__(self, config: ConsumerConfig) -> None:
        self.assignors = [_assignor(name) for name in config.partition_assignment_strategy]
        self._life = Plugins(config.values)
        make = self._life.make
        try:
            self.reporters = [make("metric.reporters", given, "init") for given in config.metric_reporters]
            self.deserializers = Deserializers(
                self._deserializer("key.deserializer", config.key_deserializer, is_key=True),
                self._deserializer("value.deserializer", config.value_deserializer, is_key=False),
            )
            self.interceptors = ConsumerInterceptors(
                [
                    make("interceptor.classes", given, "on_consume", "on_commit")
                    for given in config.interceptor_classes
                ]
            )
        except BaseException:
            self.close()
            raise
        self._cluster_listeners = self._life.wanting("on_update")

    def _deserializer(self, setting: str, given: Any, *, is_key: bool) -> Deserializer | None:
        if given is None:
            return None
        made: Deserializer = self._life.make(setting, given, "deserialize", is_key=is_key)
        return made

    def cluster_updated(self, cluster_id: str | None) -> None:
        """Tell the plug-ins that listen the cluster's id (KIP-78). Their exceptions are logged."""
        for listener in self._cluster_listeners:
            try:
                listener.on_update(cluster_id)
            except Exception:
                logger.warning("a plug-in's on_update failed", exc_info=True)

    def close(self) -> None:
        """Close all plug-ins."""
        self._life.close()


def _assignor(name: str) -> Assignor:
    if name not in ASSIGNORS:
        raise ConfigException(
            "assignor-unknown",
            "partition.assignment.strategy: {name!r} is not one of {known}",
            name=name,
            known=tuple(ASSIGNORS),
        )
    return ASSIGNORS[name]()
