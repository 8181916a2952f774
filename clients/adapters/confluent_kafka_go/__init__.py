"""confluent-kafka-go, which wraps librdkafka: any published version, built into a separate program."""

from __future__ import annotations

from pathlib import Path

from clients.adapters.go_lib import GoClient
from clients.known_settings import LIBRDKAFKA

_MODULE = "github.com/confluentinc/confluent-kafka-go"

CLIENT = GoClient(
    name="confluent-kafka-go",
    summary="confluent-kafka-go, on librdkafka",
    default_version="2.11.1",
    versions=("1.9.2", "2.3.0", "2.6.1", "2.11.1"),
    folder=Path(__file__).parent,
    modules=((_MODULE, "1.0.0"), (f"{_MODULE}/v2", "2.0.0")),
    since=("2.3",),
    cgo=True,
    language="go/c",
    reserved=LIBRDKAFKA,
)
