"""The topic settings that affect the response to Produce. All other settings are accepted without effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.model.errors import UsageError

FOREVER_MS: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One topic's settings, parsed. The values are Kafka's, in its units."""

    min_insync_replicas: int
    max_message_bytes: int
    segment_bytes: int
    compacted: bool
    log_append_time: bool
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    unclean_election: bool


DEFAULTS: Final[Mapping[str, str]] = {
    "min.insync.replicas": "1",
    "max.message.bytes": "1048588",
    "segment.bytes": "1073741824",
    "cleanup.policy": "delete",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": str(FOREVER_MS),
    "message.timestamp.after.max.ms": str(FOREVER_MS),
    "unclean.leader.election.enable": "false",
}


def topic_config(settings: Mapping[str, str]) -> TopicConfig:
    """Return the settings of a topic on top of Kafka's defaults. Raises UsageError for an invalid number."""
    given = {**DEFAULTS, **settings}

    def number(name: str) -> int:
        try:
            return int(given[name])
        except ValueError:
            raise UsageError(
                "topic-setting-value",
                "topic setting {name} must be a whole number, not {value!r}",
                name=name,
                value=given[name],
            ) from None

    return TopicConfig(
        min_insync_replicas=number("min.insync.replicas"),
        max_message_bytes=number("max.message.bytes"),
        segment_bytes=number("segment.bytes"),
        compacted="compact" in given["cleanup.policy"],
        log_append_time=given["message.timestamp.type"] == "LogAppendTime",
        timestamp_before_max_ms=number("message.timestamp.before.max.ms"),
        timestamp_after_max_ms=number("message.timestamp.after.max.ms"),
        unclean_election=given["unclean.leader.election.enable"] == "true",
    )
