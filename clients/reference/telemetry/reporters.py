"""Reporters: the plug-ins of metric.reporters of one client, which learn of every metric.

A reporter has ``init(names, read)``: the metrics at the start, and a function that returns the values of all. Optional
are ``metric_added(name)`` for a metric of a new topic, partition or node, and ``metric_removed(name)``. A reporter is
called while the client's metrics are locked, and must not use the client.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clients.reference.errors import PluginError
from clients.reference.telemetry.metrics import MetricName

logger = logging.getLogger("kafka-trial.reference")
Read = Callable[[], Mapping[MetricName, float]]


class Reporters:
    """``reporters`` are created and configured already."""

    def __init__(self, reporters: Sequence[Any]) -> None:
        self._reporters = reporters

    def made(self, names: Sequence[MetricName], read: Read) -> None:
        """Give them the initial metrics, and a function that reads all. Raise PluginError."""
        for reporter in self._reporters:
            try:
                reporter.init(names, read)
            except Exception as error:
                raise PluginError(
                    "plugin-failed",
                    "metric.reporters: {reporter!r}: {type}: {why}",
                    reporter=reporter,
                    type=type(error).__name__,
                    why=error,
                    setting="metric.reporters",
                ) from error

    def added(self, name: MetricName) -> None:
        """Report a new metric."""
        self._tell("metric_added", name)

    def removed(self, name: MetricName) -> None:
        """Report that a metric is gone."""
        self._tell("metric_removed", name)

    def _tell(self, method: str, name: MetricName) -> None:
        for reporter in self._reporters:
            try:
                if hasattr(reporter, method):
                    getattr(reporter, method)(name)
            except Exception:
                logger.warning("a plug-in failed: %s", type(reporter).__name__, exc_info=True)
