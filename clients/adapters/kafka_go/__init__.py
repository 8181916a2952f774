"""kafka-go, segmentio's client in pure Go: any published version since 0.4, built into a separate program."""

from __future__ import annotations

from pathlib import Path

from clients.adapters.go_lib import GoClient

CLIENT = GoClient(
    name="kafka-go",
    summary="kafka-go, segmentio's Kafka in pure Go",
    default_version="0.4.51",
    versions=("0.4.42", "0.4.47", "0.4.49", "0.4.51"),
    folder=Path(__file__).parent,
    modules=(("github.com/segmentio/kafka-go", "0.1.0"),),
)
