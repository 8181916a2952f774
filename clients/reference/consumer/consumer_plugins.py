"""The plug-ins of a consumer, created from its settings in a fixed order and closed with it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from clients.reference.config.consumer_config import KEYS, ConsumerConfig
from clients.reference.config.plugins import Plugins
from clients.reference.consumer.assignors import ASSIGNORS, JAVA_ASSIGNORS
from clients.reference.consumer.assignors.assignor import Assignor
from clients.reference.consumer.deserializers import JAVA_DESERIALIZERS, Deserializer, Deserializers
from clients.reference.consumer.interceptors import ConsumerInterceptors
from clients.reference.errors import ConfigException
from clients.reference.telemetry.reporters import Reporters

STRATEGY = "partition.assignment.strategy"

#: The classes that settings may call by the name of their Java counterpart. Java itself has no interceptors.
COUNTERPARTS: Mapping[str, type] = {**JAVA_DESERIALIZERS, **JAVA_ASSIGNORS, **ASSIGNORS}

logger = logging.getLogger("kafka-trial.reference")


class ConsumerPlugins:
    """Deserializers, interceptors, reporters and assignors.

    Raise PluginError if one cannot be created, ConfigException if two assignors have the same name, and UsageError for
    a setting that nothing reads. The plug-ins that were created before are closed then.
    """

    def __init__(self, config: ConsumerConfig) -> None:
        self._life = Plugins(config.as_mapping(), COUNTERPARTS)
        make = self._life.make
        try:
            self.reporters = Reporters(
                [make("metric.reporters", given, "init") for given in config.metric_reporters]
            )
            self.interceptors = ConsumerInterceptors(
                [
                    make("interceptor.classes", given, "on_consume", "on_commit")
                    for given in config.interceptor_classes
                ]
            )
            self.deserializers = Deserializers(
                self._deserializer("key.deserializer", config.key_deserializer, is_key=True),
                self._deserializer("value.deserializer", config.value_deserializer, is_key=False),
            )
            self.assignors = self._assignors(config.partition_assignment_strategy)
            self._life.refuse_unread("consumer", config.own, KEYS)
        except BaseException:
            self.close()
            raise
        self._cluster_listeners = self._life.wanting("on_update")

    def _deserializer(self, setting: str, given: Any, *, is_key: bool) -> Deserializer | None:
        if given is None:
            return None
        made: Deserializer = self._life.make(setting, given, "deserialize", is_key=is_key)
        return made

    def _assignors(self, strategies: Sequence[Any]) -> list[Assignor]:
        """Return the assignors, preferred first. The group knows each by its name."""
        made: dict[str, Assignor] = {}
        for given in strategies:
            assignor: Assignor = self._life.make(
                STRATEGY, given, "assign", "subscription_user_data", "on_assignment"
            )
            if assignor.name in made:
                raise ConfigException(
                    "assignor-twice",
                    "{setting} has two assignors {name!r}",
                    setting=STRATEGY,
                    name=assignor.name,
                )
            made[assignor.name] = assignor
        return list(made.values())

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
