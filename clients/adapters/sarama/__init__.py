"""sarama, a client in pure Go (Shopify's, and IBM's since 1.40): any published version since 1.22."""

from __future__ import annotations

from pathlib import Path

from clients.adapters.go_lib import GoClient

CLIENT = GoClient(
    name="sarama",
    summary="sarama, Kafka in pure Go, formerly Shopify's and now IBM's",
    default_version="1.61.1",
    versions=("1.23.1", "1.30.0", "1.38.1", "1.43.3", "1.50.3", "1.61.1"),
    folder=Path(__file__).parent,
    modules=(("github.com/Shopify/sarama", "1.0.0"), ("github.com/IBM/sarama", "1.40.0")),
    since=("1.24", "1.37", "1.60.1"),
)
