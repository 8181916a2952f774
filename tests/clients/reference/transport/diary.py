"""A plug-in of every kind that records its calls, for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clients.reference.producer.interceptors import ProducerRecord
from clients.reference.producer.producer_batch import RecordMetadata


class Diary:
    """A plug-in of every kind that records its calls."""

    def __init__(self, name: str = "", into: list[Any] | None = None, fails: str = "") -> None:
        self.name, self.fails = name, fails
        self.told: list[Any] = [] if into is None else into

    def _tell(self, what: str, *more: Any) -> None:
        self.told.append((what, self.name, *more))
        if self.fails == what:
            raise RuntimeError(f"{self.name} fails in {what}")

    def configure(self, settings: Any, is_key: bool | None = None) -> None:
        self._tell("configure", settings["client.id"])

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self._tell("on_send", record.value)
        return replace(record, value=record.value + self.name) if isinstance(record.value, str) else record

    def on_acknowledgement(self, metadata: RecordMetadata, error: Any, headers: Any) -> None:
        self._tell("on_acknowledgement", metadata, error, headers)

    def on_update(self, cluster_id: str | None) -> None:
        self._tell("on_update", cluster_id)

    def serialize(self, topic: str, value: Any, headers: Any) -> bytes | None:
        self._tell("serialize", value)
        return None if value is None else str(value).encode()

    def partition(
        self, topic: str, key: Any, key_bytes: Any, value: Any, value_bytes: Any, cluster: Any
    ) -> int:
        self._tell("partition", key, key_bytes, value, value_bytes)
        return 2

    def init(self, names: Any, read: Any) -> None:
        self._tell("init", list(names), read)

    def metric_added(self, name: Any) -> None:
        self._tell("metric_added", name)

    def close(self) -> None:
        self._tell("close")

    def of(self, what: str) -> list[Any]:
        return [each for each in self.told if each[0] == what]
